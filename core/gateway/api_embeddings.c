/*
 * POST /v1/embeddings: texts to a provider that has the slot `embed`. Called by api.c.
 */
#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "agent/models/models.h"
#include "base/buf.h"
#include "base/mem.h"
#include "gateway/api.h"
#include "host/call.h"
#include "support/base64.h"
#include "support/json.h"
#include "wire/functions.h"

enum { EMBED_MS = 60000, TEXTS_MOST = 2048 };

struct embedding {
    struct server_request *request; /* NULL: gone */
    uint64_t call;
    char *model;
    bool base64;
};

static void gone(void *arg, struct server_request *r)
{
    struct embedding *w = arg;
    (void)r;
    w->request = NULL;
    call_cancel(w->call);
}

/* OpenAI's own SDK asks for little-endian floats in base64. */
static char *floats_base64(json_object *vector)
{
    size_t n = chela_json_length(vector) * 4;
    unsigned char *bytes = xmalloc(n + 1);
    char *text = xmalloc(CHELA_BASE64_TEXT(n));
    for (size_t i = 0; i < n / 4; i++) {
        float f = (float)chela_json_double_or(chela_json_at(vector, i), 0);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        for (unsigned k = 0; k < 4; k++)
            bytes[4 * i + k] = (unsigned char)(bits >> 8 * k);
    }
    chela_base64_encode(bytes, n, text);
    free(bytes);
    return text;
}

static void answer(struct embedding *w, json_object *vectors)
{
    json_object *o = chela_json_new_object(), *data, *usage;
    chela_json_put_text(o, "object", "list");
    data = chela_json_put_array(o, "data");
    for (size_t i = 0; i < chela_json_length(vectors); i++) {
        json_object *entry = chela_json_push_object(data), *vector = chela_json_at(vectors, i);
        chela_json_put_text(entry, "object", "embedding");
        chela_json_put_int(entry, "index", (int64_t)i);
        if (w->base64) {
            CLEANUP(freep) char *text = floats_base64(vector);
            chela_json_put_text(entry, "embedding", text);
        } else {
            chela_json_put(entry, "embedding", json_object_get(vector));
        }
    }
    chela_json_put_text(o, "model", w->model);
    usage = chela_json_put_object(o, "usage");
    chela_json_put_int(usage, "prompt_tokens", 0);
    chela_json_put_int(usage, "total_tokens", 0);
    api_json(w->request, 200, o);
}

static void done(void *owner, uint64_t call, const struct chela_done *d,
                 const struct chela_decide *decide)
{
    struct embedding *w = owner;
    struct error e = {0};
    json_object *vectors = NULL;
    (void)call;
    (void)decide;
    if (!w->request) {
        ;
    } else if (error_from_done(&e, d) < 0) {
        api_fail_error(w->request, API_OPENAI, &e);
    } else if (chela_json_parse(d->text.s ? d->text.s : "", (size_t)d->text.n, NULL, &vectors,
                                NULL) < 0 ||
               !json_object_is_type(vectors, json_type_array)) {
        api_fail(w->request, API_OPENAI, 502, "the provider's answer is no list of vectors");
    } else {
        answer(w, vectors);
    }
    json_object_put(vectors);
    free(w->model);
    free(w);
}

static const struct call_ops ops = {NULL, done};

/* The texts of `input` (a string or a list of them); 0: it is neither. */
static size_t read_texts(json_object *input, struct chela_pair *pairs)
{
    size_t n = 0, count = 0, length = chela_json_length(input);
    const char *alone = chela_json_as_string(input, &n);
    if (alone)
        pairs[count++] = (struct chela_pair){chela_s(""), chela_sn(alone, n)};
    if (alone || !json_object_is_type(input, json_type_array) || length > TEXTS_MOST)
        return count;
    for (size_t i = 0; i < length; i++) {
        const char *text = chela_json_as_string(chela_json_at(input, i), &n);
        if (!text)
            return 0;
        pairs[count++] = (struct chela_pair){chela_s(""), chela_sn(text, n)};
    }
    return count;
}

void api_embeddings(struct server_request *r, json_object *body)
{
    const char *wanted = chela_json_string(body, "model", NULL),
               *format = chela_json_string(body, "encoding_format", NULL);
    CLEANUP(freep) char *full = wanted ? models_resolve(wanted) : NULL;
    struct model_info info;
    struct chela_pair *pairs = xcalloc(TEXTS_MOST, sizeof *pairs);
    size_t count = read_texts(chela_json_get(body, "input"), pairs);
    if (!full || !models_info(full, &info)) {
        api_fail(r, API_OPENAI, 404,
                 "model must be \"provider/name\" of a provider with embeddings");
    } else if (count == 0) {
        api_fail(r, API_OPENAI, 400, "input must be a text or a list of at most 2048 texts");
    } else {
        struct embedding *w = xcalloc(1, sizeof *w);
        CHELA_ARGS(chela_embed, a, 0);
        w->request = r;
        w->model = xstrdup(wanted);
        w->base64 = format && strcmp(format, "base64") == 0;
        a.model = chela_s(info.name);
        a.texts = (struct chela_pairs){pairs, count};
        server_on_gone(r, gone, w);
        w->call = call_begin(info.instance, CHELA_FN_PROVIDER_EMBED, &a, EMBED_MS, 0, &ops, w);
    }
    free(pairs);
}
