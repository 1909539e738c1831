/*
 * Messages out: text as HTML, again as plain text where Telegram can't read that; files one by one,
 * pictures as an album; edits, reactions, typing. Called by the host, one at a time for each chat.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "telegram.h"

enum { CAPTION = 1024, ALBUM = 10, BUTTON_BYTES = 64, ROW = 3 };

struct file {
    char *name, *mime, *hash, *bytes;
    size_t n;
};

/* One call of the host's. */
struct op {
    struct telegram *t;
    uint64_t call;
    bool edit, plain, caption; /* caption: the text goes with the first file */
    char *chat, *thread, *reply_to, *message, *text;
    json_object *keyboard;
    struct file *files;
    size_t count, at, loaded; /* [at, loaded) have their bytes */
    int64_t first;
};

static void step(struct op *op);

static char *copy(struct chela_str s)
{
    return tg_format("%.*s", (int)s.n, s.n ? s.s : "");
}

static void op_free(struct op *op)
{
    for (size_t i = 0; i < op->count; i++) {
        free(op->files[i].name);
        free(op->files[i].mime);
        free(op->files[i].hash);
        free(op->files[i].bytes);
    }
    free(op->files);
    free(op->chat);
    free(op->thread);
    free(op->reply_to);
    free(op->message);
    free(op->text);
    json_object_put(op->keyboard);
    free(op);
}

static void op_end(struct op *op, uint32_t error, uint32_t flags, uint64_t retry_after,
                   const char *text)
{
    CHELA_ARGS(chela_done, d, 0);
    char id[32] = "";
    if (op->first)
        snprintf(id, sizeof id, "%lld", (long long)op->first);
    d.error = error;
    d.h.flags = flags | (error && op->first ? (uint32_t)CHELA_EFFECT : 0);
    d.retry_after_ms = retry_after;
    d.text = chela_s(error ? text : id);
    tg_end(op->t, op->call, &d);
    op_free(op);
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
    chela_json_put_int(body, "chat_id", strtoll(migrated_id(op->t, op->chat), NULL, 10));
    if (*op->thread && !op->edit)
        chela_json_put_int(body, "message_thread_id", strtoll(op->thread, NULL, 10));
}

static void put_reply(json_object *body, const struct op *op)
{
    int64_t id = message_id(op->reply_to);
    if (id <= 0 || op->first)
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
    char *out = tg_need(malloc(strlen(html) + 1)), *to = out;
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
    char *plain = op->plain ? unmarked(op->text) : NULL;
    chela_json_put_text(body, member, plain ? plain : op->text);
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
static bool repaired(struct op *op, const struct reply *r)
{
    int64_t moved = chela_json_int(r->parameters, "migrate_to_chat_id", 0);
    char now[32];
    snprintf(now, sizeof now, "%lld", (long long)moved);
    if (moved && strcmp(migrated_id(op->t, op->chat), now) != 0) {
        migrated_set(op->t, op->chat, moved);
        return true;
    }
    if (r->status == 400 && !op->plain && strstr(r->text, "can't parse entities")) {
        op->plain = true;
        return true;
    }
    if (r->status == 400 && *op->thread && strstr(r->text, "message thread not found")) {
        *op->thread = '\0';
        return true;
    }
    return false;
}

static bool took(struct op *op, const struct reply *r)
{
    if (r->error != CHELA_OK && repaired(op, r)) {
        step(op);
        return false;
    }
    if (r->error != CHELA_OK) {
        uint32_t error = r->status == 403 ? CHELA_E_DENIED : r->error;
        op_end(op, error, r->flags, r->retry_after_ms, r->text);
        return false;
    }
    bool album = json_object_is_type(r->result, json_type_array);
    if (!op->first)
        op->first =
            chela_json_int(album ? chela_json_at(r->result, 0) : r->result, "message_id", 0);
    return true;
}

static void text_sent(struct telegram *t, void *owner, const struct reply *r)
{
    struct op *op = owner;
    (void)t;
    if (!took(op, r))
        return;
    *op->text = '\0';
    step(op);
}

static void files_sent(struct telegram *t, void *owner, const struct reply *r)
{
    struct op *op = owner;
    (void)t;
    if (!took(op, r))
        return;
    for (; op->at < op->loaded; op->at++) {
        free(op->files[op->at].bytes);
        op->files[op->at].bytes = NULL;
    }
    if (op->caption)
        *op->text = '\0';
    step(op);
}

static void edited(struct telegram *t, void *owner, const struct reply *r)
{
    struct op *op = owner;
    (void)t;
    struct reply same = *r;
    if (r->status == 400 && strstr(r->text, "message is not modified"))
        same.error = CHELA_OK; /* the same edit twice is one */
    op->first = same.error == CHELA_OK ? message_id(op->message) : 0;
    if (took(op, &same))
        op_end(op, CHELA_OK, 0, 0, "");
}

/* ---- text ---- */

static void send_text(struct op *op)
{
    json_object *body = chela_json_new_object();
    put_chat(body, op);
    if (op->edit)
        chela_json_put_int(body, "message_id", message_id(op->message));
    put_text(body, op, "text");
    if (!op->edit)
        put_reply(body, op);
    if (op->keyboard && op->count == 0)
        chela_json_put(body, "reply_markup", json_object_get(op->keyboard));
    api_call(op->t, op->call, op->edit ? "editMessageText" : "sendMessage", body, 0,
             op->edit ? edited : text_sent, op);
}

/* ---- files ---- */

struct form {
    FILE *out;
    char *bytes, boundary[48];
    size_t n;
};

static void form_open(struct form *f)
{
    unsigned char noise[16];
    if (getrandom(noise, sizeof noise, 0) != (ssize_t)sizeof noise)
        abort();
    size_t at = (size_t)snprintf(f->boundary, sizeof f->boundary, "chela-");
    for (size_t i = 0; i < sizeof noise; i++)
        at += (size_t)snprintf(f->boundary + at, sizeof f->boundary - at, "%02x", noise[i]);
    f->out = tg_need(open_memstream(&f->bytes, &f->n));
}

static void form_fields(struct form *f, json_object *fields)
{
    json_object_object_foreach(fields, name, value)
    {
        const char *text = chela_json_as_string(value, NULL);
        fprintf(f->out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n",
                f->boundary, name, text ? text : chela_json_text(value, NULL));
    }
}

static void form_file(struct form *f, const char *field, const struct file *file)
{
    fprintf(f->out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"", f->boundary,
            field);
    for (const char *p = file->name; *p; p++) { /* as browsers do it */
        if (*p == '"' || *p == '\r' || *p == '\n')
            fprintf(f->out, "%%%02X", (unsigned)*p);
        else
            fputc(*p, f->out);
    }
    fprintf(f->out, "\"\r\nContent-Type: %s\r\n\r\n", file->mime);
    fwrite(file->bytes, 1, file->n, f->out);
    fputs("\r\n", f->out);
}

static bool is_picture(const struct file *f)
{
    return strcmp(f->mime, "image/jpeg") == 0 || strcmp(f->mime, "image/png") == 0 ||
           strcmp(f->mime, "image/webp") == 0;
}

static const char *kind_of(const struct file *f)
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
    size_t n = op->at;
    while (n < op->count && n - op->at < ALBUM && is_picture(&op->files[n]))
        n++;
    return n - op->at > 1 ? n : op->at + 1;
}

static void album_fields(const struct op *op, json_object *fields)
{
    json_object *list = chela_json_put_array(fields, "media");
    for (size_t i = op->at; i < op->loaded; i++) {
        char name[32];
        json_object *o = chela_json_push_object(list);
        snprintf(name, sizeof name, "attach://file%u", (unsigned)i);
        chela_json_put_text(o, "type", "photo");
        chela_json_put_text(o, "media", name);
        if (i == op->at && op->caption && *op->text)
            put_text(o, op, "caption");
    }
}

static void send_files(struct op *op)
{
    bool album = op->loaded - op->at > 1;
    struct form f;
    json_object *fields = chela_json_new_object();
    const char *kind = album ? "MediaGroup" : kind_of(&op->files[op->at]);
    char *method = tg_format("send%s", kind), field[32];
    put_chat(fields, op);
    put_reply(fields, op);
    if (album)
        album_fields(op, fields);
    else if (op->caption && *op->text)
        put_text(fields, op, "caption");
    if (op->keyboard && !album && op->loaded == op->count)
        chela_json_put(fields, "reply_markup", json_object_get(op->keyboard));
    form_open(&f);
    form_fields(&f, fields);
    for (size_t i = op->at; i < op->loaded; i++) {
        if (album)
            snprintf(field, sizeof field, "file%u", (unsigned)i);
        else
            snprintf(field, sizeof field, "%c%s", kind[0] | 0x20, kind + 1);
        form_file(&f, field, &op->files[i]);
    }
    fprintf(f.out, "--%s--\r\n", f.boundary);
    fclose(f.out);
    tg_need(f.bytes);
    char *type = tg_format("multipart/form-data; boundary=%s", f.boundary);
    api_post(op->t, op->call, method, type, chela_sn(f.bytes, f.n), 0, files_sent, op);
    free(type);
    free(f.bytes);
    free(method);
    json_object_put(fields);
}

static void file_read(struct telegram *t, void *owner, const struct chela_done *d)
{
    struct op *op = owner;
    (void)t;
    if (d->error != CHELA_OK) {
        op_end(op, d->error, d->h.flags & CHELA_RETRY, 0, "a file to send is not in the store");
        return;
    }
    struct file *f = &op->files[op->loaded];
    f->n = (size_t)d->text.n;
    f->bytes = tg_need(malloc(f->n + 1));
    memcpy(f->bytes, d->text.s ? d->text.s : "", f->n);
    op->loaded++;
    step(op);
}

static void read_file(struct op *op)
{
    struct telegram *t = op->t;
    CHELA_ARGS(chela_key, a, t->in->host->local->new_call(t->in));
    a.h.tag = tg_pending(t, file_read, op);
    a.parent = op->call;
    a.key = chela_s(op->files[op->loaded].hash);
    t->in->host->kv->blob_get(t->in, &a);
}

/* ---- a call ---- */

static void step(struct op *op)
{
    if (op->t->closing)
        op_end(op, CHELA_E_CANCELLED, 0, 0, "the channel closes");
    else if (op->edit || (*op->text && !op->caption))
        send_text(op);
    else if (op->at == op->count)
        op_end(op, CHELA_OK, 0, 0, "");
    else if (op->loaded < shipment(op))
        read_file(op);
    else
        send_files(op);
}

static struct op *op_open(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = tg_need(calloc(1, sizeof *op));
    op->t = in->self;
    op->call = s->h.call;
    op->chat = copy(s->chat);
    op->thread = copy(s->thread);
    op->reply_to = copy(s->reply_to);
    op->message = copy(s->message);
    op->text = copy(s->text);
    op->keyboard = keyboard_of(s->buttons);
    return op;
}

static void add_files(struct op *op, struct chela_pairs media)
{
    op->files = tg_need(calloc((size_t)media.n + 1, sizeof *op->files));
    for (uint64_t i = 0; i < media.n; i++) {
        json_object *o = NULL;
        chela_json_parse(media.v[i].value.s, (size_t)media.v[i].value.n, NULL, &o, NULL);
        const char *hash = chela_json_string(o, "hash", NULL),
                   *mime = chela_json_string(o, "mime", NULL);
        if (hash) {
            struct file *f = &op->files[op->count++];
            f->name = copy(media.v[i].name.n ? media.v[i].name : chela_s("file"));
            f->hash = tg_need(strdup(hash));
            bool sound = mime && !strpbrk(mime, "\r\n");
            f->mime = tg_need(strdup(sound ? mime : "application/octet-stream"));
        }
        json_object_put(o);
    }
    size_t n = strlen(op->text);
    op->caption = op->count && inbound_utf16(op->text, n, CAPTION) == n;
}

void outbound_send(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = op_open(in, s);
    add_files(op, s->media);
    step(op);
}

void outbound_edit(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = op_open(in, s);
    op->edit = true;
    step(op);
}

static void reacted(struct telegram *t, void *owner, const struct reply *r)
{
    struct op *op = owner;
    (void)t;
    op_end(op, r->error, r->flags, r->retry_after_ms, r->text);
}

void outbound_react(struct chela_inst *in, const struct chela_send *s)
{
    struct op *op = op_open(in, s);
    json_object *body = chela_json_new_object();
    op->edit = true; /* no thread */
    put_chat(body, op);
    chela_json_put_int(body, "message_id", message_id(op->message));
    json_object *list = chela_json_put_array(body, "reaction");
    if (*op->text) {
        json_object *o = chela_json_push_object(list);
        chela_json_put_text(o, "type", "emoji");
        chela_json_put_text(o, "emoji", op->text);
    }
    api_call(op->t, op->call, "setMessageReaction", body, 0, reacted, op);
}

static void typed(struct telegram *t, void *owner, const struct reply *r)
{
    (void)t;
    (void)r; /* it is only an indicator */
    op_free(owner);
}

/* It ends by itself after 5 s, or with the message. */
void outbound_typing(struct chela_inst *in, const struct chela_send *s)
{
    if (!chela_str_is(s->text, "on"))
        return;
    struct op *op = op_open(in, s);
    json_object *body = chela_json_new_object();
    put_chat(body, op);
    chela_json_put_text(body, "action", "typing");
    api_call(op->t, 0, "sendChatAction", body, 0, typed, op);
}

/* ---- media by reference ---- */

struct wanted {
    uint64_t call;
};

static void wanted_end(struct telegram *t, struct wanted *w, uint32_t error, const char *text,
                       size_t n)
{
    CHELA_ARGS(chela_done, d, 0);
    d.error = error;
    d.h.flags = error ? 0 : (uint32_t)CHELA_BLOB;
    d.text = chela_sn(text, n);
    tg_end(t, w->call, &d);
    free(w);
}

static void wanted_came(struct telegram *t, void *owner, const struct chela_done *d)
{
    wanted_end(t, owner, d->error, d->text.s ? d->text.s : "", (size_t)d->text.n);
}

static void wanted_named(struct telegram *t, void *owner, const struct reply *r)
{
    struct wanted *w = owner;
    const char *path = chela_json_string(r->result, "file_path", NULL);
    if (r->error == CHELA_OK && path && !strstr(path, ".."))
        api_file(t, w->call, path, wanted_came, w);
    else
        wanted_end(t, w, r->error ? r->error : CHELA_E_PROTOCOL, r->text, strlen(r->text));
}

void outbound_fetch(struct chela_inst *in, const struct chela_fetch *f)
{
    struct wanted *w = tg_need(malloc(sizeof *w));
    json_object *body = chela_json_new_object();
    w->call = f->h.call;
    chela_json_put_string(body, "file_id", f->reference.s, (size_t)f->reference.n);
    api_call(in->self, f->h.call, "getFile", body, 0, wanted_named, w);
}
