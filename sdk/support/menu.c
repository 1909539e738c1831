/*
 * Commands and buttons (see menu.h).
 */
#include "support/menu.h"

#include <string.h>

#include "support/json.h"

enum { NAME_MOST = 32 };

/* ---- commands ---- */

static bool command_ok(const char *name, const char *description)
{
    size_t n = strlen(name);
    return n && n <= NAME_MOST && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n &&
           *description;
}

static void known(struct chela_peer *p, void *owner, const struct chela_done *d)
{
    const struct chela_menu *m = owner;
    json_object *o = NULL, *list = chela_json_new_array();
    if (d->error == CHELA_OK)
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL);
    json_object *from = chela_json_array(o, "commands");
    for (size_t i = 0; i < chela_json_length(from) && chela_json_length(list) < m->most; i++) {
        json_object *c = chela_json_at(from, i);
        const char *name = chela_member(c, "name"), *description = chela_member(c, "description");
        if (!command_ok(name, description))
            continue;
        json_object *to = chela_json_push_object(list);
        chela_json_put_text(to, m->name_member, name);
        chela_json_put_string(to, "description", description,
                              chela_utf16_bytes(description, strlen(description), m->units));
    }
    json_object_put(o);
    if (p->closing || chela_json_length(list) == 0)
        json_object_put(list);
    else
        m->set(p, list);
}

void chela_menu_begin(struct chela_peer *p, const struct chela_menu *m)
{
    if (!chela_option_number(p->in, "commands"))
        return;
    CHELA_ARGS(chela_invoke, a, p->in->host->local->new_call(p->in));
    a.h.tag = chela_peer_tag(p, known, (void *)(uintptr_t)m);
    a.name = chela_s("commands.list");
    a.params = chela_s("{}");
    p->in->host->chat->invoke(p->in, &a);
}

/* ---- buttons ---- */

json_object *chela_keyboard_rows(struct chela_pairs buttons, const struct chela_keyboard *k)
{
    json_object *rows = chela_json_new_array(), *row = NULL;
    for (uint64_t i = 0; i < buttons.n; i++) {
        const struct chela_pair *b = &buttons.v[i];
        if (b->value.n == 0 || b->value.n > k->bytes || b->name.n == 0)
            continue;
        if (!row || chela_json_length(row) == k->row) {
            if (k->rows && chela_json_length(rows) == k->rows)
                break;
            row = k->begin(rows);
        }
        k->button(chela_json_push_object(row), b);
    }
    if (chela_json_length(rows))
        return rows;
    json_object_put(rows);
    return NULL;
}
