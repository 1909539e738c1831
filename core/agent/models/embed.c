/*
 * Embeddings of texts: a plugin's call is handed to the provider of the model (see embed.h).
 */
#include "agent/models/embed.h"

#include <stdlib.h>
#include <support/json.h>
#include <wire/functions.h>

#include "agent/models/models.h"
#include "base/mem.h"
#include "host/call.h"
#include "host/settings.h"

enum { EMBED_MS = 60000 };

struct embedding {
    uint64_t id; /* the plugin's call */
    char *model;
};

static void embedded(void *owner, uint64_t call, const struct chela_done *d,
                     const struct chela_decide *v)
{
    struct embedding *x = owner;
    struct chela_done copy = *d;
    (void)call;
    (void)v;
    call_answer(x->id, &copy);
    free(x->model);
    free(x);
}

static const struct call_ops ops = {NULL, embedded};

static void embed_begin(struct instance *in, uint64_t id, const void *args)
{
    const struct chela_embedding *a = args;
    struct model_info info;
    (void)in;
    CLEANUP(freep) char *wanted = xmemdup(a->model.s ? a->model.s : "", a->model.n);
    const char *name = *wanted ? wanted : settings_text(settings_now(), "models.embedding");
    char *full = *name ? models_resolve(name) : NULL;
    if (!full || !models_info(full, &info)) {
        free(full);
        call_answer_error(id, CHELA_E_UNSUPPORTED,
                          "there is no model for embeddings: set models.embedding");
        return;
    }
    if (a->texts.n == 0) { /* only which model it would be */
        json_object *extra = chela_json_new_object();
        CHELA_ARGS(chela_done, d, 0);
        chela_json_put_text(extra, "model", full);
        d.text = chela_s("[]");
        d.extra = chela_s(chela_json_text(extra, NULL));
        call_answer(id, &d);
        json_object_put(extra);
        free(full);
        return;
    }
    struct embedding *x = xcalloc(1, sizeof *x);
    x->id = id;
    x->model = full;
    CHELA_ARGS(chela_embed, q, 0);
    q.model = chela_s(info.name);
    q.texts = a->texts;
    call_begin(info.instance, CHELA_FN_PROVIDER_EMBED, &q, EMBED_MS, id, &ops, x);
}

void embed_register(void)
{
    call_handle(CHELA_FN_EMBED, embed_begin, NULL);
}
