/*
 * What a message of Telegram's says: its text, whom it is meant for, what it answers, its files.
 * Called by inbound.c; pure, from one JSON object.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "telegram.h"

static const char *text_of(json_object *m, size_t *n)
{
    const char *text = chela_json_string(m, "text", n);
    return text ? text : chela_json_string(m, "caption", n);
}

/* What has no text of its own. Free it; NULL: nothing that a person said. */
static char *described(json_object *m)
{
    json_object *o;
    if ((o = chela_json_object(m, "location")))
        return chela_format("[location: %.6f, %.6f]", chela_json_double(o, "latitude", 0),
                            chela_json_double(o, "longitude", 0));
    if ((o = chela_json_object(m, "contact")))
        return chela_format("[contact: %s %s]", chela_member(o, "first_name"),
                            chela_member(o, "phone_number"));
    if ((o = chela_json_object(m, "sticker")))
        return chela_format("[sticker %s]", chela_member(o, "emoji"));
    if ((o = chela_json_object(m, "poll")))
        return chela_format("[poll: %s]", chela_member(o, "question"));
    return NULL;
}

struct span {
    const char *s;
    size_t n, from;
};

static struct span entity(json_object *m, json_object *e, const char **ret_type)
{
    size_t n = 0;
    const char *text = text_of(m, &n);
    struct span p = {"", 0, 0};
    *ret_type = chela_json_string(e, "type", NULL);
    if (!text || !*ret_type)
        return p;
    p.from = chela_utf16_bytes(text, n, chela_json_int(e, "offset", 0));
    p.s = text + p.from;
    p.n = chela_utf16_bytes(p.s, n - p.from, chela_json_int(e, "length", 0));
    return p;
}

static json_object *entities(json_object *m)
{
    json_object *list = chela_json_array(m, "entities");
    return list ? list : chela_json_array(m, "caption_entities");
}

static bool is_me(const struct telegram *t, const char *name, size_t n)
{
    return *t->username && n == strlen(t->username) && strncasecmp(name, t->username, n) == 0;
}

bool said_to_us(const struct telegram *t, json_object *m)
{
    json_object *list = entities(m), *replied = chela_json_object(m, "reply_to_message");
    if (t->me && chela_json_int(chela_json_object(replied, "from"), "id", 0) == t->me &&
        !chela_json_has(replied, "forum_topic_created"))
        return true;
    for (size_t i = 0; i < chela_json_length(list); i++) {
        const char *type;
        json_object *e = chela_json_at(list, i);
        struct span p = entity(m, e, &type);
        const char *at = p.n ? memchr(p.s, '@', p.n) : NULL;
        if (!type)
            continue;
        if (strcmp(type, "text_mention") == 0 &&
            chela_json_int(chela_json_object(e, "user"), "id", 0) == t->me)
            return true;
        if ((strcmp(type, "mention") == 0 || strcmp(type, "bot_command") == 0) && at &&
            is_me(t, at + 1, p.n - (size_t)(at + 1 - p.s)))
            return true;
    }
    return false;
}

char *said_text(const struct telegram *t, json_object *m)
{
    size_t n = 0;
    const char *text = text_of(m, &n), *type;
    json_object *list = entities(m);
    if (!text) {
        char *said = described(m);
        return said ? said : chela_need(strdup(""));
    }
    for (size_t i = 0; i < chela_json_length(list); i++) {
        struct span p = entity(m, chela_json_at(list, i), &type);
        const char *at = p.n ? memchr(p.s, '@', p.n) : NULL;
        if (p.from != 0 || !at || !type || strcmp(type, "bot_command") != 0)
            continue;
        if (!is_me(t, at + 1, p.n - (size_t)(at + 1 - p.s)))
            return NULL;
        return chela_format("%.*s%s", (int)(at - text), text, text + p.n);
    }
    return chela_need(strdup(text));
}

const char *said_quote(json_object *m)
{
    const char *quote = chela_json_string(chela_json_object(m, "quote"), "text", NULL);
    json_object *replied = chela_json_object(m, "reply_to_message");
    if (!quote && replied)
        quote = text_of(replied, NULL);
    return quote ? quote : "";
}

/* ---- files ---- */

static void add_file(struct chela_arrival *a, json_object *o, const char *name, const char *mime)
{
    const char *own_name = chela_json_string(o, "file_name", NULL),
               *own_mime = chela_json_string(o, "mime_type", NULL);
    chela_arrival_add(a, chela_json_string(o, "file_id", NULL), NULL, own_name ? own_name : name,
                      own_mime ? own_mime : mime, chela_json_int(o, "file_size", 0));
}

void said_files(struct chela_arrival *a, json_object *m)
{
    static const struct {
        const char *member, *name, *mime;
    } kinds[] = {
        {"document", "document", "application/octet-stream"},
        {"voice", "voice.ogg", "audio/ogg"},
        {"audio", "audio.mp3", "audio/mpeg"},
        {"video", "video.mp4", "video/mp4"},
        {"video_note", "video.mp4", "video/mp4"},
    };
    json_object *photos = chela_json_array(m, "photo");
    if (chela_json_length(photos)) /* sizes of one picture, the largest last */
        add_file(a, chela_json_at(photos, chela_json_length(photos) - 1), "photo.jpg",
                 "image/jpeg");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        json_object *o = chela_json_object(m, kinds[i].member);
        if (o)
            add_file(a, o, kinds[i].name, kinds[i].mime);
    }
    /* a static sticker is a picture */
    json_object *sticker = chela_json_object(m, "sticker");
    if (sticker && !chela_json_bool(sticker, "is_animated", false) &&
        !chela_json_bool(sticker, "is_video", false))
        add_file(a, sticker, "sticker.webp", "image/webp");
}
