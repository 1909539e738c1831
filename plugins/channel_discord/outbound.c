/*
 * Messages out: text with its files in one request, more than ten of them in several; edits,
 * typing; attachments by reference. Called by the host, one at a time for each chat. A nonce made
 * of the host's key lets Discord drop a message that it has already.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/menu.h"

#include "discord.h"

#define USER "user:" /* in front of a person's id, where a chat's would stand */

enum { FILES = 10, ROW = 5, ROWS = 5, LABEL = 80, CUSTOM_ID = 100 };

/* A message to a thread goes to the thread's own channel. */
static char *path_of(const struct chela_outgoing *o, const char *rest)
{
    return chela_format("/channels/%s/messages%s", *o->thread ? o->thread : o->chat, rest);
}

static json_object *begin_row(json_object *rows)
{
    json_object *o = chela_json_push_object(rows);
    chela_json_put_int(o, "type", 1); /* a row */
    return chela_json_put_array(o, "components");
}

static void put_button(json_object *o, const struct chela_pair *b)
{
    chela_json_put_int(o, "type", 2); /* a button */
    chela_json_put_int(o, "style", 2);
    chela_json_put_string(o, "label", b->name.s,
                          chela_utf16_bytes(b->name.s, (size_t)b->name.n, LABEL));
    chela_json_put_string(o, "custom_id", b->value.s, (size_t)b->value.n);
}

static void sent(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    const char *id = chela_json_string(r->body, "id", NULL);
    (void)p;
    if (r->error != CHELA_OK || !id)
        chela_outgoing_fail(owner, r);
    else
        chela_outgoing_went(owner, id);
}

/* ---- requests ---- */

static json_object *body_of(struct chela_outgoing *o)
{
    json_object *body = chela_json_new_object();
    if (*o->text)
        chela_json_put_text(body, "content", o->text);
    /* what a model writes rings nobody's bell */
    chela_json_put_array(chela_json_put_object(body, "allowed_mentions"), "parse");
    if (o->keyboard && o->loaded == o->count)
        chela_json_put(body, "components", json_object_get(o->keyboard));
    return body;
}

static void put_new(struct chela_outgoing *o, json_object *body)
{
    char nonce[25], *key = chela_format("%s.%u", o->key, (unsigned)o->at);
    if (*o->key) {
        chela_fingerprint(key, nonce);
        chela_json_put_text(body, "nonce", nonce);
        chela_json_put_bool(body, "enforce_nonce", true);
    }
    if (*o->reply_to && !o->id && strspn(o->reply_to, "0123456789") == strlen(o->reply_to)) {
        json_object *reference = chela_json_put_object(body, "message_reference");
        chela_json_put_text(reference, "message_id", o->reply_to);
        chela_json_put_bool(reference, "fail_if_not_exists", false);
    }
    free(key);
}

static void send_form(struct chela_outgoing *o, const char *path, json_object *body)
{
    struct chela_form f;
    json_object *list = chela_json_put_array(body, "attachments");
    for (size_t i = o->at; i < o->loaded; i++) {
        char id[24];
        json_object *file = chela_json_push_object(list);
        snprintf(id, sizeof id, "%zu", i - o->at);
        chela_json_put_text(file, "id", id);
        chela_json_put_text(file, "filename", o->files[i].name);
    }
    chela_form_open(&f);
    chela_form_field(&f, "payload_json", "application/json", chela_json_text(body, NULL));
    chela_outgoing_files(o, &f, "files[", "]");
    chela_form_end(&f);
    struct chela_api_call c = {.parent = o->call, .method = "POST", .path = path, .form = &f};
    rest_send((struct discord *)o->p, c, sent, o);
    json_object_put(body);
}

static void chat_opened(struct chela_peer *p, void *owner, const struct chela_reply *r)
{
    struct chela_outgoing *o = owner;
    const char *id = chela_json_string(r->body, "id", NULL);
    (void)p;
    if (r->error != CHELA_OK || !id) {
        chela_outgoing_fail(o, r);
        return;
    }
    free(o->chat);
    o->chat = chela_need(strdup(id));
    o->step(o);
}

/* A person's direct chat, which Discord opens or knows already. */
static void open_chat(struct chela_outgoing *o, const char *user)
{
    json_object *body = chela_json_new_object();
    chela_json_put_text(body, "recipient_id", user);
    rest_call((struct discord *)o->p, o->call, "POST", "/users/@me/channels", body, chat_opened, o);
}

static void step(struct chela_outgoing *o)
{
    if (strncmp(o->chat, USER, strlen(USER)) == 0) {
        open_chat(o, o->chat + strlen(USER));
        return;
    }
    size_t most = o->at + FILES < o->count ? o->at + FILES : o->count;
    if (!*o->text && o->at == o->count) {
        chela_outgoing_end(o, CHELA_OK, 0, 0, "");
        return;
    }
    if (o->loaded < most) {
        chela_outgoing_read(o);
        return;
    }
    char *path = path_of(o, "");
    json_object *body = body_of(o);
    put_new(o, body);
    if (o->loaded > o->at)
        send_form(o, path, body);
    else
        rest_call((struct discord *)o->p, o->call, "POST", path, body, sent, o);
    free(path);
}

static struct chela_outgoing *open(struct chela_inst *in, const struct chela_send *s)
{
    static const struct chela_keyboard keyboard = {CUSTOM_ID, ROW, ROWS, begin_row, put_button};
    struct chela_outgoing *o = chela_outgoing_open(in, s, sizeof *o, step);
    o->keyboard = chela_keyboard_rows(s->buttons, &keyboard);
    return o;
}

void outbound_send(struct chela_inst *in, const struct chela_send *s)
{
    step(open(in, s));
}

void outbound_edit(struct chela_inst *in, const struct chela_send *s)
{
    struct chela_outgoing *o = open(in, s);
    char *rest = chela_format("/%s", o->message), *path = path_of(o, rest);
    rest_call(in->self, o->call, "PATCH", path, body_of(o), chela_outgoing_changed, o);
    free(path);
    free(rest);
}

/* It ends by itself after 10 s, or with the message. */
void outbound_typing(struct chela_inst *in, const struct chela_send *s)
{
    if (!chela_str_is(s->text, "on"))
        return;
    struct chela_str channel = s->thread.n ? s->thread : s->chat;
    char *path = chela_format("/channels/%.*s/typing", (int)channel.n, channel.s);
    rest_call(in->self, 0, "POST", path, NULL, chela_api_unneeded, NULL);
    free(path);
}
