/*
 * chela/host.h - the host's table, and short forms for what plugins do most.
 */
#ifndef CHELA_HOST_H
#define CHELA_HOST_H

#include <chela/answer.h>
#include <chela/chat.h>
#include <chela/kv.h>
#include <chela/local.h>
#include <chela/net.h>
#include <chela/process.h>

/* Groups are never NULL in a host of the plugin's minor_need or newer. `query` [loop] gives groups
 * that came later, NULL if this host doesn't have it. */
struct chela_host {
    uint32_t size;
    uint16_t major, minor;
    const struct chela_local *local;
    const struct chela_answer *answer;
    const struct chela_net *net;
    const struct chela_process *process;
    const struct chela_chat *chat;
    const struct chela_kv *kv;
    const void *(*query)(struct chela_inst *, const char *group, uint32_t major);
};

/* Declares zeroed arguments `a` of a call: CHELA_ARGS(chela_http, req, id); C and C++. */
#define CHELA_ARGS(type, a, id)                                                                    \
    struct type a;                                                                                 \
    memset(&a, 0, sizeof a);                                                                       \
    a.h.size = (uint32_t)sizeof a;                                                                 \
    a.h.call = (id)

static inline void chela_log(struct chela_inst *in, uint32_t level, const char *line)
{
    in->host->local->log(in, level, line);
}

static inline struct chela_str chela_option_text(struct chela_inst *in, const char *path)
{
    return in->host->local->option(in, path);
}

static inline int64_t chela_option_number(struct chela_inst *in, const char *path)
{
    return in->host->local->number(in, path);
}

/* Ends `call`: error class and a sentence (on success the result). */
static inline void chela_end(struct chela_inst *in, uint64_t call, uint32_t error, const char *text)
{
    CHELA_ARGS(chela_done, a, call);
    a.error = error;
    a.text = chela_s(text);
    in->host->answer->done(in, &a);
}

static inline void chela_text_of(struct chela_inst *in, uint64_t call, const char *s, size_t n)
{
    CHELA_ARGS(chela_text, a, call);
    a.text = chela_sn(s, n);
    in->host->answer->text(in, &a);
}

static inline void chela_verdict(struct chela_inst *in, uint64_t call, uint32_t verdict,
                                 const char *text)
{
    CHELA_ARGS(chela_decide, a, call);
    a.verdict = verdict;
    a.text = chela_s(text);
    in->host->answer->decide(in, &a);
}

static inline void chela_publish_list(struct chela_inst *in, uint32_t what, uint64_t revision,
                                      const struct chela_pair *v, size_t n)
{
    CHELA_ARGS(chela_publish, a, 0);
    a.what = what;
    a.revision = revision;
    a.items.v = v;
    a.items.n = (uint64_t)n;
    in->host->answer->publish(in, &a);
}

static inline void chela_cancel(struct chela_inst *in, uint64_t call)
{
    CHELA_ARGS(chela_arg, a, call);
    in->host->net->cancel(in, &a);
}

#endif
