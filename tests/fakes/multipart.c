/* multipart/form-data for the fake services (see multipart.h). */
#include "tests/fakes/multipart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of name="..." (or name=...) in a header's line; free it; NULL: none. */
static char *parameter(const char *line, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = line; (p = strcasestr(p, name)); p += n) {
        bool begins = p == line || p[-1] == ' ' || p[-1] == ';';
        if (!begins || p[n] != '=')
            continue;
        p += n + 1;
        return *p == '"' ? strndup(p + 1, strcspn(p + 1, "\"")) : strndup(p, strcspn(p, ";\r\n"));
    }
    return NULL;
}

static char *header(const char *head, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = head; line && *line;) {
        const char *end = strstr(line, "\r\n");
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
            const char *value = line + n + 1 + strspn(line + n + 1, " ");
            return strndup(value, end ? (size_t)(end - value) : strlen(value));
        }
        line = end ? end + 2 : NULL;
    }
    return NULL;
}

static bool read_part(const char *p, size_t n, multipart_part *part, void *owner)
{
    const char *body = memmem(p, n, "\r\n\r\n", 4);
    char *head = body ? strndup(p, (size_t)(body - p)) : NULL,
         *disposition = head ? header(head, "Content-Disposition") : NULL,
         *type = head ? header(head, "Content-Type") : NULL,
         *name = disposition ? parameter(disposition, "name") : NULL,
         *filename = disposition ? parameter(disposition, "filename") : NULL;
    if (name)
        part(owner, name, filename, type, body + 4, n - (size_t)(body + 4 - p));
    bool ok = name != NULL;
    free(head);
    free(disposition);
    free(type);
    free(name);
    free(filename);
    return ok;
}

bool multipart_read(const char *type, const char *body, size_t n, multipart_part *part, void *owner)
{
    char *boundary = parameter(type, "boundary"), *mark = NULL;
    int length = boundary ? asprintf(&mark, "\r\n--%s", boundary) : -1;
    const char *p = body, *end = body + n;
    bool ok = length > 0;
    free(boundary);
    if (!ok)
        return false;
    size_t k = (size_t)length;
    /* the first one stands at the beginning, mostly without a line before it */
    if (n >= k - 2 && memcmp(p, mark + 2, k - 2) == 0)
        p += k - 2;
    else if ((p = memmem(p, n, mark, k)))
        p += k;
    while (ok && p && end - p >= 2 && memcmp(p, "--", 2) != 0) {
        const char *next = memmem(p, (size_t)(end - p), mark, k);
        ok = next && memcmp(p, "\r\n", 2) == 0 &&
             read_part(p + 2, (size_t)(next - p - 2), part, owner);
        p = next ? next + k : NULL;
    }
    free(mark);
    return ok && p && end - p >= 2;
}
