/*
 * What a message of Discord's says: its text, whom it is meant for, its files. Called by inbound.c;
 * pure, from one JSON object.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discord.h"

char *said_text(const struct discord *d, json_object *m)
{
    const char *s = chela_member(m, "content");
    char *out = NULL;
    size_t n;
    json_object *people = chela_json_array(m, "mentions");
    FILE *f = chela_need(open_memstream(&out, &n));
    for (const char *p = s; *p;) {
        const char *id = p[0] == '<' && p[1] == '@' ? p + 2 + (p[2] == '!') : NULL;
        size_t digits = id ? strspn(id, "0123456789") : 0;
        if (!digits || id[digits] != '>') {
            fputc(*p++, f);
            continue;
        }
        char *who = chela_format("%.*s", (int)digits, id);
        bool front = p == s, me = strcmp(who, d->me) == 0;
        p = id + digits + 1;
        for (size_t i = 0; !(front && me) && i < chela_json_length(people); i++) {
            json_object *user = chela_json_at(people, i);
            if (strcmp(chela_member(user, "id"), who) == 0)
                fprintf(f, "@%s", chela_member(user, "username"));
        }
        free(who);
        if (front && me)
            p += strspn(p, " \n");
    }
    fclose(f);
    return out;
}

bool said_to_us(const struct discord *d, json_object *m)
{
    json_object *people = chela_json_array(m, "mentions"),
                *replied = chela_json_object(m, "referenced_message");
    for (size_t i = 0; i < chela_json_length(people); i++) {
        if (strcmp(chela_member(chela_json_at(people, i), "id"), d->me) == 0)
            return true;
    }
    return strcmp(chela_member(chela_json_object(replied, "author"), "id"), d->me) == 0;
}

void said_files(struct chela_arrival *a, json_object *m)
{
    json_object *list = chela_json_array(m, "attachments");
    for (size_t i = 0; i < chela_json_length(list); i++) {
        json_object *o = chela_json_at(list, i);
        char *reference = chela_format("%s/%s/%s", chela_member(m, "channel_id"),
                                       chela_member(m, "id"), chela_member(o, "id"));
        chela_arrival_add(a, reference, chela_member(o, "url"), chela_member(o, "filename"),
                          chela_member(o, "content_type"), chela_json_int(o, "size", 0));
        free(reference);
    }
}
