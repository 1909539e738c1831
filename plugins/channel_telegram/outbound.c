/*
 * Messages out: text as HTML, again as plain text where Telegram can't read that; files one by one,
 * pictures as an album; edits, reactions, typing. Called by the host, one at a time for each chat.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telegram.h"

enum { CAPTION = 1024, ALBUM = 10, BUTTON_BYTES = 64, ROW = 3 };

/* One call of the host's. */
struct op {
    struct chela_outgoing o;
    bool edit, plain, caption; /* caption: the text goes with the first file */
};

static void step(struct chela_outgoing *o);

static struct telegram *of(const struct op *op)
{
    return (struct telegram *)op->o.p;
}

/* ---- parts of a request ---- */

/* Ids of messages that the host has from us may carry the chat's id in front. */
static int64_t message_id(const char *s)
{
    const char *colon = strrchr(s, ':');
    char *end;
    long long id = strtoll(colon ? colon + 1 : s, &end, 10);
    return *end ? 0 : id;
}

static void put_chat(json_object *body, const struct op *op)
{
    chela_json_put_int(body, "chat_id", strtoll(migrated_id(of(op), op->o.chat), NULL, 10));
    if (*op->o.thread && !op->edit)
        chela_json_put_int(body, "message_thread_id", strtoll(op->o.thread, NULL, 10));
}

static void put_reply(json_object *body, const struct op *op)
{
    int64_t id = message_id(op->o.reply_to);
    if (id <= 0 || op->o.id)
        return;
    json_object *o = chela_json_put_object(body, "reply_parameters");
    chela_json_put_int(o, "message_id", id);
    chela_json_put_bool(o, "allow_sending_without_reply", true);
}

/* HTML of the dialect without its marks. Free it. */
static char *unmarked(const char *html)
{
    static const struct {
        const char *name;
        char c;
    } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
    char *out = chela_need(malloc(strlen(html) + 1)), *to = out;
    for (const char *p = html; *p;) {
        const char *end = *p == '<' ? strchr(p, '>') : NULL;
        size_t i = 0;
        if (end) {
            p = end + 1;
            continue;
        }
        while (i < 4 && strncmp(p, names[i].name, strlen(names[i].name)) != 0)
            i++;
        *to++ = i < 4 ? names[i].c : *p;
        p += i < 4 ? strlen(names[i].name) : 1;
    }
    *to = '\0';
    return out;
}

static void put_text(json_object *body, const struct op *op, const char *member)
{
    char *plain = op->plain ? unmarked(op->o.text) : NULL;
    chela_json_put_text(body, member, plain ? plain : op->o.text);
    if (!plain)
        chela_json_put_text(body, "parse_mode", "HTML");
    free(plain);
}

static json_object *keyboard_of(struct chela_pairs buttons)
{
    if (buttons.n == 0)
        return NULL;
    json_object *o = chela_json_new_object(), *rows = chela_json_put_array(o, "inline_keyboard"),
                *row = NULL;
    for (uint64_t i = 0; i < buttons.n; i++) {
        const struct chela_pair *b = &buttons.v[i];
        if (b->value.n == 0 || b->value.n > BUTTON_BYTES || b->name.n == 0)
            continue; /* Telegram takes no more; the text says how to answer */
        if (!row || chela_json_length(row) == ROW) {
            row = chela_json_new_array();
            chela_json_push(rows, row);
        }
        json_object *button = chela_json_push_object(row);
        chela_json_put_string(button, "text", b->name.s, (size_t)b->name.n);
        chela_json_put_string(button, "callback_data", b->value.s, (size_t)b->value.n);
    }
    return o;
}

/* ---- what comes back ---- */

/* Repairs what the answer says how to repair; true: the request goes out again. */
static bool repaired(struct op *op, const struct chela_reply *r)
{
    int64_t moved = chela_json_int(api_parameters(r), "migrate_to_chat_id", 0);
    char now[32];
    snprintf(now, sizeof now, "%lld", (long long)moved);
    if (moved && strcmp(migrated_id(of(op), op->o.chat), now) != 0) {
        migrated_set(of(op), op->o.chat, moved);
        return true;
    }
    if (r->status == 400 && !op->plain && strstr(r->text, "can't parse entities")) {
        op->plain = true;
        return true;
    }
    if (r->status == 400 && *op->o.thread && strstr(r->text, "message thread not found")) {
        *op->o.thread = '\0';
        return true;
    }
    return false;
}

static bool took(struct op *op, const struct chela_reply *r)
{
    json_object *result = chela_json_get(r->body, "result");
    if (r->error != CHELA_OK && repaired(op, r)) {
        step(&op->o);
        return false;
    }
    if (r->error != CHELA_OK) {
        struct chela_reply own = *r;
        own.error = r->status == 403 ? CHELA_E_DENIED : r->error;
        chela_outgoing_fail(&op->o, &own);
        return false;
    }
    if (json_object_is_type(result, json_type_array)) /* an album */
        result = chela_json_at(result, 0);
    if (!op->o.id)
        op->o.id = chela_format("%lld", (long long)chela_json_int(result, "message_id", 0));
    return true;
}

static void text_sent(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct op *op = owner;
    (void)p;
    if (!took(op, r))
        return;
    *op->o.text = '\0';
    step(&op->o);
}

static void files_sent(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct op *op = owner;
    (void)p;
    if (!took(op, r))
        return;
    chela_outgoing_sent_files(&op->o);
    if (op->caption)
        *op->o.text = '\0';
    step(&op->o);
}

static void edited(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct op *op = owner;
    struct chela_reply same = *r;
    (void)p;
    if (r->status == 400 && strstr(r->text, "message is not modified"))
        same.error = CHELA_OK; /* the same edit twice is one */
    if (same.error == CHELA_OK)
        op->o.id = chela_format("%lld", (long long)message_id(op->o.message));
    if (took(op, &same))
        chela_outgoing_end(&op->o, CHELA_OK, 0, 0, "");
}

/* ---- text ---- */

static void send_text(struct op *op)
{
    json_object *body = chela_json_new_object();
    put_chat(body, op);
    if (op->edit)
        chela_json_put_int(body, "message_id", message_id(op->o.message));
    put_text(body, op, "text");
    if (!op->edit)
        put_reply(body, op);
    if (op->o.keyboard && op->o.count == 0)
        chela_json_put(body, "reply_markup", json_object_get(op->o.keyboard));
    api_call(of(op), op->o.call, op->edit ? "editMessageText" : "sendMessage", body, 0,
             op->edit ? edited : text_sent, op);
}

/* ---- files ---- */

static bool is_picture(const struct chela_file *f)
{
    return strcmp(f->mime, "image/jpeg") == 0 || strcmp(f->mime, "image/png") == 0 ||
           strcmp(f->mime, "image/webp") == 0;
}

static const char *kind_of(const struct chela_file *f)
{
    if (is_picture(f))
        return "Photo";
    if (strcmp(f->mime, "audio/ogg") == 0)
        return "Voice";
    if (strcmp(f->mime, "audio/mpeg") == 0 || strcmp(f->mime, "audio/mp4") == 0)
        return "Audio";
    return strcmp(f->mime, "video/mp4") == 0 ? "Video" : "Document";
}

/* How many of the files go out together: pictures as an album. */
static size_t shipment(const struct op *op)
{
    size_t n = op->o.at;
    while (n < op->o.count && n - op->o.at < ALBUM && is_picture(&op->o.files[n]))
        n++;
    return n - op->o.at > 1 ? n : op->o.at + 1;
}

static void album_fields(const struct op *op, json_object *fields)
{
    json_object *list = chela_json_put_array(fields, "media");
    for (size_t i = op->o.at; i < op->o.loaded; i++) {
        char name[32];
        json_object *o = chela_json_push_object(list);
        snprintf(name, sizeof name, "attach://file%u", (unsigned)i);
        chela_json_put_text(o, "type", "photo");
        chela_json_put_text(o, "media", name);
        if (i == op->o.at && op->caption && *op->o.text)
            put_text(o, op, "caption");
    }
}

static void send_files(struct op *op)
{
    bool album = op->o.loaded - op->o.at > 1;
    struct chela_form f;
    json_object *fields = chela_json_new_object();
    const char *kind = album ? "MediaGroup" : kind_of(&op->o.files[op->o.at]);
    char *method = chela_format("send%s", kind), field[32];
    put_chat(fields, op);
    put_reply(fields, op);
    if (album)
        album_fields(op, fields);
    else if (op->caption && *op->o.text)
        put_text(fields, op, "caption");
    if (op->o.keyboard && !album && op->o.loaded == op->o.count)
        chela_json_put(fields, "reply_markup", json_object_get(op->o.keyboard));
    chela_form_open(&f);
    chela_form_fields(&f, fields);
    for (size_t i = op->o.at; i < op->o.loaded; i++) {
        if (album)
            snprintf(field, sizeof field, "file%u", (unsigned)i);
        else
            snprintf(field, sizeof field, "%c%s", kind[0] | 0x20, kind + 1);
        chela_form_file(&f, field, &op->o.files[i]);
    }
    chela_form_end(&f);
    api_post(of(op), op->o.call, method, f.type, chela_sn(f.bytes, f.n), 0, files_sent, op);
    free(f.bytes);
    free(method);
    json_object_put(fields);
}

/* ---- a call ---- */

static void step(struct chela_outgoing *o)
{
    struct op *op = (struct op *)o;
    if (op->edit || (*o->text && !op->caption))
        send_text(op);
    else if (o->at == o->count)
        chela_outgoing_end(o, CHELA_OK, 0, 0, "");
    else if (o->loaded < shipment(op))
        chela_outgoing_read(o);
    else
        send_files(op);
}

static struct op *op_open(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = chela_outgoing_open(in, s, sizeof *op, step);
    op->o.keyboard = keyboard_of(s->buttons);
    return op;
}

void outbound_send(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = op_open(in, s);
    size_t n = strlen(op->o.text);
    op->caption = op->o.count && chela_utf16_bytes(op->o.text, n, CAPTION) == n;
    step(&op->o);
}

void outbound_edit(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = op_open(in, s);
    op->edit = true;
    step(&op->o);
}

static void reacted(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    (void)p;
    chela_outgoing_end(owner, r->error, r->flags, r->retry_after_ms, r->text);
}

void outbound_react(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = op_open(in, s);
    json_object *body = chela_json_new_object();
    op->edit = true; /* no thread */
    put_chat(body, op);
    chela_json_put_int(body, "message_id", message_id(op->o.message));
    json_object *list = chela_json_put_array(body, "reaction");
    if (*op->o.text) {
        json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "type", "emoji");
        chela_json_put_text(o, "emoji", op->o.text);
    }
    api_call(of(op), op->o.call, "setMessageReaction", body, 0, reacted, op);
}

static void typed(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    (void)p;
    (void)owner;
    (void)r; /* it is only an indicator */
}

/* It ends by itself after 5 s, or with the message. */
void outbound_typing(struct chela_inst *in, const struct chela_send *s)
{
    struct telegram *t = in->self;
    if (!chela_str_is(s->text, "on"))
        return;
    json_object *body = chela_json_new_object();
    chela_json_put_int(body, "chat_id", strtoll(migrated_id(t, s->chat.s), NULL, 10));
    if (s->thread.n)
        chela_json_put_int(body, "message_thread_id", strtoll(s->thread.s, NULL, 10));
    chela_json_put_text(body, "action", "typing");
    api_call(t, 0, "sendChatAction", body, 0, typed, NULL);
}

/* ---- media by reference ---- */

static void wanted_named(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    uint64_t *call = owner;
    if (!api_file((struct telegram *)p, *call, r, chela_fetch_end, call))
        chela_fetch_fail(p, call, r);
}

void outbound_fetch(struct chela_inst *in, const struct chela_fetch *f)
{
    json_object *body = chela_json_new_object();
    chela_json_put_string(body, "file_id", f->reference.s, (size_t)f->reference.n);
    api_call(in->self, f->h.call, "getFile", body, 0, wanted_named, chela_fetch_open(f));
}
