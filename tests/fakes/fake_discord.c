/*
 * Discord for tests: one bot, its HTTP API and its gateway, a guild with two channels (50, 51) and
 * a thread (55), direct chats by whatever id they are written to, a history, attachments, refusals
 * on demand.
 *
 *   fake_discord [--log FILE] [--schema OPENAPI.json] [--token T] [--port N] [--ca FILE]
 *                [--socket PORT] [--interval MS] [--strict]
 *
 * --strict: a member that the description does not have is a problem; Discord lets it pass.
 * Writes "ready port=N" to descriptor 3. With --ca the gateway speaks TLS, and FILE gets the
 * certificate that clients have to trust. What a client sends is a line of the log:
 * {"method","path","body","files","problem"}; of the gateway "method" is OPEN, IDENTIFY, RESUME,
 * HEARTBEAT, CLOSED. problem: what the published description says against it, or that the request
 * was not allowed at that time.
 *
 * A test steers by POST:
 *   /control/event?t=TYPE[&lost=1]   its data is dispatched; a message also stands in the history
 *                                    (lost: there alone)
 *   /control/file?path=P             bytes of an attachment, at CDN/P
 *   /control/fail?method=M&path=P&count=N  the next N requests of M whose path begins with P are
 *                                    answered so: {"status","body","headers"}; {"hold": true}:
 * done, but never answered; {"close": true}: the connection ends /control/bucket?limit=N&ms=MS each
 * route takes N requests in MS, and says so /control/gateway?do=WHAT&value=N see fake_discord.h
 */
#include "tests/fakes/fake_discord.h"

#include <arpa/inet.h>
#include <json-c/linkhash.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/json.h"
#include "tests/fakes/multipart.h"
#include "tests/fakes/openapi_check.h"

enum { FAILS = 16, FILES = 16 };
#define API "/api/v10"

struct bytes {
    char *s;
    size_t n;
};

/* One request while it comes in. */
struct incoming {
    bool form;
    struct bytes body, payload;
    json_object *files;
};

struct answer {
    unsigned status;
    json_object *body, *headers;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file;
const char *fake_token = "token-1";
static json_object *history, *nonces; /* channel -> messages; "channel/nonce" -> message */
static int64_t next_message = 1193042892980199424;
static struct {
    char method[8], path[120];
    long count;
    json_object *answer;
} fails[FAILS];
static struct {
    char path[80];
    struct bytes bytes;
} files[FILES];
void fake_lock(void)
{
    pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void fake_note(const char *method, const char *path, json_object *body, json_object *sent,
               const char *problem)
{
    json_object *line = chela_json_new_object();
    chela_json_put_text(line, "method", method);
    chela_json_put_text(line, "path", path);
    chela_json_put(line, "body", json_object_get(body));
    chela_json_put(line, "files", json_object_get(sent));
    chela_json_put_text(line, "problem", problem);
    if (log_file)
        fprintf(log_file, "%s\n", chela_json_text(line, NULL));
    json_object_put(line);
}

static void add(struct bytes *b, const char *s, size_t n)
{
    b->s = realloc(b->s, b->n + n + 1);
    if (!b->s)
        abort();
    memcpy(b->s + b->n, s, n);
    b->n += n;
    b->s[b->n] = '\0';
}

/* ---- answers ---- */

static struct answer good(json_object *body)
{
    return (struct answer){body ? 200 : 204, body, NULL};
}

static struct answer bad(unsigned status, int code, const char *message)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "message", message);
    chela_json_put_int(o, "code", code);
    return (struct answer){status, o, NULL};
}

static json_object *me(void)
{
    json_object *o = chela_json_new_object();
    chela_json_put_text(o, "id", FAKE_ME);
    chela_json_put_text(o, "username", "chela");
    chela_json_put_text(o, "discriminator", "0");
    chela_json_put(o, "global_name", NULL);
    chela_json_put(o, "avatar", NULL);
    chela_json_put_bool(o, "bot", true);
    return o;
}

static json_object *messages_of(const char *channel)
{
    json_object *list = chela_json_array(history, channel);
    return list ? list : chela_json_put_array(history, channel);
}

static json_object *find(const char *channel, const char *id)
{
    json_object *list = messages_of(channel);
    for (size_t i = 0; i < chela_json_length(list); i++) {
        if (strcmp(chela_member(chela_json_at(list, i), "id"), id) == 0)
            return chela_json_at(list, i);
    }
    return NULL;
}

static bool in_guild(const char *channel)
{
    return strcmp(channel, "50") == 0 || strcmp(channel, "51") == 0 || strcmp(channel, "55") == 0;
}

static struct answer create(const char *channel, json_object *body, json_object *sent)
{
    char id[32], *key = NULL;
    const char *content = chela_member(body, "content"),
               *nonce = chela_json_string(body, "nonce", NULL);
    if (!*content && chela_json_length(sent) == 0)
        return bad(400, 50006, "Cannot send an empty message");
    if (strlen(content) > 2000 * 4)
        return bad(400, 50035, "Invalid Form Body");
    if (asprintf(&key, "%s/%s", channel, nonce ? nonce : "") < 0)
        abort();
    json_object *known = nonce && chela_json_bool(body, "enforce_nonce", false)
                             ? chela_json_object(nonces, key)
                             : NULL;
    if (known) {
        free(key);
        return good(json_object_get(known));
    }
    json_object *m = chela_json_new_object();
    next_message += 1 << 22;
    snprintf(id, sizeof id, "%lld", (long long)next_message);
    chela_json_put_text(m, "id", id);
    chela_json_put_text(m, "channel_id", channel);
    chela_json_put(m, "author", me());
    chela_json_put_text(m, "content", content);
    chela_json_put_text(m, "timestamp", "2024-01-06T04:06:31.000000+00:00");
    chela_json_put(m, "edited_timestamp", NULL);
    chela_json_put_bool(m, "tts", false);
    chela_json_put_bool(m, "mention_everyone", false);
    chela_json_put_bool(m, "pinned", false);
    static const char *const empty[] = {"mentions", "mention_roles", "attachments", "embeds"};
    for (size_t i = 0; i < 4; i++)
        chela_json_put_array(m, empty[i]);
    chela_json_put_int(m, "type", 0);
    json_object *rows = chela_json_array(body, "components");
    chela_json_put(m, "components", rows ? json_object_get(rows) : chela_json_new_array());
    if (nonce)
        chela_json_put_text(m, "nonce", nonce);
    if (in_guild(channel))
        chela_json_put_text(m, "guild_id", "1");
    chela_json_push(messages_of(channel), m);
    if (nonce)
        chela_json_put(nonces, key, json_object_get(m));
    free(key);
    fake_gateway_dispatch("MESSAGE_CREATE", m); /* Discord tells a bot of its own, too */
    return good(json_object_get(m));
}

static struct answer list_messages(const char *channel, struct MHD_Connection *c)
{
    const char *after = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "after"),
               *limit = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "limit");
    json_object *all = messages_of(channel), *picked = chela_json_new_array(),
                *out = chela_json_new_array();
    size_t most = limit ? strtoul(limit, NULL, 10) : 50;
    for (size_t i = 0; i < chela_json_length(all) && chela_json_length(picked) < most; i++) {
        json_object *m = chela_json_at(all, i);
        if (!after || strtoull(chela_member(m, "id"), NULL, 10) > strtoull(after, NULL, 10))
            chela_json_push(picked, json_object_get(m));
    }
    for (size_t i = chela_json_length(picked); i-- > 0;) { /* the newest first, without a guild */
        json_object *copy = NULL;
        json_object_deep_copy(chela_json_at(picked, i), &copy, NULL);
        json_object_object_del(copy, "guild_id");
        chela_json_push(out, copy);
    }
    json_object_put(picked);
    return good(out);
}

static struct answer edit(const char *channel, const char *id, json_object *body)
{
    json_object *m = find(channel, id);
    if (!m)
        return bad(404, 10008, "Unknown Message");
    if (chela_json_has(body, "content"))
        chela_json_put_text(m, "content", chela_member(body, "content"));
    chela_json_put_text(m, "edited_timestamp", "2024-01-06T04:06:32.000000+00:00");
    fake_gateway_dispatch("MESSAGE_UPDATE", m);
    return good(json_object_get(m));
}

static struct answer start(void)
{
    json_object *o = chela_json_new_object(), *limit;
    chela_json_put_text(o, "url", fake_gateway_url());
    chela_json_put_int(o, "shards", 1);
    limit = chela_json_put_object(o, "session_start_limit");
    chela_json_put_int(limit, "total", 1000);
    chela_json_put_int(limit, "remaining", 999);
    chela_json_put_int(limit, "reset_after", 14400000);
    chela_json_put_int(limit, "max_concurrency", 1);
    return good(o);
}

/* The direct chat with user N is 90N. */
static struct answer open_chat(json_object *body)
{
    char id[64];
    json_object *o = chela_json_new_object();
    if (strspn(chela_member(body, "recipient_id"), "0123456789") !=
        strlen(chela_member(body, "recipient_id"))) {
        json_object_put(o);
        return bad(400, 50033, "Invalid Recipient(s)");
    }
    snprintf(id, sizeof id, "90%.40s", chela_member(body, "recipient_id"));
    chela_json_put_text(o, "id", id);
    chela_json_put_int(o, "type", 1);
    return good(o);
}

static struct answer run(struct MHD_Connection *c, const char *method, const char *path,
                         json_object *body, json_object *sent)
{
    char channel[40], id[40];
    int n = 0;
    if (strcmp(path, "/gateway/bot") == 0)
        return start();
    if (strcmp(path, "/users/@me") == 0)
        return good(me());
    if (strcmp(path, "/users/@me/channels") == 0)
        return open_chat(body);
    if (strncmp(path, "/applications/", 14) == 0)
        return good(json_object_get(body));
    if (strncmp(path, "/interactions/", 14) == 0)
        return good(NULL);
    if (sscanf(path, "/channels/%39[^/]/typing%n", channel, &n) == 1 && n)
        return good(NULL);
    if (sscanf(path, "/channels/%39[^/]/messages/%39[^/]", channel, id) == 2) {
        if (strcmp(method, "PATCH") == 0)
            return edit(channel, id, body);
        json_object *m = find(channel, id);
        return m ? good(json_object_get(m)) : bad(404, 10008, "Unknown Message");
    }
    if (sscanf(path, "/channels/%39[^/]/messages", channel) == 1)
        return strcmp(method, "POST") == 0 ? create(channel, body, sent)
                                           : list_messages(channel, c);
    return bad(404, 0, "404: Not Found");
}

/* ---- HTTP ---- */

static json_object *failing(const char *method, const char *path)
{
    for (size_t i = 0; i < FAILS; i++) {
        if (fails[i].count > 0 && strcmp(fails[i].method, method) == 0 &&
            strncmp(fails[i].path, path, strlen(fails[i].path)) == 0) {
            fails[i].count--;
            return json_object_get(fails[i].answer);
        }
    }
    return NULL;
}

static enum MHD_Result send_bytes(struct MHD_Connection *c, unsigned status, const char *type,
                                  const char *s, size_t n, json_object *headers)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(n, (void *)(uintptr_t)s, MHD_RESPMEM_MUST_COPY);
    if (n)
        MHD_add_response_header(r, "Content-Type", type);
    if (headers) {
        json_object_object_foreach(headers, name, value)
            MHD_add_response_header(r, name, chela_json_as_string(value, NULL));
    }
    enum MHD_Result queued = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result send_answer(struct MHD_Connection *c, struct answer a, json_object *headers)
{
    size_t n = 0;
    const char *s = a.body ? chela_json_text(a.body, &n) : "";
    enum MHD_Result queued =
        send_bytes(c, a.status, "application/json", s, n, a.headers ? a.headers : headers);
    json_object_put(a.body);
    json_object_put(a.headers);
    json_object_put(headers);
    return queued;
}

static const char *problem_of(struct MHD_Connection *c, const char *method, const char *path,
                              const struct incoming *q, json_object *body, bool was, char why[1500])
{
    const char *agent = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "User-Agent");
    if (was)
        return "the route's bucket was known to be empty";
    if (!agent || strncmp(agent, "DiscordBot (", 12) != 0)
        return "the User-Agent is not of the form that is asked for";
    if (q->form && !q->payload.n)
        return "a form without payload_json";
    json_object *list = chela_json_array(body, "attachments");
    if (q->form && chela_json_length(list) != chela_json_length(q->files))
        return "attachments and files are not the same";
    return openapi_check(method, path, body, why, 1500);
}

static enum MHD_Result api_call(struct MHD_Connection *c, const char *method, const char *path,
                                struct incoming *q)
{
    char wanted[200], why[1500] = "";
    const struct bytes *text = q->form ? &q->payload : &q->body;
    json_object *body = NULL, *headers = chela_json_new_object();
    struct answer a = {0};
    if (text->n)
        chela_json_parse(text->s, text->n, NULL, &body, NULL);
    const char *key = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    snprintf(wanted, sizeof wanted, "Bot %s", fake_token);
    bool known = (key && strcmp(key, wanted) == 0) || strncmp(path, "/interactions/", 14) == 0;
    fake_lock();
    bool free_of_limit = strncmp(path, "/interactions/", 14) == 0;
    double wait = free_of_limit ? 0 : fake_limit(method, path, headers);
    bool ok = wait <= 0;
    fake_note(method, path, body, q->files, problem_of(c, method, path, q, body, !ok, why));
    json_object *refusal = ok && known ? failing(method, path) : NULL;
    bool hold = chela_json_bool(refusal, "hold", false),
         closes = chela_json_bool(refusal, "close", false);
    if (!ok) {
        a = bad(429, 0, "You are being rate limited.");
        chela_json_put_double(a.body, "retry_after", wait);
        chela_json_put_bool(a.body, "global", false);
    }
    if (ok && !known)
        a = bad(401, 0, "401: Unauthorized");
    else if (ok && (!refusal || hold))
        a = run(c, method, path, body, q->files);
    else if (ok)
        a = (struct answer){(unsigned)chela_json_int(refusal, "status", 500),
                            json_object_get(chela_json_get(refusal, "body")),
                            json_object_get(chela_json_object(refusal, "headers"))};
    fake_unlock();
    while (hold) /* until the test ends this process */
        pause();
    json_object_put(body);
    json_object_put(refusal);
    if (closes) {
        json_object_put(headers);
        return MHD_NO;
    }
    return send_answer(c, a, headers);
}

static const char *argument(struct MHD_Connection *c, const char *name)
{
    const char *s = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
    return s ? s : "";
}

static void steer_fail(struct MHD_Connection *c, json_object *answer)
{
    const char *count = argument(c, "count");
    size_t i = 0;
    while (i + 1 < FAILS && fails[i].count > 0)
        i++;
    snprintf(fails[i].method, sizeof fails[i].method, "%s", argument(c, "method"));
    snprintf(fails[i].path, sizeof fails[i].path, "%s", argument(c, "path"));
    fails[i].count = *count ? strtol(count, NULL, 10) : 1;
    json_object_put(fails[i].answer);
    fails[i].answer = json_object_get(answer);
}

static void steer(struct MHD_Connection *c, const char *what, const struct incoming *q)
{
    json_object *o = NULL;
    const char *body = q->body.s ? q->body.s : "";
    fake_lock();
    chela_json_parse(body, q->body.n, NULL, &o, NULL);
    if (strcmp(what, "event") == 0) {
        if (strcmp(argument(c, "t"), "MESSAGE_CREATE") == 0 && chela_json_string(o, "id", NULL))
            chela_json_push(messages_of(chela_member(o, "channel_id")), json_object_get(o));
        if (!*argument(c, "lost"))
            fake_gateway_dispatch(argument(c, "t"), o);
    } else if (strcmp(what, "file") == 0) {
        size_t i = 0;
        while (i + 1 < FILES && *files[i].path)
            i++;
        snprintf(files[i].path, sizeof files[i].path, "%s", argument(c, "path"));
        files[i].bytes.n = 0;
        add(&files[i].bytes, body, q->body.n);
    } else if (strcmp(what, "fail") == 0) {
        steer_fail(c, o);
    } else if (strcmp(what, "bucket") == 0) {
        fake_limit_set((unsigned)strtoul(argument(c, "limit"), NULL, 10),
                       strtod(argument(c, "ms"), NULL) / 1000);
    } else if (strcmp(what, "gateway") == 0) {
        fake_gateway_steer(argument(c, "do"), strtol(argument(c, "value"), NULL, 10), body,
                           q->body.n);
    }
    json_object_put(o);
    fake_unlock();
}

static enum MHD_Result serve(struct MHD_Connection *c, const char *url, const char *method,
                             struct incoming *q)
{
    if (strncmp(url, "/control/", 9) == 0) {
        steer(c, url + 9, q);
        return send_bytes(c, 200, "text/plain", "ok\n", 3, NULL);
    }
    if (strncmp(url, API "/", strlen(API) + 1) == 0)
        return api_call(c, method, url + strlen(API), q);
    for (size_t i = 0; strncmp(url, "/cdn/", 5) == 0 && i < FILES; i++) {
        if (*files[i].path && strcmp(files[i].path, url + 5) == 0)
            return send_bytes(c, 200, "application/octet-stream", files[i].bytes.s,
                              files[i].bytes.n, NULL);
    }
    return send_answer(c, bad(404, 0, "404: Not Found"), NULL);
}

static void part(void *owner, const char *name, const char *filename, const char *type,
                 const char *data, size_t n)
{
    struct incoming *q = owner;
    if (filename) {
        json_object *f = chela_json_put_object(q->files, name);
        chela_json_put_text(f, "name", filename);
        chela_json_put_text(f, "type", type);
        chela_json_put_int(f, "size", (int64_t)n);
    } else if (strcmp(name, "payload_json") == 0) {
        add(&q->payload, data, n);
    }
}

static enum MHD_Result request(void *owner, struct MHD_Connection *c, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **state)
{
    struct incoming *q = *state;
    (void)owner;
    (void)version;
    if (!q) {
        *state = q = calloc(1, sizeof *q);
        if (!q)
            abort();
        q->files = chela_json_new_object();
        return MHD_YES;
    }
    if (*size) {
        add(&q->body, data, *size);
        *size = 0;
        return MHD_YES;
    }
    const char *type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");
    q->form = type && strncmp(type, "multipart/", 10) == 0;
    if (q->form && !multipart_read(type, q->body.s ? q->body.s : "", q->body.n, part, q))
        return MHD_NO;
    return serve(c, url, method, q);
}

static void over(void *owner, struct MHD_Connection *c, void **state,
                 enum MHD_RequestTerminationCode code)
{
    struct incoming *q = *state;
    (void)owner;
    (void)c;
    (void)code;
    if (!q)
        return;
    free(q->body.s);
    free(q->payload.s);
    json_object_put(q->files);
    free(q);
    *state = NULL;
}

static struct MHD_Daemon *listen_on(unsigned short port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, port,
                            NULL, NULL, request, NULL, MHD_OPTION_SOCK_ADDR, &address,
                            MHD_OPTION_NOTIFY_COMPLETED, over, NULL, MHD_OPTION_END);
}

int main(int argc, char **argv)
{
    unsigned short port = 0, socket_port = 0;
    unsigned interval = 41250;
    const char *ca = NULL;
    bool strict = strcmp(argv[argc - 1], "--strict") == 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--log") == 0)
            log_file = fopen(argv[i + 1], "ae");
        else if (strcmp(argv[i], "--token") == 0)
            fake_token = argv[i + 1];
        else if (strcmp(argv[i], "--port") == 0)
            port = (unsigned short)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--socket") == 0)
            socket_port = (unsigned short)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--ca") == 0)
            ca = argv[i + 1];
        else if (strcmp(argv[i], "--interval") == 0)
            interval = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--schema") == 0 && !openapi_load(argv[i + 1], strict))
            return 1;
    }
    if (log_file)
        setvbuf(log_file, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    history = chela_json_new_object();
    nonces = chela_json_new_object();
    fake_gateway_open(socket_port, ca, interval);
    struct MHD_Daemon *d = listen_on(port);
    if (!d)
        return 1;
    dprintf(3, "ready port=%u\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    close(3);
    for (;;)
        pause();
}
