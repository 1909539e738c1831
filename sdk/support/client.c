/*
 * Messages of the gateway's own clients (see client.h).
 */
#include "support/client.h"

void chela_client_submit(struct chela_inst *in, const struct chela_client_message *m, uint64_t tag)
{
    CHELA_ARGS(chela_submit, s, in->host->local->new_call(in));
    s.h.tag = tag;
    s.h.flags = CHELA_OWNER;
    s.kind = chela_s("message");
    s.event = m->key;
    s.at = in->host->local->now_ms(in) / 1000;
    s.chat_type = CHELA_DIRECT;
    s.chat = m->session;
    s.sender = chela_option_text(in, "sender");
    s.session = m->session;
    s.text = m->text;
    s.media = m->media;
    s.extra = m->extra;
    in->host->chat->submit(in, &s);
}

void chela_end_as(struct chela_inst *in, uint64_t call, const struct chela_done *d)
{
    CHELA_ARGS(chela_done, answer, call);
    answer.h.flags = d->h.flags;
    answer.error = d->error;
    answer.retry_after_ms = d->retry_after_ms;
    answer.text = d->text;
    answer.extra = d->extra;
    in->host->answer->done(in, &answer);
}

void chela_client_sent(struct chela_inst *in, const struct chela_send *s)
{
    CHELA_ARGS(chela_done, d, s->h.call);
    d.text = s->key;
    in->host->answer->done(in, &d);
}
