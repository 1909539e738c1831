/*
 * The checks that the doctor gathers (see doctor_private.h).
 */
#include "host/doctor_private.h"

#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "host/settings_private.h"
#include "support/json.h"

void doctor_add(struct report *r, enum level level, const char *name, const char *fix,
                const char *format, ...)
{
    static const char *const words[] = {"ok", "note", "warn", "error"};
    struct buf text = {0};
    va_list ap;
    va_start(ap, format);
    buf_vprintf(&text, format, ap);
    va_end(ap);
    json_object *check = chela_json_push_object(r->checks);
    chela_json_put_text(check, "name", name);
    chela_json_put_text(check, "level", words[level]);
    chela_json_put_text(check, "text", buf_text(&text));
    chela_json_put_text(check, "fix", fix ? fix : "");
    r->failed = r->failed || level == WRONG;
    buf_free(&text);
}

bool doctor_holds_secret(const struct settings *s, const char *file)
{
    size_t n = strlen(file);
    for (size_t i = 0; i <= s->instance_count; i++) {
        const struct options *o = i < s->instance_count ? s->instances[i].options : s->core;
        struct options_value v;
        for (size_t at = 0; options_next(o, &at, &v);)
            if ((v.flags & CHELA_SECRET) && v.given && strncmp(v.origin, file, n) == 0 &&
                v.origin[n] == ':')
                return true;
    }
    return false;
}
