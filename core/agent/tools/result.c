/*
 * Shapes the results of tools. A service over the journal's blobs.
 */
#include "agent/tools/result.h"

#include <stdlib.h>
#include <string.h>
#include <support/json.h>

#include "agent/journal/journal.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"

static void kept(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("tool", "the whole text of a result could not be kept: %s", e->text);
}

char *result_bound(const char *text, size_t n, size_t limit)
{
    struct buf clean = {0};
    if (!utf8_valid(text, n)) {
        utf8_repair(&clean, text, n);
        text = buf_text(&clean);
        n = clean.n;
    }
    if (n <= limit) {
        char *whole = xmemdup(text, n);
        buf_free(&clean);
        return whole;
    }
    char hash[65] = "";
    journal_blob_put(chela_sn(text, n), hash, kept, NULL);
    size_t head = utf8_cut(text, n, limit * 2 / 3);
    size_t from = n - limit / 3;
    while (from < n && ((unsigned char)text[from] & 0xc0) == 0x80)
        from++;
    struct buf b = {0};
    buf_add(&b, text, head);
    buf_printf(
        &b, "\n[... %zu of %zu bytes left out; the tool read shows all of it: path blob:%s ...]\n",
        from - head, n, hash);
    buf_add(&b, text + from, n - from);
    buf_free(&clean);
    return buf_take(&b);
}

struct json_object *result_part(const char *call, const char *name, const char *text, int is_error,
                                struct json_object *images)
{
    struct json_object *o = chela_json_new_object();
    chela_json_put_text(o, "type", "toolResult");
    chela_json_put_text(o, "callId", call);
    chela_json_put_text(o, "name", name);
    struct json_object *content = chela_json_put_array(o, "content");
    struct json_object *part = chela_json_push_object(content);
    chela_json_put_text(part, "type", "text");
    chela_json_put_text(part, "text", text);
    for (size_t i = 0; i < chela_json_length(images) && i < 16; i++) {
        struct json_object *image = chela_json_at(images, i);
        const char *hash = chela_json_string(image, "hash", NULL);
        const char *mime = chela_json_string(image, "mime", NULL);
        if (!hash)
            continue;
        struct json_object *p = chela_json_push_object(content);
        chela_json_put_text(p, "type", "image");
        chela_json_put_text(p, "hash", hash);
        chela_json_put_text(p, "mime", mime ? mime : "application/octet-stream");
    }
    chela_json_put_bool(o, "isError", is_error != 0);
    return o;
}
