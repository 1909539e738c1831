/* Import: see import.h. What chela-openclaw read of the state folder: people that were let in go
 * into the configuration; conversations, timed jobs and allowed programs go to the gateway (the one
 * that runs, else one for a moment), skills into the state folder. What is there already stays. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/linkhash.h>

#include "base/mem.h"
#include "base/paths.h"
#include "cli/become.h"
#include "cli/client.h"
#include "cli/import.h"
#include "cli/output.h"
#include "support/json.h"

enum { DEEPEST = 8, LARGEST_FILE = 16 << 20 };

int import_state_read(struct import *i, const char *folder, struct error *e)
{
    CLEANUP(freep) char *path = xprintf("%s/chela-openclaw", paths_libexec_dir());
    const char *words[] = {path, folder, NULL};
    struct buf out = {0};
    i->state = chela_json_new_array();
    int status = become_child(words, &out);
    for (char *line = out.p, *end; line && *line; line = end ? end + 1 : NULL) {
        json_object *o = NULL;
        end = strchr(line, '\n');
        if (chela_json_parse(line, end ? (size_t)(end - line) : strlen(line), NULL, &o, NULL) == 0)
            chela_json_push(i->state, o);
    }
    buf_free(&out);
    return status == 0
               ? 0
               : error_set(e, CHELA_E_OTHER, "%s can't read %s (status %d)", path, folder, status);
}

static const char *kind_of(json_object *o)
{
    return output_field(o, "kind", "");
}

/* ---- people that were let in ---- */

void import_people(struct import *i)
{
    json_object *channels = chela_json_object(i->ours, "channels");
    for (size_t k = 0; k < chela_json_length(i->state); k++) {
        json_object *o = chela_json_at(i->state, k);
        const char *channel = output_field(o, "channel", ""),
                   *account = output_field(o, "account", "default"),
                   *entry = output_field(o, "entry", "");
        if (strcmp(kind_of(o), "allow") != 0 || strcmp(entry, "*") == 0)
            continue;
        CLEANUP(freep)
        char *key =
            strcmp(account, "default") == 0 ? xstrdup(channel) : xprintf("%s-%s", channel, account);
        CLEANUP(freep) char *what = xprintf("pairing %s %s", key, entry);
        json_object *ours = chela_json_object(channels, key),
                    *list = chela_json_array(ours, "allow_from");
        if (!ours) {
            import_note(i, what, "left", "its channel is not carried");
            continue;
        }
        if (!list)
            list = chela_json_put_array(ours, "allow_from");
        bool there = false;
        for (size_t n = 0; n < chela_json_length(list); n++)
            there = there || strcmp(json_object_get_string(chela_json_at(list, n)), entry) == 0;
        if (!there)
            chela_json_push(list, json_object_new_string(entry));
        import_note(i, what, "carried", "channels.*.allow_from");
    }
}

/* ---- what the gateway keeps ---- */

static json_object *call(struct import *i, struct client *c, const char *what, const char *method,
                         json_object *params)
{
    struct error e = {0};
    json_object *payload = NULL;
    if (client_call(c, method, params, CLIENT_REQUEST_MS, &payload, NULL, &e) < 0)
        import_note(i, what, "left", e.text);
    return payload;
}

static json_object *session_params(json_object *o, const char *key)
{
    json_object *params = chela_json_new_object();
    chela_json_put_text(params, "key", key);
    chela_json_put_text(params, "source", output_field(o, "id", ""));
    if (chela_json_has(o, "title"))
        chela_json_put_text(params, "title", output_field(o, "title", ""));
    chela_json_put(params, "messages", json_object_get(chela_json_array(o, "messages")));
    return params;
}

/* Under its own key; beside it where ours has been talked in already. */
static void carry_session(struct import *i, struct client *c, json_object *o)
{
    const char *key = output_field(o, "key", "");
    CLEANUP(freep) char *what = xprintf("session %s", key);
    CLEANUP(freep) char *beside = xprintf("%s:openclaw", key);
    size_t count = chela_json_length(chela_json_array(o, "messages"));
    const char *keys[] = {key, beside};
    if (!count) {
        import_note(i, what, "left", "nothing was said in it");
        return;
    }
    for (size_t k = 0; k < ARRAY_LENGTH(keys); k++) {
        json_object *payload =
            call(i, c, what, "chela.sessions.import", session_params(o, keys[k]));
        const char *reason = output_field(payload, "reason", "");
        bool done = chela_json_bool(payload, "imported", false),
             before = chela_json_bool(payload, "there", false);
        CLEANUP(freep)
        char *text =
            xprintf("%zu messages, as %s%s", count, keys[k],
                    chela_json_int(o, "left", 0) ? "; without what is no message of theirs" : "");
        if (done)
            import_note(i, what, "carried", text);
        else if (before)
            import_note(i, what, "there", reason);
        else if (payload && k + 1 == ARRAY_LENGTH(keys))
            import_note(i, what, "left", reason);
        json_object_put(payload);
        if (done || before || !payload)
            break;
    }
    if (chela_json_int(o, "unread", 0)) {
        CLEANUP(freep)
        char *rest = xprintf("%s, %lld events", what, (long long)chela_json_int(o, "unread", 0));
        import_note(i, rest, "left", "they are broken and could not be read");
    }
}

static bool same_job(json_object *a, json_object *b)
{
    static const char *const texts[] = {"message", "text"};
    json_object *pa = chela_json_object(a, "payload"), *pb = chela_json_object(b, "payload");
    bool same = strcmp(output_field(a, "name", ""), output_field(b, "name", "")) == 0;
    for (size_t k = 0; k < ARRAY_LENGTH(texts); k++)
        same = same && strcmp(output_field(pa, texts[k], ""), output_field(pb, texts[k], "")) == 0;
    return same;
}

/* What of a job both programs understand alike; NULL: it is of a kind that there is none of here.
 */
static json_object *job_params(json_object *job)
{
    static const char *const same[] = {"name", "agentId", "wakeMode", "deleteAfterRun"};
    static const char *const when[] = {"kind", "expr", "tz", "everyMs", "at"};
    json_object *from = chela_json_object(job, "payload"),
                *schedule = chela_json_object(job, "schedule"),
                *delivery = chela_json_object(job, "delivery");
    const char *kind = output_field(from, "kind", ""),
               *target = output_field(job, "sessionTarget", ""),
               *text =
                   output_field(from, strcmp(kind, "agentTurn") == 0 ? "message" : "text", NULL);
    bool turn = strcmp(kind, "agentTurn") == 0;
    if (!text || (!turn && strcmp(kind, "systemEvent") != 0))
        return NULL;
    json_object *params = chela_json_new_object();
    for (size_t k = 0; k < ARRAY_LENGTH(same); k++)
        if (chela_json_get(job, same[k]))
            chela_json_put(params, same[k], json_object_get(chela_json_get(job, same[k])));
    json_object *to = chela_json_put_object(params, "schedule");
    for (size_t k = 0; k < ARRAY_LENGTH(when); k++)
        if (chela_json_get(schedule, when[k]))
            chela_json_put(to, when[k], json_object_get(chela_json_get(schedule, when[k])));
    bool word = strcmp(target, "main") == 0 || strcmp(target, "isolated") == 0;
    CLEANUP(freep) char *session = xprintf("session:%s", target);
    chela_json_put_text(params, "sessionTarget", word ? target : session);
    chela_json_put_bool(params, "enabled", chela_json_bool(job, "enabled", true));
    json_object *payload = chela_json_put_object(params, "payload");
    chela_json_put_text(payload, "kind", kind);
    chela_json_put_text(payload, turn ? "message" : "text", text);
    if (chela_json_has(delivery, "to") &&
        strcmp(output_field(delivery, "channel", "last"), "last")) {
        json_object *out = chela_json_put_object(params, "delivery");
        chela_json_put_text(out, "mode", "announce");
        chela_json_put_text(out, "channel", output_field(delivery, "channel", ""));
        chela_json_put_text(out, "to", output_field(delivery, "to", ""));
    }
    return params;
}

static void carry_job(struct import *i, struct client *c, json_object *job, json_object *there)
{
    CLEANUP(freep) char *what = xprintf("job %s", output_field(job, "name", "?"));
    json_object *jobs = chela_json_array(there, "jobs"), *params = job_params(job);
    for (size_t k = 0; params && k < chela_json_length(jobs); k++)
        if (same_job(chela_json_at(jobs, k), params)) {
            import_note(i, what, "there", "a job of that name does the same");
            json_object_put(params);
            return;
        }
    if (chela_json_has(job, "declarationKey") || !params) {
        import_note(i, what, "left",
                    params ? "OpenClaw made it for its own upkeep"
                           : "there is no job of that kind");
        json_object_put(params);
        return;
    }
    json_object *payload = call(i, c, what, "cron.add", params);
    if (payload)
        import_note(
            i, what, "carried",
            chela_json_has(chela_json_object(job, "delivery"), "mode") &&
                    strcmp(output_field(chela_json_object(job, "delivery"), "channel", "last"),
                           "last") == 0
                ? "its result stays in its session: chela cron says how it is sent"
                : "chela cron");
    json_object_put(payload);
}

/* Programs that run without asking: the whole path alone, and none that runs others. */
static void carry_approvals(struct import *i, struct client *c, json_object *document)
{
    json_object *agents = chela_json_object(document, "agents");
    if (!agents)
        return;
    json_object_object_foreach(agents, agent, a)
    {
        json_object *list = chela_json_array(a, "allowlist");
        for (size_t k = 0; k < chela_json_length(list); k++) {
            json_object *entry = chela_json_at(list, k), *params;
            const char *pattern = output_field(entry, "pattern", "");
            CLEANUP(freep) char *what = xprintf("allow %s (%s)", pattern, agent);
            CLEANUP(freep) char *of = xprintf("exec|%s *", pattern);
            CLEANUP(freep) char *source = xprintf("*|*|*|%s", agent);
            if (*pattern != '/' || strpbrk(pattern, "*? ") || chela_json_has(entry, "argPattern")) {
                import_note(i, what, "left", "say it again: chela allowlist add");
                continue;
            }
            params = chela_json_new_object();
            chela_json_put_text(params, "kind", of);
            chela_json_put_text(params, "source", source);
            json_object *payload = call(i, c, what, "chela.allowlist.add", params);
            if (payload)
                import_note(i, what, "carried", "chela allowlist");
            json_object_put(payload);
        }
    }
}

static void carry_all(struct import *i, struct client *c)
{
    struct error e = {0};
    json_object *there = NULL, *params = chela_json_new_object();
    chela_json_put_bool(params, "includeDisabled", true);
    if (client_call(c, "cron.list", params, CLIENT_REQUEST_MS, &there, NULL, &e) < 0)
        there = NULL;
    for (size_t k = 0; k < chela_json_length(i->state); k++) {
        json_object *o = chela_json_at(i->state, k);
        if (strcmp(kind_of(o), "session") == 0)
            carry_session(i, c, o);
        else if (strcmp(kind_of(o), "job") == 0)
            carry_job(i, c, chela_json_object(o, "job"), there);
        else if (strcmp(kind_of(o), "approvals") == 0)
            carry_approvals(i, c, chela_json_object(o, "document"));
        else if (strcmp(kind_of(o), "note") == 0)
            import_note(i, output_field(o, "what", ""), "left", output_field(o, "text", ""));
    }
    json_object_put(there);
}

static bool has_work(const struct import *i)
{
    for (size_t k = 0; k < chela_json_length(i->state); k++)
        if (strcmp(kind_of(chela_json_at(i->state, k)), "allow") != 0)
            return true;
    return false;
}

void import_carry(struct import *i)
{
    struct error e = {0};
    struct place place = {0};
    struct client client = {0};
    struct become_gateway gateway = {0};
    if (!has_work(i))
        return;
    int bad = place_find(&place, NULL, &e);
    bool runs = !bad && client_open(&client, &place, NULL, NULL, &e) == 0;
    if (runs &&
        !client_offers(&client, "chela.sessions.import")) { /* OpenClaw's own, on that port */
        client_close(&client);
        client = (struct client){0};
        runs = false;
    }
    if (!bad && !runs) {
        CLEANUP(freep) char *log = place_file(&place, "import.log");
        bad = log ? become_gateway(log, &gateway, &e) : -1;
        place_free(&place);
        CLEANUP(freep) char *where = xprintf("127.0.0.1:%u", gateway.port);
        bad = bad ? bad : place_find(&place, where, &e);
        runs = !bad && client_open(&client, &place, NULL, NULL, &e) == 0;
    }
    if (runs)
        carry_all(i, &client);
    else
        import_note(i, "conversations, jobs, allowed programs", "left",
                    "no gateway runs and none could be started: mend what chela config check says, "
                    "then import again");
    client_close(&client);
    become_gateway_end(&gateway);
    place_free(&place);
}

/* ---- skills ---- */

static int copy_file(const char *from, const char *to, mode_t mode)
{
    char piece[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW),
        out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0700);
    ssize_t n = 0;
    size_t all = 0;
    while (out >= 0 && (n = read(in, piece, sizeof piece)) > 0 && (all += (size_t)n) < LARGEST_FILE)
        if (write(out, piece, (size_t)n) != n)
            n = -1;
    if (in >= 0)
        close(in);
    if (out < 0 || close(out) != 0)
        return -1;
    return n == 0 ? 0 : -1;
}

/* Files and folders; links and all else stay behind. */
static int copy_tree(const char *from, const char *to, unsigned depth)
{
    struct dirent *entry;
    int bad = 0;
    DIR *dir = depth < DEEPEST && mkdir(to, 0700) == 0 ? opendir(from) : NULL;
    if (!dir)
        return -1;
    while ((entry = readdir(dir))) {
        struct stat s;
        CLEANUP(freep) char *a = xprintf("%s/%s", from, entry->d_name);
        CLEANUP(freep) char *b = xprintf("%s/%s", to, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || lstat(a, &s) < 0)
            continue;
        if (S_ISDIR(s.st_mode))
            bad |= copy_tree(a, b, depth + 1);
        else if (S_ISREG(s.st_mode))
            bad |= copy_file(a, b, s.st_mode);
    }
    closedir(dir);
    return bad;
}

void import_skills(struct import *i, const char *folder)
{
    struct error e = {0};
    struct place place = {0};
    CLEANUP(freep) char *from = xprintf("%s/skills", folder);
    DIR *dir = opendir(from);
    struct dirent *entry;
    place_find(&place, NULL, &e);
    CLEANUP(freep) char *first = dir ? place_file(&place, "skills") : NULL;
    if (first)
        mkdir(first, 0700);
    while (first && (entry = readdir(dir))) {
        CLEANUP(freep) char *one = xprintf("%s/%s", from, entry->d_name);
        CLEANUP(freep) char *its = xprintf("%s/SKILL.md", one);
        CLEANUP(freep) char *to = xprintf("%s/%s", first, entry->d_name);
        CLEANUP(freep) char *what = xprintf("skill %s", entry->d_name);
        if (entry->d_name[0] == '.' || access(its, R_OK) != 0)
            continue;
        if (access(to, F_OK) == 0)
            import_note(i, what, "there", to);
        else if (copy_tree(one, to, 0) == 0)
            import_note(i, what, "carried", to);
        else
            import_note(i, what, "left", "it could not be copied whole");
    }
    if (dir)
        closedir(dir);
    place_free(&place);
}
