/* Discord's gateway (see fake_discord.h): identify, resume with what was missed, heartbeats, close
 * codes. Never asks for the token's second use: one bot. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/json.h"
#include "tests/fakes/fake_discord.h"
#include "tests/fakes/fake_socket.h"

enum { SESSIONS = 64, SOCKETS = 64, PAYLOAD = 4096, INTENT_BITS = 27 };

static struct session {
    char id[24];
    json_object *events; /* each with its number, from 1 */
    struct fake_socket *socket;
} sessions[SESSIONS];
static size_t session_count;
static struct fake_socket *sockets[SOCKETS];
static bool mute, refuse_resume, refuse_intents;
static unsigned heartbeat_ms;
static char url[64];

static void send_json(struct fake_socket *s, json_object *o)
{
    size_t n;
    const char *text = chela_json_text(o, &n);
    fake_socket_send(s, text, n);
}

static void send_op(struct fake_socket *s, int op, json_object *data)
{
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "op", op);
    chela_json_put(o, "d", data);
    chela_json_put(o, "s", NULL);
    chela_json_put(o, "t", NULL);
    send_json(s, o);
    json_object_put(o);
}

static void dispatch(struct session *x, const char *type, json_object *data)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "t", type);
    chela_json_put_int(o, "s", (int64_t)chela_json_length(x->events) + 1);
    chela_json_put_int(o, "op", 0);
    chela_json_put(o, "d", json_object_get(data));
    chela_json_push(x->events, o);
    if (x->socket)
        send_json(x->socket, o);
}

void fake_gateway_dispatch(const char *type, json_object *data)
{
    for (size_t i = 0; i < session_count; i++)
        dispatch(&sessions[i], type, data);
}

/* ---- what clients may send ---- */

static bool only(json_object *o, const char *const *names, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        known += chela_json_has(o, names[i]);
    return known == chela_json_length(o);
}

static const char *check_identify(json_object *d)
{
    static const char *const names[] = {"token",           "properties", "intents", "compress",
                                        "large_threshold", "shard",      "presence"};
    json_object *p = chela_json_object(d, "properties");
    int64_t intents = chela_json_int(d, "intents", -1);
    if (!chela_json_string(d, "token", NULL) || intents < 0 || intents >= 1 << INTENT_BITS)
        return "token and intents are required";
    if (!chela_json_string(p, "os", NULL) || !chela_json_string(p, "browser", NULL) ||
        !chela_json_string(p, "device", NULL))
        return "properties has os, browser and device";
    return only(d, names, 7) ? NULL : "a member that identify does not have";
}

static const char *check_resume(json_object *d)
{
    static const char *const names[] = {"token", "session_id", "seq"};
    if (!chela_json_string(d, "token", NULL) || !chela_json_string(d, "session_id", NULL) ||
        chela_json_int(d, "seq", -1) < 0)
        return "token, session_id and seq are required";
    return only(d, names, 3) ? NULL : "a member that resume does not have";
}

/* ---- sessions ---- */

static json_object *channel(const char *id, int type, const char *name, const char *parent)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "id", id);
    chela_json_put_int(o, "type", type);
    chela_json_put_text(o, "guild_id", "1");
    chela_json_put_text(o, "name", name);
    chela_json_put_text(o, "parent_id", parent);
    return o;
}

static void put_user(json_object *o)
{
    chela_json_put_text(o, "id", FAKE_ME);
    chela_json_put_text(o, "username", "chela");
    chela_json_put_text(o, "discriminator", "0");
    chela_json_put(o, "global_name", NULL);
    chela_json_put(o, "avatar", NULL);
    chela_json_put_bool(o, "bot", true);
}

static void greet(struct session *x)
{
    json_object *d = chela_json_new_object(), *application, *guild = chela_json_new_object(), *list;
    chela_json_put_int(d, "v", 10);
    chela_json_put_text(d, "session_id", x->id);
    chela_json_put_text(d, "resume_gateway_url", url);
    put_user(chela_json_put_object(d, "user"));
    application = chela_json_put_object(d, "application");
    chela_json_put_text(application, "id", "4343");
    chela_json_put_int(application, "flags", 0);
    json_object *guilds = chela_json_put_array(d, "guilds"), *one = chela_json_push_object(guilds);
    chela_json_put_text(one, "id", "1");
    chela_json_put_bool(one, "unavailable", true);
    dispatch(x, "READY", d);
    chela_json_put_text(guild, "id", "1");
    chela_json_put_text(guild, "name", "Club");
    chela_json_put_bool(guild, "unavailable", false);
    chela_json_put_text(guild, "owner_id", "7");
    chela_json_put_int(guild, "member_count", 2);
    list = chela_json_put_array(guild, "channels");
    chela_json_push(list, channel("50", 0, "general", NULL));
    chela_json_push(list, channel("51", 0, "other", NULL));
    list = chela_json_put_array(guild, "threads");
    json_object *thread = channel("55", 11, "a thread", "50"),
                *meta = chela_json_put_object(thread, "thread_metadata");
    chela_json_put_bool(meta, "archived", false);
    chela_json_push(list, thread);
    static const char *const empty[] = {"members",   "roles",    "emojis",          "stickers",
                                        "presences", "features", "stage_instances", "voice_states"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        chela_json_put_array(guild, empty[i]);
    dispatch(x, "GUILD_CREATE", guild);
    json_object_put(d);
    json_object_put(guild);
}

static void identify(struct fake_socket *s, json_object *d)
{
    const char *token = chela_json_string(d, "token", NULL);
    if (!token || strcmp(token, fake_token) != 0) {
        fake_socket_close(s, 4004);
    } else if (refuse_intents) {
        fake_socket_close(s, 4014);
    } else if (session_count < SESSIONS) {
        struct session *x = &sessions[session_count++];
        snprintf(x->id, sizeof x->id, "session-%u", (unsigned)session_count);
        x->events = chela_json_new_array();
        x->socket = s;
        fake_socket_set_owner(s, x);
        greet(x);
    }
}

static void resume(struct fake_socket *s, json_object *d)
{
    const char *id = chela_json_string(d, "session_id", NULL);
    int64_t seq = chela_json_int(d, "seq", 0);
    size_t i = 0;
    while (i < session_count && (!id || strcmp(sessions[i].id, id) != 0))
        i++;
    if (i == session_count || refuse_resume ||
        seq > (int64_t)chela_json_length(sessions[i].events)) {
        send_op(s, 9, json_object_new_boolean(0));
        return;
    }
    struct session *x = &sessions[i];
    x->socket = s;
    fake_socket_set_owner(s, x);
    for (size_t k = (size_t)seq; k < chela_json_length(x->events); k++)
        send_json(s, chela_json_at(x->events, k));
    json_object *nothing = chela_json_new_object();
    dispatch(x, "RESUMED", nothing);
    json_object_put(nothing);
}

/* ---- a connection ---- */

static void opened(struct fake_socket *s, const char *path)
{
    fake_lock();
    size_t i = 0;
    while (i < SOCKETS && sockets[i])
        i++;
    if (i == SOCKETS)
        abort();
    sockets[i] = s;
    bool right = strstr(path, "v=10") && strstr(path, "encoding=json");
    fake_note("OPEN", path, NULL, NULL, right ? NULL : "it must say v=10 and encoding=json");
    json_object *d = chela_json_new_object();
    chela_json_put_int(d, "heartbeat_interval", heartbeat_ms);
    send_op(s, 10, d);
    fake_unlock();
}

static void received(struct fake_socket *s, const char *text, size_t n)
{
    json_object *o = NULL, *d;
    const char *name = "UNKNOWN", *problem = "no such operation";
    fake_lock();
    chela_json_parse(text, n, NULL, &o, NULL);
    d = chela_json_object(o, "d");
    int64_t op = chela_json_int(o, "op", -1);
    if (op == 1) {
        name = "HEARTBEAT";
        bool number = json_object_is_type(chela_json_get(o, "d"), json_type_int);
        problem = number || !chela_json_get(o, "d") ? NULL : "d is a number or null";
        if (!mute)
            send_op(s, 11, NULL);
    } else if (op == 2) {
        name = "IDENTIFY";
        problem = check_identify(d);
        identify(s, d);
    } else if (op == 6) {
        name = "RESUME";
        problem = check_resume(d);
        resume(s, d);
    }
    if (n > PAYLOAD)
        problem = "longer than 4096 bytes";
    fake_note(name, "", chela_json_get(o, "d"), NULL, problem);
    json_object_put(o);
    fake_unlock();
}

static void over(struct fake_socket *s)
{
    char code[16];
    fake_lock();
    struct session *x = fake_socket_owner(s);
    if (x && x->socket == s)
        x->socket = NULL;
    for (size_t i = 0; i < SOCKETS; i++) {
        if (sockets[i] == s)
            sockets[i] = NULL;
    }
    snprintf(code, sizeof code, "%u", fake_socket_code(s));
    fake_note("CLOSED", code, NULL, NULL, NULL);
    fake_unlock();
}

void fake_gateway_open(unsigned short port, const char *ca, unsigned interval)
{
    static const struct fake_socket_ops ops = {opened, received, over};
    heartbeat_ms = interval;
    snprintf(url, sizeof url, "ws%s://127.0.0.1:%u", ca ? "s" : "",
             fake_socket_listen(port, ca, &ops));
}

const char *fake_gateway_url(void)
{
    return url;
}

bool fake_gateway_steer(const char *what, long value, const char *body, size_t n)
{
    if (strcmp(what, "mute") == 0)
        mute = value != 0;
    else if (strcmp(what, "refuse_resume") == 0)
        refuse_resume = value != 0;
    else if (strcmp(what, "refuse_intents") == 0)
        refuse_intents = value != 0;
    for (size_t i = 0; i < SOCKETS; i++) {
        struct fake_socket *s = sockets[i];
        struct session *x = s ? fake_socket_owner(s) : NULL;
        if (!s)
            continue;
        if (strcmp(what, "reconnect") == 0)
            send_op(s, 7, NULL);
        else if (strcmp(what, "invalid") == 0)
            send_op(s, 9, json_object_new_boolean(value != 0));
        else if (strcmp(what, "close") == 0)
            fake_socket_close(s, (unsigned)value);
        else if (strcmp(what, "freeze") == 0)
            fake_socket_freeze(s);
        else if (strcmp(what, "text") == 0)
            fake_socket_send(s, body, n);
        else if (strcmp(what, "replay") == 0 && x)
            send_json(s, chela_json_at(x->events, chela_json_length(x->events) - 1));
    }
    return true;
}
