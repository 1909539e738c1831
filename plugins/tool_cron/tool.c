/*
 * The tool `cron`: an agent looks at its own jobs freely; to make, change or start one it needs a
 * person's yes, who is shown what and when. Called by tool_cron.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron.h"

#define TEXT "{\"type\":\"string\",\"minLength\":1}"

const struct chela_pair cron_tools[] = {
    {CHELA_LIT("cron"),
     CHELA_LIT(
         "{\"name\":\"cron\",\"group\":\"automation\",\"description\":\"Reminders and jobs at a "
         "time. action: status, list, get, runs (jobId); add (job); update (jobId, patch), remove, "
         "run (jobId). A job: {name, schedule: {kind: at, at: ISO time} | {kind: every, everyMs} | "
         "{kind: cron, expr: minute hour day month weekday, tz: IANA name}, payload: {kind: "
         "agentTurn, message: what you shall do then} | {kind: systemEvent, text: said in the main "
         "conversation}, delivery: {mode: announce, channel, to}}. Without delivery the answer "
         "goes "
         "to this chat.\",\"parameters\":{\"type\":\"object\",\"additionalProperties\":false,"
         "\"properties\":{\"action\":{\"enum\":[\"status\",\"list\",\"get\",\"runs\",\"add\","
         "\"update\",\"remove\",\"run\"]},\"jobId\":" TEXT ",\"includeDisabled\":{\"type\":"
         "\"boolean\"},\"job\":{\"type\":\"object\"},\"patch\":{\"type\":\"object\"}},\"required\":"
         "["
         "\"action\"]},\"security\":{\"requiresApproval\":false,\"riskLevel\":\"medium\"}}")},
};
const size_t cron_tool_count = sizeof cron_tools / sizeof cron_tools[0];

static bool only_reads(const char *action)
{
    static const char *const words[] = {"status", "list", "get", "runs"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(action, words[i]) == 0)
            return true;
    return false;
}

/* What a person needs to see before they say yes. */
static char *summary_of(struct cron *c, const char *action, json_object *a)
{
    json_object *job = chela_json_object(a, "job"), *patch = chela_json_object(a, "patch");
    const struct job *j = run_find(c, chela_member(a, "jobId"));
    if (job)
        return chela_format("cron add: %s", chela_json_text(job, NULL));
    return chela_format("cron %s: %s (\"%s\")%s%s", action, chela_member(a, "jobId"),
                        j ? chela_member(j->o, "name") : "?", patch ? " " : "",
                        patch ? chela_json_text(patch, NULL) : "");
}

void cron_prepare(struct chela_inst *in, const struct chela_tool_run *r)
{
    json_object *a = chela_object_of(r->arguments), *extra = chela_json_new_object();
    const char *action = chela_member(a, "action");
    CHELA_ARGS(chela_decide, d, r->h.call);
    d.verdict = CHELA_YES;
    char *summary = summary_of(in->self, action, a);
    if (only_reads(action)) {
        chela_json_put_text(extra, "risk", "low");
        chela_json_put_bool(extra, "reads_only", true);
    } else {
        chela_json_put(extra, "kind",
                       NULL); /* each job is a standing order: asked about by itself */
    }
    chela_json_put_text(extra, "summary", summary);
    if (strcmp(action, "add") == 0 && !chela_json_object(a, "job")) {
        d.verdict = CHELA_NO;
        d.text = chela_s("add needs job: {name, schedule, payload}");
    } else {
        d.extra = chela_s(chela_json_text(extra, NULL));
    }
    in->host->answer->decide(in, &d);
    free(summary);
    json_object_put(extra);
    json_object_put(a);
}

/* A job that names no chat answers in the one that it was made in; where clients watch the session
 * themselves (terminal, page), there is nowhere to send it. */
static void put_delivery(json_object *job, json_object *source)
{
    const char *channel = chela_member(source, "channel");
    if (chela_json_has(job, "delivery") || !*chela_member(source, "chat") ||
        strcmp(channel, "cli") == 0 || strcmp(channel, "webchat") == 0 ||
        strcmp(channel, "sessions") == 0 || strcmp(channel, "cron") == 0)
        return;
    json_object *d = chela_json_put_object(job, "delivery");
    chela_json_put_text(d, "mode", "announce");
    chela_json_put_text(d, "channel", channel);
    chela_json_put_text(d, "to", chela_member(source, "chat"));
    if (*chela_member(source, "account"))
        chela_json_put_text(d, "accountId", chela_member(source, "account"));
    if (*chela_member(source, "thread"))
        chela_json_put_text(d, "threadId", chela_member(source, "thread"));
}

static json_object *params_of(json_object *a, const struct chela_tool_run *r, json_object *source)
{
    json_object *p = chela_json_object(a, "job");
    if (strcmp(chela_member(a, "action"), "add") != 0) {
        json_object *patch = chela_json_object(a, "patch");
        if (patch) { /* whose it is stays as it is */
            json_object_object_del(patch, "agentId");
            json_object_object_del(patch, "sessionKey");
            json_object_object_del(patch, "owner");
        }
        return json_object_get(a);
    }
    json_object_get(p);
    if (!chela_json_has(p, "name"))
        chela_json_put_text(p, "name", "reminder");
    chela_json_put_string(p, "agentId", r->agent.s, (size_t)r->agent.n);
    chela_json_put_string(p, "sessionKey", r->session.s, (size_t)r->session.n);
    put_delivery(p, source);
    return p;
}

void cron_run(struct chela_inst *in, const struct chela_tool_run *r)
{
    json_object *a = chela_object_of(r->arguments), *source = chela_object_of(r->source);
    const char *action = chela_member(a, "action");
    if (!a || !*action) {
        chela_end(in, r->h.call, CHELA_E_ARGS, "action is missing");
    } else {
        json_object *p = params_of(a, r, source);
        cron_do(in->self, r->h.call, action, p, r->agent.s, source);
        json_object_put(p);
    }
    json_object_put(source);
    json_object_put(a);
}
