/*
 * Files that go along with a message (see attachment.h). The type is told from the first bytes, as
 * far as models know it.
 */
#include "cli/attachment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/base64.h"
#include "support/json.h"

enum { LARGEST = 15 << 20 }; /* in base64 it fits into the gateway's 20 MiB */

static const char *type_of(const char *bytes, size_t n)
{
    static const struct {
        const char *begin, *type;
        size_t n;
    } kinds[] = {{"\x89PNG\r\n\x1a\n", "image/png", 8},
                 {"\xff\xd8\xff", "image/jpeg", 3},
                 {"GIF8", "image/gif", 4},
                 {"%PDF-", "application/pdf", 5},
                 {"OggS", "audio/ogg", 4},
                 {"ID3", "audio/mpeg", 3}};
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if (n >= kinds[i].n && memcmp(bytes, kinds[i].begin, kinds[i].n) == 0) {
            return kinds[i].type;
        }
    }
    if (n >= 12 && memcmp(bytes, "RIFF", 4) == 0) {
        return memcmp(bytes + 8, "WEBP", 4) == 0   ? "image/webp"
               : memcmp(bytes + 8, "WAVE", 4) == 0 ? "audio/wav"
                                                   : "application/octet-stream";
    }
    return !memchr(bytes, '\0', n) && utf8_valid(bytes, n) ? "text/plain"
                                                           : "application/octet-stream";
}

static void push(json_object *list, const char *name, const char *type, struct buf *bytes)
{
    char *content = xmalloc(CHELA_BASE64_TEXT(bytes->n));
    chela_base64_encode(buf_text(bytes), bytes->n, content);
    json_object *o = chela_json_push_object(list);
    chela_json_put_text(o, "type", strncmp(type, "image/", 6) == 0 ? "image" : "file");
    chela_json_put_text(o, "mimeType", type);
    chela_json_put_text(o, "fileName", name);
    chela_json_put_text(o, "content", content);
    free(content);
}

int attachment_add(json_object *list, const char *path, struct error *e)
{
    struct buf bytes = {0};
    *e = (struct error){0};
    if (file_read(path, LARGEST, &bytes, e) == 0) {
        const char *slash = strrchr(path, '/');
        push(list, slash ? slash + 1 : path, type_of(buf_text(&bytes), bytes.n), &bytes);
    }
    buf_free(&bytes);
    return e->class ? -1 : 0;
}

int attachment_add_input(json_object *list, struct buf *message, struct error *e)
{
    struct buf bytes = {0};
    *e = (struct error){0};
    if (file_read_from(STDIN_FILENO, "standard input", LARGEST, &bytes, e) == 0) {
        const char *type = type_of(buf_text(&bytes), bytes.n);
        if (strcmp(type, "text/plain") == 0) {
            buf_puts(message, "\n\n");
            buf_add(message, buf_text(&bytes), bytes.n);
        } else {
            push(list, "stdin", type, &bytes);
        }
    }
    buf_free(&bytes);
    return e->class ? -1 : 0;
}
