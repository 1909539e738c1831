/*
 * The result of a tool call or the contents of a resource: text for the model, images as blobs
 * beside it. Called by tools.c and resources.c; everything in it may be hostile.
 */
#include "mcp.h"

#include <stdlib.h>
#include <string.h>

#include "support/base64.h"

enum { IMAGES_MOST = 16, BLOB_MOST = 20 << 20 };

/* A result whose images are being stored. */
struct result {
    struct mcp *mcp;
    uint64_t call;
    char *text;
    size_t length;
    FILE *out;
    bool is_error;
    json_object *images, *details;
    unsigned left;
};

static void result_free(struct result *r)
{
    json_object_put(r->images);
    json_object_put(r->details);
    free(r->text);
    free(r);
}

static void finish(struct result *r)
{
    struct chela_inst *in = r->mcp->in;
    json_object *extra = chela_json_new_object();
    if (chela_json_length(r->images))
        chela_json_put(extra, "images", json_object_get(r->images));
    if (r->details)
        chela_json_put(extra, "details", json_object_get(r->details));
    CHELA_ARGS(chela_done, d, r->call);
    d.h.flags = r->is_error ? CHELA_IS_ERROR : 0;
    d.text = chela_sn(r->text, r->length);
    d.extra = chela_s(chela_json_text(extra, NULL));
    in->host->answer->done(in, &d);
    json_object_put(extra);
    result_free(r);
}

/* ---- images ---- */

struct image {
    struct result *result;
    char *mime;
};

static void stored(struct io *io, const struct chela_done *d)
{
    struct image *i = io->owner;
    struct result *r = i->result;
    if (d->error == CHELA_OK) {
        json_object *o = chela_json_push_object(r->images);
        chela_json_put_string(o, "hash", d->text.s, (size_t)d->text.n);
        chela_json_put_text(o, "mime", i->mime);
    }
    free(i->mime);
    free(i);
    if (--r->left == 0)
        finish(r);
}

static bool put_image(struct result *r, const char *data, size_t n, const char *mime)
{
    struct chela_inst *in = r->mcp->in;
    size_t length;
    if (r->left > IMAGES_MOST || n > BLOB_MOST)
        return false;
    unsigned char *bytes = need(malloc(CHELA_BASE64_BYTES(n)));
    if (!chela_base64_decode(data, n, false, bytes, &length)) {
        free(bytes);
        return false;
    }
    struct image *i = need(calloc(1, sizeof *i));
    i->result = r;
    i->mime = need(strdup(mime));
    struct io *io = io_new(r->mcp, NULL, i);
    io->done = stored;
    CHELA_ARGS(chela_key, k, io->call);
    k.h.tag = (uint64_t)(uintptr_t)io;
    k.value = chela_sn((const char *)bytes, length);
    r->left++;
    in->host->kv->blob_put(in, &k);
    free(bytes);
    return true;
}

/* ---- text ---- */

static void begin_part(struct result *r)
{
    if (ftell(r->out) > 0)
        fputc('\n', r->out);
}

static void put_resource(struct result *r, json_object *o)
{
    size_t n = 0;
    const char *uri = chela_json_string(o, "uri", NULL), *text = chela_json_string(o, "text", &n),
               *mime = chela_json_string(o, "mimeType", NULL),
               *blob = text ? NULL : chela_json_string(o, "blob", &n);
    begin_part(r);
    if (text) {
        fprintf(r->out, "<resource uri=\"%s\">\n", uri ? uri : "");
        fwrite(text, 1, n, r->out);
        fputs("\n</resource>", r->out);
    } else if (blob && mime && strncmp(mime, "image/", 6) == 0 && put_image(r, blob, n, mime)) {
        fprintf(r->out, "[image %s]", uri ? uri : "");
    } else {
        fprintf(r->out, "[resource %s: %s, %zu bytes, not shown]", uri ? uri : "",
                mime ? mime : "binary", n / 4 * 3);
    }
}

static void put_part(struct result *r, json_object *o)
{
    size_t n = 0;
    const char *type = chela_json_string(o, "type", NULL), *text = chela_json_string(o, "text", &n),
               *mime = chela_json_string(o, "mimeType", NULL);
    if (!type || (strcmp(type, "text") == 0 && !text))
        return;
    if (strcmp(type, "text") == 0) {
        begin_part(r);
        fwrite(text, 1, n, r->out);
        return;
    }
    if (strcmp(type, "resource") == 0) {
        put_resource(r, chela_json_object(o, "resource"));
        return;
    }
    const char *data = chela_json_string(o, "data", &n);
    begin_part(r);
    if (strcmp(type, "image") == 0 && data && put_image(r, data, n, mime ? mime : "image/png")) {
        fputs("[image]", r->out);
    } else if (strcmp(type, "resource_link") == 0) {
        const char *uri = chela_json_string(o, "uri", NULL),
                   *name = chela_json_string(o, "name", NULL),
                   *about = chela_json_string(o, "description", NULL);
        fprintf(r->out, "[resource %s (%s)%s%s]", uri ? uri : "", name ? name : "",
                about ? ": " : "", about ? about : "");
    } else {
        fprintf(r->out, "[%s content, %s, not shown]", type, mime ? mime : "no type");
    }
}

void result_end(struct mcp *m, uint64_t call, json_object *o, bool structured)
{
    struct result *r = need(calloc(1, sizeof *r));
    r->mcp = m;
    r->call = call;
    r->left = 1;
    r->images = chela_json_new_array();
    r->is_error = chela_json_bool(o, "isError", false);
    r->out = need(open_memstream(&r->text, &r->length));
    json_object *content = chela_json_array(o, "content"),
                *contents = chela_json_array(o, "contents"),
                *data = chela_json_get(o, "structuredContent");
    if (data && (structured || !chela_json_length(content)) && !r->is_error) {
        fputs(chela_json_text(data, NULL), r->out);
    } else {
        for (size_t i = 0; i < chela_json_length(content); i++)
            put_part(r, chela_json_at(content, i));
    }
    for (size_t i = 0; i < chela_json_length(contents); i++)
        put_resource(r, chela_json_at(contents, i));
    if (data) {
        r->details = chela_json_new_object();
        chela_json_put(r->details, "structuredContent", json_object_get(data));
    }
    fclose(r->out);
    if (--r->left == 0)
        finish(r);
}
