/*
 * A file of a conversation, by the hash that its message names: what came with a message and what
 * tools made for the person. Called by method.c.
 */
#include <stdlib.h>

#include "agent/journal/journal.h"
#include "base/mem.h"
#include "gateway/method.h"
#include "support/base64.h"
#include "support/json.h"

static void came(void *owner, struct chela_str data, const struct error *e)
{
    if (e) {
        rpc_fail_error(owner, e);
        return;
    }
    CLEANUP(freep) char *text = xmalloc(CHELA_BASE64_TEXT((size_t)data.n));
    size_t n = chela_base64_encode(data.s ? data.s : "", (size_t)data.n, text);
    json_object *o = chela_json_new_object();
    chela_json_put_string(o, "base64", text, n);
    rpc_answer(owner, o);
}

static void blob(struct rpc *rpc, json_object *params)
{
    journal_blob_get(chela_json_string(params, "hash", NULL), came, rpc);
}

const struct method methods_files[] = {
    {"chela.blob", SCOPE_READ, "hash:s!", blob},
    {NULL, 0, NULL, NULL},
};
