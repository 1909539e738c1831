/*
 * The lines that are said (see openclaw.h), and JSON that is read.
 */
#include <stdio.h>

#include "base/buf.h"
#include "base/file.h"
#include "openclaw/openclaw.h"
#include "support/json.h"

enum { LARGEST = 256 << 20 };

void say(json_object *o)
{
    puts(chela_json_text(o, NULL));
    json_object_put(o);
}

json_object *thing(const char *kind)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "kind", kind);
    return o;
}

void note(const char *what, const char *text)
{
    json_object *o = thing("note");
    chela_json_put_text(o, "what", what);
    chela_json_put_text(o, "text", text);
    say(o);
}

json_object *parse(const char *text, size_t n)
{
    json_object *o = NULL;
    return chela_json_parse(text, n, NULL, &o, NULL) == 0 ? o : NULL;
}

json_object *parse_file(const char *path)
{
    struct buf text = {0};
    struct error e = {0};
    json_object *o = NULL;
    if (file_read(path, LARGEST, &text, &e) == 0)
        o = text.n ? parse(text.p, text.n) : NULL;
    else if (e.class != CHELA_E_NOT_FOUND)
        note(path, e.text);
    buf_free(&text);
    return o;
}

void say_allow(const char *channel, const char *account, const char *entry)
{
    json_object *o = thing("allow");
    chela_json_put_text(o, "channel", channel);
    chela_json_put_text(o, "account", account);
    chela_json_put_text(o, "entry", entry);
    say(o);
}

void say_job(json_object *job)
{
    json_object *o = thing("job");
    chela_json_put(o, "job", json_object_get(job));
    say(o);
}

void say_approvals(json_object *document)
{
    json_object *o = thing("approvals");
    if (document) {
        chela_json_put(o, "document", document);
        say(o);
    } else {
        json_object_put(o);
    }
}
