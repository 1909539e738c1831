/*
 * A channel's webhook (see webhook.h).
 */
#include "support/webhook.h"

#include <stdlib.h>

#include "support/api.h"
#include "support/json.h"

void chela_webhook_publish(struct chela_peer *p, const char *channel)
{
    char *path = chela_format("/%s/%s", channel, p->in->name);
    struct chela_pair route = {
        chela_s(path),
        CHELA_LIT("{\"methods\":[\"POST\"],\"body_limit\":1048576,\"auth\":\"none\"}")};
    chela_publish_list(p->in, CHELA_ROUTES, 1, &route, 1);
    free(path);
}

char *chela_webhook_url(struct chela_peer *p, const char *channel)
{
    return chela_format("%s/%s/%s", chela_option_text(p->in, "webhook.url").s, channel,
                        p->in->name);
}

void chela_webhook_answer(struct chela_peer *p, uint64_t call, uint32_t status)
{
    CHELA_ARGS(chela_done, d, 0);
    d.http_status = status;
    chela_peer_end(p, call, &d);
}

/* Takes as long for one that is nearly right as for any other of its length. */
static bool secret_right(struct chela_peer *p, struct chela_str given)
{
    struct chela_str secret = chela_option_text(p->in, "webhook.secret");
    unsigned char differs = 0;
    if (given.n != secret.n || !secret.n)
        return false;
    for (uint64_t i = 0; i < secret.n; i++)
        differs |= (unsigned char)(secret.s[i] ^ given.s[i]);
    return differs == 0;
}

json_object *chela_webhook_body(struct chela_peer *p, const struct chela_request *r,
                                const char *header)
{
    json_object *o = NULL;
    if (!secret_right(p, chela_header(r->headers, header)))
        chela_webhook_answer(p, r->h.call, 401);
    else if (chela_json_parse(r->body.s, (size_t)r->body.n, NULL, &o, NULL) != 0 || !o)
        chela_webhook_answer(p, r->h.call, 400);
    return o;
}
