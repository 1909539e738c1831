/*
 * Updates become messages of the host: one after the other, files fetched first, an album as one.
 * Called with the list of a poll or of the webhook; tells its caller what may be acknowledged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "telegram.h"

enum { FILES_MOST = 32, ID = 48 };

struct batch {
    struct telegram *t;
    json_object *updates;
    size_t at;
    unsigned waiting;
    bool scanning;
    int64_t next;   /* one after the last update of the list */
    int64_t failed; /* the first update that could not be stored, 0: none */
    uint32_t error; /* of that one */
    uint64_t retry_after;
    char *why;
    uint64_t call;
    batch_fn *fn;
};

/* One message on its way: an album holds several of Telegram's. */
struct arrival {
    struct batch *b;
    int64_t update;
    json_object *parts;  /* its messages; [0] has the id */
    json_object *files;  /* {"file_id","name","mime","size"}, "hash" when it was fetched */
    json_object *button; /* callback_query or NULL */
    json_object *reaction;
    bool edited;
    size_t at;
    char event[ID + 32], chat[ID], thread[ID], sender[ID], reply_to[ID + 32];
};

static void scan(struct batch *b);

/* ---- text ---- */

size_t inbound_utf16(const char *s, size_t n, int64_t units)
{
    size_t i = 0;
    while (i < n && units > 0) {
        unsigned char c = (unsigned char)s[i];
        size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        units -= length == 4 ? 2 : 1;
        if (units < 0 || i + length > n)
            break;
        i += length;
    }
    return i;
}

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
        return tg_format("[location: %.6f, %.6f]", chela_json_double(o, "latitude", 0),
                         chela_json_double(o, "longitude", 0));
    if ((o = chela_json_object(m, "contact"))) {
        const char *name = chela_json_string(o, "first_name", NULL),
                   *phone = chela_json_string(o, "phone_number", NULL);
        return tg_format("[contact: %s %s]", name ? name : "", phone ? phone : "");
    }
    if ((o = chela_json_object(m, "sticker"))) {
        const char *emoji = chela_json_string(o, "emoji", NULL);
        return tg_format("[sticker %s]", emoji ? emoji : "");
    }
    if ((o = chela_json_object(m, "poll"))) {
        const char *question = chela_json_string(o, "question", NULL);
        return tg_format("[poll: %s]", question ? question : "");
    }
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
    p.from = inbound_utf16(text, n, chela_json_int(e, "offset", 0));
    p.s = text + p.from;
    p.n = inbound_utf16(p.s, n - p.from, chela_json_int(e, "length", 0));
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

static bool mentioned(const struct telegram *t, json_object *m)
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

/* The text without "@bot" behind a command; NULL: the command is another bot's. Free it. */
static char *own_text(const struct telegram *t, json_object *m)
{
    size_t n = 0;
    const char *text = text_of(m, &n), *type;
    json_object *list = entities(m);
    if (!text) {
        char *said = described(m);
        return said ? said : tg_need(strdup(""));
    }
    for (size_t i = 0; i < chela_json_length(list); i++) {
        struct span p = entity(m, chela_json_at(list, i), &type);
        const char *at = p.n ? memchr(p.s, '@', p.n) : NULL;
        if (p.from != 0 || !at || !type || strcmp(type, "bot_command") != 0)
            continue;
        if (!is_me(t, at + 1, p.n - (size_t)(at + 1 - p.s)))
            return NULL;
        return tg_format("%.*s%s", (int)(at - text), text, text + p.n);
    }
    return tg_need(strdup(text));
}

/* ---- files ---- */

static void add_file(json_object *list, json_object *o, const char *name, const char *mime)
{
    const char *id = chela_json_string(o, "file_id", NULL),
               *own_name = chela_json_string(o, "file_name", NULL),
               *own_mime = chela_json_string(o, "mime_type", NULL);
    if (!id || chela_json_length(list) >= FILES_MOST)
        return;
    json_object *f = chela_json_push_object(list);
    chela_json_put_text(f, "file_id", id);
    chela_json_put_text(f, "name", own_name ? own_name : name);
    chela_json_put_text(f, "mime", own_mime ? own_mime : mime);
    chela_json_put_int(f, "size", chela_json_int(o, "file_size", 0));
}

static void list_files(json_object *list, json_object *m)
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
        add_file(list, chela_json_at(photos, chela_json_length(photos) - 1), "photo.jpg",
                 "image/jpeg");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        json_object *o = chela_json_object(m, kinds[i].member);
        if (o)
            add_file(list, o, kinds[i].name, kinds[i].mime);
    }
    /* a static sticker is a picture */
    json_object *sticker = chela_json_object(m, "sticker");
    if (sticker && !chela_json_bool(sticker, "is_animated", false) &&
        !chela_json_bool(sticker, "is_video", false))
        add_file(list, sticker, "sticker.webp", "image/webp");
}

/* ---- the end of one ---- */

static void arrival_free(struct arrival *a)
{
    json_object_put(a->parts);
    json_object_put(a->files);
    json_object_put(a->button);
    json_object_put(a->reaction);
    free(a);
}

static void batch_over(struct batch *b)
{
    if (b->scanning || b->waiting)
        return;
    CHELA_ARGS(chela_done, d, 0);
    d.error = b->error;
    d.retry_after_ms = b->retry_after;
    d.text = chela_s(b->why);
    b->fn(b->t, b->call, b->failed ? b->failed : b->next, &d);
    json_object_put(b->updates);
    free(b->why);
    free(b);
}

static void failed(struct batch *b, int64_t update, uint32_t error, uint64_t retry_after,
                   const char *why)
{
    if (b->failed && b->failed <= update)
        return;
    b->failed = update;
    b->error = error;
    b->retry_after = retry_after;
    free(b->why);
    b->why = tg_need(strdup(why));
}

static void pressed(struct telegram *t, void *owner, const struct reply *r)
{
    (void)owner;
    if (r->error != CHELA_OK && !t->closing)
        chela_log(t->in, CHELA_DEBUG, r->text); /* the button only blinks longer */
}

static void answer_press(struct telegram *t, json_object *button, bool denied)
{
    json_object *body = chela_json_new_object();
    chela_json_put_text(body, "callback_query_id", chela_json_string(button, "id", NULL));
    if (denied)
        chela_json_put_text(body, "text", "This is not yours to press.");
    api_call(t, 0, "answerCallbackQuery", body, 0, pressed, NULL);
}

static void submitted(struct telegram *t, void *owner, const struct chela_done *d)
{
    struct arrival *a = owner;
    struct batch *b = a->b;
    switch (d->error) {
    case CHELA_OK:
    case CHELA_E_CONFLICT:
    case CHELA_E_DENIED: break;
    case CHELA_E_ARGS:
    case CHELA_E_TOO_LONG: /* it never will be taken */
        chela_log(t->in, CHELA_WARN, d->text.s);
        break;
    default: failed(b, a->update, d->error, d->retry_after_ms, d->text.s ? d->text.s : "");
    }
    if (a->button && !t->closing)
        answer_press(t, a->button, d->error == CHELA_E_DENIED);
    arrival_free(a);
    b->waiting--;
    batch_over(b);
}

/* ---- one message ---- */

static const char *name_of(json_object *from, char out[256])
{
    const char *first = chela_json_string(from, "first_name", NULL),
               *last = chela_json_string(from, "last_name", NULL);
    snprintf(out, 256, "%.120s%s%.120s", first ? first : "", last ? " " : "", last ? last : "");
    return out;
}

static char *extra_of(json_object *m, json_object *from)
{
    json_object *o = chela_json_new_object();
    const char *user = chela_json_string(from, "username", NULL),
               *title = chela_json_string(chela_json_object(m, "chat"), "title", NULL);
    if (user)
        chela_json_put_text(o, "username", user);
    if (title)
        chela_json_put_text(o, "chatTitle", title);
    if (chela_json_has(m, "forward_origin"))
        chela_json_put_bool(o, "forwarded", true);
    char *text = tg_need(strdup(chela_json_text(o, NULL)));
    json_object_put(o);
    return text;
}

static const char *quote_of(json_object *m)
{
    const char *quote = chela_json_string(chela_json_object(m, "quote"), "text", NULL);
    json_object *replied = chela_json_object(m, "reply_to_message");
    if (!quote && replied)
        quote = text_of(replied, NULL);
    return quote ? quote : "";
}

/* Text of all parts of an album; NULL: none of our business. Free it. */
static char *whole_text(struct arrival *a)
{
    if (a->button) {
        const char *data = chela_json_string(a->button, "data", NULL);
        return tg_need(strdup(data ? data : ""));
    }
    if (a->reaction) {
        const char *emoji = chela_json_string(
            chela_json_at(chela_json_array(a->reaction, "new_reaction"), 0), "emoji", NULL);
        return tg_need(strdup(emoji ? emoji : ""));
    }
    char *text = tg_need(strdup(""));
    for (size_t i = 0; i < chela_json_length(a->parts); i++) {
        char *more = own_text(a->b->t, chela_json_at(a->parts, i)), *both;
        if (!more) {
            free(text);
            return NULL;
        }
        both = tg_format("%s%s%s", text, *text && *more ? "\n" : "", more);
        free(text);
        free(more);
        text = both;
    }
    return text;
}

static void submit(struct arrival *a, const char *text)
{
    struct telegram *t = a->b->t;
    json_object *m = chela_json_at(a->parts, 0), *from = chela_json_object(m, "from");
    const char *type = chela_json_string(chela_json_object(m, "chat"), "type", NULL);
    char name[256], *extra;
    size_t n = chela_json_length(a->files);
    struct chela_pair *media = tg_need(calloc(n + 1, sizeof *media));
    if (a->button)
        from = chela_json_object(a->button, "from");
    if (a->reaction)
        from = chela_json_object(a->reaction, "user");
    extra = extra_of(m, from);
    for (size_t i = 0; i < n; i++) {
        json_object *f = chela_json_at(a->files, i);
        media[i].name = chela_s(chela_json_string(f, "name", NULL));
        media[i].value = chela_s(chela_json_text(f, NULL));
    }
    CHELA_ARGS(chela_submit, s, t->in->host->local->new_call(t->in));
    s.h.tag = tg_pending(t, submitted, a);
    s.h.flags = a->button ? CHELA_BUTTON : mentioned(t, m) ? CHELA_MENTIONED : 0;
    s.kind = chela_s(a->reaction ? "reaction" : a->edited ? "edit" : "message");
    s.version = a->edited || a->reaction ? (uint64_t)a->update : 0;
    s.event = chela_s(a->event);
    s.at = a->button ? t->in->host->local->now_ms(t->in) / 1000
                     : (uint64_t)chela_json_int(m, a->edited ? "edit_date" : "date", 0);
    s.chat = chela_s(a->chat);
    s.chat_type = type && strcmp(type, "private") == 0 ? CHELA_DIRECT : CHELA_GROUP;
    s.thread = chela_s(a->thread);
    s.sender = chela_s(a->sender);
    s.sender_name = chela_s(name_of(from, name));
    s.text = chela_s(text);
    s.reply_to = chela_s(a->reply_to);
    s.quote = chela_s(a->button || a->reaction ? "" : quote_of(m));
    s.extra = chela_s(extra);
    s.media = (struct chela_pairs){media, n};
    t->in->host->chat->submit(t->in, &s);
    free(media);
    free(extra);
}

static void go_on(struct arrival *a);

/* Passing failures fail the update, which comes again; others leave the file named only. */
static void file_over(struct arrival *a, uint32_t error, uint64_t retry_after, const char *why)
{
    struct batch *b = a->b;
    json_object *f = chela_json_at(a->files, a->at);
    bool passing = error == CHELA_E_NETWORK || error == CHELA_E_TIMEOUT || error == CHELA_E_RATE ||
                   error == CHELA_E_OVERLOADED || error == CHELA_E_CANCELLED;
    if (passing) {
        failed(b, a->update, error, retry_after, why);
        arrival_free(a);
        b->waiting--;
        b->at = chela_json_length(b->updates); /* what comes behind it would overtake it */
        scan(b);
        return;
    }
    if (error != CHELA_OK)
        chela_json_put_text(f, "reference", chela_json_string(f, "file_id", NULL));
    if (error == CHELA_E_TOO_LONG) /* nobody need try again */
        chela_json_put_text(f, "failed", "it is larger than media_limit");
    a->at++;
    go_on(a);
}

static void file_came(struct telegram *t, void *owner, const struct chela_done *d)
{
    struct arrival *a = owner;
    json_object *f = chela_json_at(a->files, a->at), *o = NULL;
    (void)t;
    if (d->error == CHELA_OK) {
        chela_json_put_string(f, "hash", d->text.s, (size_t)d->text.n);
        chela_json_parse(d->extra.s, (size_t)d->extra.n, NULL, &o, NULL);
        chela_json_put_int(f, "size", chela_json_int(o, "size", chela_json_int(f, "size", 0)));
        json_object_put(o);
    }
    file_over(a, d->error, d->retry_after_ms, "a file could not be fetched");
}

static void file_named(struct telegram *t, void *owner, const struct reply *r)
{
    struct arrival *a = owner;
    const char *path = chela_json_string(r->result, "file_path", NULL);
    if (r->error == CHELA_OK && path && !strstr(path, ".."))
        api_file(t, 0, path, file_came, a);
    else
        file_over(a, r->error == CHELA_OK ? CHELA_E_PROTOCOL : r->error, r->retry_after_ms,
                  r->text);
}

static void go_on(struct arrival *a)
{
    struct batch *b = a->b;
    struct telegram *t = b->t;
    json_object *f = chela_json_at(a->files, a->at);
    if (f && chela_json_int(f, "size", 0) > chela_option_number(t->in, "media_limit")) {
        file_over(a, CHELA_E_TOO_LONG, 0, "");
        return;
    }
    if (f) {
        json_object *body = chela_json_new_object();
        chela_json_put_text(body, "file_id", chela_json_string(f, "file_id", NULL));
        api_call(t, 0, "getFile", body, 0, file_named, a);
        return;
    }
    char *text = whole_text(a);
    if (text && !t->closing && (*text || chela_json_length(a->files) || a->reaction)) {
        submit(a, text);
    } else { /* a service message, or another bot's command */
        arrival_free(a);
        b->waiting--;
    }
    free(text);
    scan(b);
}

/* ---- the list ---- */

/* The name under which the host knows this chat. */
static const char *chat_name(struct telegram *t, json_object *chat, char out[ID])
{
    snprintf(out, ID, "%lld", (long long)chela_json_int(chat, "id", 0));
    json_object_object_foreach(t->migrated, old, now)
    {
        const char *id = chela_json_as_string(now, NULL);
        if (id && strcmp(id, out) == 0) {
            snprintf(out, ID, "%s", old);
            break;
        }
    }
    return out;
}

/* Ids of messages begin anew in a supergroup: the chat's id makes them different. */
static void event_name(json_object *chat, const char *name, int64_t id, char *out, size_t size)
{
    long long now = (long long)chela_json_int(chat, "id", 0);
    if (strtoll(name, NULL, 10) == now)
        snprintf(out, size, "%lld", (long long)id);
    else
        snprintf(out, size, "%lld:%lld", now, (long long)id);
}

static struct arrival *arrive(struct batch *b, json_object *update)
{
    json_object *button = chela_json_object(update, "callback_query"),
                *reaction = chela_json_object(update, "message_reaction"),
                *edited = chela_json_object(update, "edited_message"),
                *m = button     ? chela_json_object(button, "message")
                     : reaction ? reaction
                     : edited   ? edited
                                : chela_json_object(update, "message"),
                *chat = chela_json_object(m, "chat"),
                *from = chela_json_object(button ? button : m, reaction ? "user" : "from");
    int64_t moved = chela_json_int(m, "migrate_to_chat_id", 0), thread;
    if (!chat || !from || chela_json_bool(from, "is_bot", false) || moved) {
        char name[ID];
        if (moved && chat)
            migrated_set(b->t, chat_name(b->t, chat, name), moved);
        return NULL;
    }
    struct arrival *a = tg_need(calloc(1, sizeof *a));
    a->b = b;
    a->update = chela_json_int(update, "update_id", 0);
    a->parts = chela_json_new_array();
    a->files = chela_json_new_array();
    a->button = json_object_get(button);
    a->reaction = json_object_get(reaction);
    a->edited = edited != NULL;
    chela_json_push(a->parts, json_object_get(m));
    chat_name(b->t, chat, a->chat);
    if (button) {
        const char *id = chela_json_string(button, "id", NULL);
        snprintf(a->event, sizeof a->event, "press-%.60s", id ? id : "");
    } else {
        event_name(chat, a->chat, chela_json_int(m, "message_id", 0), a->event, sizeof a->event);
    }
    thread = chela_json_bool(m, "is_topic_message", false)
                 ? chela_json_int(m, "message_thread_id", 0)
                 : 0;
    if (thread)
        snprintf(a->thread, sizeof a->thread, "%lld", (long long)thread);
    snprintf(a->sender, sizeof a->sender, "%lld", (long long)chela_json_int(from, "id", 0));
    json_object *replied = button ? NULL : chela_json_object(m, "reply_to_message");
    if (replied && !chela_json_has(replied, "forum_topic_created"))
        event_name(chat, a->chat, chela_json_int(replied, "message_id", 0), a->reply_to,
                   sizeof a->reply_to);
    if (!button && !reaction)
        list_files(a->files, m);
    return a;
}

/* The rest of an album belongs to its first message. */
static void take_album(struct batch *b, struct arrival *a)
{
    const char *id = chela_json_string(chela_json_at(a->parts, 0), "media_group_id", NULL);
    while (id && !a->edited && !a->button && b->at < chela_json_length(b->updates)) {
        json_object *m = chela_json_object(chela_json_at(b->updates, b->at), "message");
        const char *other = chela_json_string(m, "media_group_id", NULL);
        if (!other || strcmp(id, other) != 0)
            break;
        chela_json_push(a->parts, json_object_get(m));
        list_files(a->files, m);
        b->at++;
    }
}

/* Until one has to wait for its files, or the list is at its end. */
static void scan(struct batch *b)
{
    if (b->scanning)
        return; /* the loop below goes on */
    b->scanning = true;
    while (b->at < chela_json_length(b->updates)) {
        struct arrival *a = arrive(b, chela_json_at(b->updates, b->at++));
        if (!a)
            continue;
        take_album(b, a);
        b->waiting++;
        bool fetches = chela_json_length(a->files) > 0;
        if (fetches)
            b->scanning = false;
        go_on(a);
        if (fetches)
            return; /* it scans on itself, and b may be gone */
    }
    b->scanning = false;
    batch_over(b);
}

void inbound_take(struct telegram *t, json_object *updates, uint64_t call, batch_fn *fn)
{
    struct batch *b = tg_need(calloc(1, sizeof *b));
    b->t = t;
    b->updates = json_object_get(updates);
    b->call = call;
    b->fn = fn;
    b->why = tg_need(strdup(""));
    for (size_t i = 0; i < chela_json_length(updates); i++) {
        int64_t id = chela_json_int(chela_json_at(updates, i), "update_id", 0);
        if (id >= b->next)
            b->next = id + 1;
    }
    scan(b);
}
