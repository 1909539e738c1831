/*
 * A Bot API server for tests: one bot, chats by whatever id they are written to, updates that a
 * test hands in, a long poll that is held, files both ways, and refusals on demand.
 *
 *   fake_telegram [--log FILE] [--schema API.json] [--token T] [--port N]
 *
 * Writes "ready port=N" to descriptor 3. Each call of the Bot API is a line of the log:
 * {"method","fields","files","problem"}; problem: what the published description says against it.
 * A test steers by POST:
 *   /control/update                 an update without its id: Telegram has it from now on
 *   /control/people?accounts=A&chats=C&times=N   in each of A accounts ("/0" ... in front of
 * "/bot") C people write the body N times, each in a chat of its own; answers when all have been
 * answered: {"count","p50","p95","max"}, ms from the first message of a chat to the last answer.
 * slow=1: one more person of account 0 writes 500 times, and isn't waited for /control/file?path=P
 * bytes of the file that getFile names for "P" /control/fail?method=M&count=N  the next N calls of
 * M are answered by this body (its error_code is the status); {"hold": true}: done, but never
 *                                   answered; {"close": true}: the connection ends without it
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/json.h"
#include "tests/fakes/bot_schema.h"
#include "tests/fakes/multipart.h"

enum { FAILS = 16, FILES = 16, BOT = 4242, ACCOUNTS = 64, CHATS = 128, FLOOD = 500 };

struct bytes {
    char *s;
    size_t n;
};

/* One request while it comes in. */
struct incoming {
    bool form;
    struct bytes body;
    json_object *fields, *files;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static FILE *log_file;
static const char *token = "4242:test";
static json_object *texts; /* "chat:message" -> what stands there */
static int64_t next_message = 1000;
/* One bot, or many whose tokens are the same and whose addresses differ. */
static struct account {
    json_object *updates;
    int64_t next_update, newest_poll;
    struct { /* of /control/people */
        double since, until;
        unsigned left;
    } chats[CHATS];
} accounts[ACCOUNTS];
static unsigned unanswered;
static struct {
    char method[40];
    long count;
    json_object *answer;
} fails[FAILS];
static struct {
    char path[80];
    struct bytes bytes;
} files[FILES];

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

static json_object *good(json_object *result)
{
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", true);
    chela_json_put(o, "result", result);
    return o;
}

static json_object *bad(int code, const char *description)
{
    json_object *o = chela_json_new_object();
    chela_json_put_bool(o, "ok", false);
    chela_json_put_int(o, "error_code", code);
    chela_json_put_text(o, "description", description);
    return o;
}

/* The HTML that Telegram reads: known names, each closed in its order. */
static bool html_ok(const char *s)
{
    static const char *const names[] = {"b", "i", "s", "u", "code", "pre", "blockquote", "a"};
    const char *open[32];
    size_t depth = 0;
    for (; (s = strchr(s, '<')); s++) {
        bool closes = s[1] == '/';
        const char *name = s + 1 + closes;
        size_t n = strcspn(name, " >"), i = 0;
        while (i < 8 && (strlen(names[i]) != n || strncmp(names[i], name, n) != 0))
            i++;
        if (i == 8 || !strchr(name, '>'))
            return false;
        if (!closes && depth < 32)
            open[depth++] = names[i];
        else if (depth == 0 || open[--depth] != names[i])
            return false;
    }
    return depth == 0;
}

static const char *field(json_object *fields, const char *name, char out[32])
{
    json_object *v = chela_json_get(fields, name);
    const char *s = chela_json_as_string(v, NULL);
    if (s)
        return s;
    snprintf(out, 32, "%lld", (long long)chela_json_int_or(v, 0));
    return out;
}

static json_object *message_of(json_object *fields, int64_t id)
{
    char chat[32];
    json_object *m = chela_json_new_object();
    chela_json_put_int(m, "message_id", id);
    chela_json_put_int(m, "date", 1700000000);
    chela_json_put_int(chela_json_put_object(m, "chat"), "id",
                       strtoll(field(fields, "chat_id", chat), NULL, 10));
    return m;
}

static json_object *write_text(json_object *fields, const char *member, int64_t id, bool edits)
{
    char chat[32], key[80];
    const char *text = chela_json_string(fields, member, NULL);
    snprintf(key, sizeof key, "%s:%lld", field(fields, "chat_id", chat), (long long)id);
    const char *before = chela_json_string(texts, key, NULL);
    if (edits && !before)
        return bad(400, "Bad Request: message to edit not found");
    if (edits && text && strcmp(before, text) == 0)
        return bad(400, "Bad Request: message is not modified");
    if (!text || !*text)
        text = "";
    if (strcmp(member, "text") == 0 && (!*text || strlen(text) > 4096 * 4))
        return bad(400, "Bad Request: message text is empty or too long");
    if (chela_json_has(fields, "parse_mode") && !html_ok(text))
        return bad(400, "Bad Request: can't parse entities: unexpected tag");
    chela_json_put_text(texts, key, text);
    return good(message_of(fields, id));
}

/* ---- methods ---- */

static json_object *get_updates(struct account *a, json_object *fields)
{
    json_object *updates = a->updates;
    int64_t offset = chela_json_int(fields, "offset", 0), mine = ++a->newest_poll;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += chela_json_int(fields, "timeout", 0);
    pthread_cond_broadcast(&changed);
    while (chela_json_length(updates) &&
           chela_json_int(chela_json_at(updates, 0), "update_id", 0) < offset)
        json_object_array_del_idx(updates, 0, 1);
    while (chela_json_length(updates) == 0) {
        if (pthread_cond_timedwait(&changed, &lock, &until) != 0)
            break;
        if (mine != a->newest_poll)
            return bad(409, "Conflict: terminated by other getUpdates request");
    }
    json_object *list = chela_json_new_array();
    for (size_t i = 0; i < chela_json_length(updates) && i < 100; i++)
        chela_json_push(list, json_object_get(chela_json_at(updates, i)));
    return good(list);
}

static json_object *album(json_object *fields)
{
    const char *text = chela_json_string(fields, "media", NULL);
    json_object *media = NULL, *list = chela_json_new_array();
    if (text)
        chela_json_parse(text, strlen(text), NULL, &media, NULL);
    for (size_t i = 0; i < chela_json_length(media); i++)
        chela_json_push(list, message_of(fields, next_message++));
    json_object_put(media);
    return good(list);
}

static json_object *get_file(json_object *fields)
{
    const char *id = chela_json_string(fields, "file_id", NULL);
    for (size_t i = 0; id && i < FILES; i++) {
        if (strcmp(files[i].path, id) != 0)
            continue;
        json_object *o = chela_json_new_object();
        chela_json_put_text(o, "file_id", id);
        chela_json_put_text(o, "file_unique_id", id);
        chela_json_put_text(o, "file_path", id);
        return good(o);
    }
    return bad(400, "Bad Request: invalid file_id");
}

static json_object *get_me(void)
{
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "id", BOT);
    chela_json_put_bool(o, "is_bot", true);
    chela_json_put_text(o, "first_name", "Chela");
    chela_json_put_text(o, "username", "chela_bot");
    return good(o);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1e6;
}

/* Somebody of /control/people is answered. */
static void answered(struct account *a, json_object *fields)
{
    int64_t chat = chela_json_int(fields, "chat_id", 0) - 1;
    if (chat < 0 || chat >= CHATS || !a->chats[chat].left)
        return;
    if (--a->chats[chat].left == 0) {
        a->chats[chat].until = now_ms();
        if (--unanswered == 0)
            pthread_cond_broadcast(&changed);
    }
}

static json_object *run(struct account *a, const char *method, json_object *fields)
{
    char id[32];
    if (strcmp(method, "getMe") == 0)
        return get_me();
    if (strcmp(method, "getUpdates") == 0)
        return get_updates(a, fields);
    if (strcmp(method, "getFile") == 0)
        return get_file(fields);
    if (strcmp(method, "sendMessage") == 0)
        answered(a, fields);
    if (strcmp(method, "sendMessage") == 0)
        return write_text(fields, "text", next_message++, false);
    if (strcmp(method, "editMessageText") == 0)
        return write_text(fields, "text", strtoll(field(fields, "message_id", id), NULL, 10), true);
    if (strcmp(method, "sendMediaGroup") == 0)
        return album(fields);
    if (strcmp(method, "sendMessageDraft") == 0 && chela_json_int(fields, "chat_id", 0) < 0)
        return bad(400, "Bad Request: a draft is for a private chat");
    if (strncmp(method, "send", 4) == 0 && strcmp(method, "sendChatAction") != 0 &&
        strcmp(method, "sendMessageDraft") != 0)
        return write_text(fields, "caption", next_message++, false);
    json_object *yes = json_object_new_boolean(1);
    return good(yes);
}

/* ---- HTTP ---- */

static enum MHD_Result send_bytes(struct MHD_Connection *c, unsigned status, const char *type,
                                  const char *s, size_t n)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(n, (void *)(uintptr_t)s, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(r, "Content-Type", type);
    enum MHD_Result queued = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result send_json(struct MHD_Connection *c, json_object *o)
{
    size_t n;
    const char *s = chela_json_text(o, &n);
    unsigned status = (unsigned)chela_json_int(o, "error_code", 200);
    enum MHD_Result queued = send_bytes(c, status, "application/json", s, n);
    json_object_put(o);
    return queued;
}

static void note(const char *method, const struct incoming *q)
{
    char why[300];
    json_object *line = chela_json_new_object();
    const char *problem =
        bot_schema_check(method, q->fields, chela_json_length(q->files) > 0, why, sizeof why);
    chela_json_put_text(line, "method", method);
    chela_json_put(line, "fields", json_object_get(q->fields));
    chela_json_put(line, "files", json_object_get(q->files));
    chela_json_put_text(line, "problem", problem);
    if (log_file)
        fprintf(log_file, "%s\n", chela_json_text(line, NULL));
    json_object_put(line);
}

static json_object *failing(const char *method)
{
    for (size_t i = 0; i < FAILS; i++) {
        if (fails[i].count > 0 && strcmp(fails[i].method, method) == 0) {
            fails[i].count--;
            return json_object_get(fails[i].answer);
        }
    }
    return NULL;
}

static enum MHD_Result bot_call(struct MHD_Connection *c, struct account *a, const char *method,
                                struct incoming *q)
{
    json_object *body = NULL;
    if (!q->form && q->body.n && chela_json_parse(q->body.s, q->body.n, NULL, &body, NULL) == 0) {
        json_object_put(q->fields);
        q->fields = body;
    }
    pthread_mutex_lock(&lock);
    note(method, q);
    json_object *refusal = failing(method), *answer = NULL;
    bool hold = chela_json_bool(refusal, "hold", false),
         closes = chela_json_bool(refusal, "close", false);
    if (!refusal || hold)
        answer = run(a, method, q->fields);
    while (hold) /* until the test ends this process */
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    if (closes) {
        json_object_put(refusal);
        return MHD_NO;
    }
    return send_json(c, answer ? answer : refusal);
}

static void control(struct MHD_Connection *c, const char *what, struct incoming *q)
{
    json_object *o = NULL;
    const char *path = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "path"),
               *method = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "method"),
               *count = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "count");
    pthread_mutex_lock(&lock);
    if (strcmp(what, "update") == 0 &&
        chela_json_parse(q->body.s ? q->body.s : "", q->body.n, NULL, &o, NULL) == 0) {
        if (!chela_json_has(o, "update_id"))
            chela_json_put_int(o, "update_id", accounts[0].next_update++);
        chela_json_push(accounts[0].updates, o);
    } else if (strcmp(what, "file") == 0 && path) {
        size_t i = 0;
        while (i + 1 < FILES && *files[i].path)
            i++;
        snprintf(files[i].path, sizeof files[i].path, "%s", path);
        files[i].bytes.n = 0;
        add(&files[i].bytes, q->body.s ? q->body.s : "", q->body.n);
    } else if (strcmp(what, "fail") == 0 && method &&
               chela_json_parse(q->body.s ? q->body.s : "", q->body.n, NULL, &o, NULL) == 0) {
        size_t i = 0;
        while (i + 1 < FAILS && fails[i].count > 0)
            i++;
        snprintf(fails[i].method, sizeof fails[i].method, "%s", method);
        fails[i].count = count ? strtol(count, NULL, 10) : 1;
        json_object_put(fails[i].answer);
        fails[i].answer = o;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* ---- many people ---- */

static long number(struct MHD_Connection *c, const char *name)
{
    const char *s = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);
    return s ? strtol(s, NULL, 10) : 0;
}

static void say(struct account *a, long chat, const char *text)
{
    json_object *o = chela_json_new_object(), *m = chela_json_put_object(o, "message"), *who;
    chela_json_put_int(o, "update_id", a->next_update++);
    chela_json_put_int(m, "message_id", next_message++);
    chela_json_put_int(m, "date", 1700000000);
    who = chela_json_put_object(m, "from");
    chela_json_put_int(who, "id", chat);
    chela_json_put_text(who, "first_name", "P");
    who = chela_json_put_object(m, "chat");
    chela_json_put_int(who, "id", chat);
    chela_json_put_text(who, "type", "private");
    chela_json_put_text(m, "text", text);
    chela_json_push(a->updates, o);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static json_object *people(struct MHD_Connection *c, const char *text)
{
    static double took[ACCOUNTS * CHATS];
    long count = number(c, "accounts"), chats = number(c, "chats"), times = number(c, "times");
    size_t n = 0;
    for (long i = 0; number(c, "slow") && i < FLOOD; i++)
        say(&accounts[0], CHATS + 1, text);
    for (long k = 0; k < times; k++) {
        for (long i = 0; i < count && i < ACCOUNTS; i++) {
            for (long chat = 1; chat <= chats && chat <= CHATS; chat++) {
                if (k == 0) {
                    accounts[i].chats[chat - 1].left = (unsigned)times;
                    accounts[i].chats[chat - 1].since = now_ms();
                    unanswered++;
                }
                say(&accounts[i], chat, text);
            }
        }
    }
    pthread_cond_broadcast(&changed);
    while (unanswered)
        pthread_cond_wait(&changed, &lock);
    for (long i = 0; i < count && i < ACCOUNTS; i++) {
        for (long chat = 0; chat < chats && chat < CHATS; chat++)
            took[n++] = accounts[i].chats[chat].until - accounts[i].chats[chat].since;
    }
    qsort(took, n, sizeof took[0], by_size);
    json_object *o = chela_json_new_object();
    chela_json_put_int(o, "count", (int64_t)n);
    chela_json_put_double(o, "p50", n ? took[n / 2] : 0);
    chela_json_put_double(o, "p95", n ? took[n * 95 / 100] : 0);
    chela_json_put_double(o, "max", n ? took[n - 1] : 0);
    return o;
}

static enum MHD_Result serve(struct MHD_Connection *c, const char *url, struct incoming *q)
{
    char bot[80], file[80], *behind = NULL;
    unsigned long account = url[0] == '/' ? strtoul(url + 1, &behind, 10) : 0;
    if (behind && behind > url + 1 && *behind == '/' && account < ACCOUNTS)
        url = behind;
    else
        account = 0;
    snprintf(bot, sizeof bot, "/bot%s/", token);
    snprintf(file, sizeof file, "/file/bot%s/", token);
    if (strcmp(url, "/control/people") == 0) {
        pthread_mutex_lock(&lock);
        json_object *figures = people(c, q->body.s ? q->body.s : "");
        pthread_mutex_unlock(&lock);
        return send_json(c, figures);
    }
    if (strncmp(url, "/control/", 9) == 0) {
        control(c, url + 9, q);
        return send_bytes(c, 200, "text/plain", "ok\n", 3);
    }
    if (strncmp(url, bot, strlen(bot)) == 0)
        return bot_call(c, &accounts[account], url + strlen(bot), q);
    for (size_t i = 0; strncmp(url, file, strlen(file)) == 0 && i < FILES; i++) {
        if (*files[i].path && strcmp(files[i].path, url + strlen(file)) == 0)
            return send_bytes(c, 200, "application/octet-stream", files[i].bytes.s,
                              files[i].bytes.n);
    }
    return send_json(c, strncmp(url, "/bot", 4) == 0 ? bad(401, "Unauthorized")
                                                     : bad(404, "Not Found"));
}

static void part(void *owner, const char *name, const char *filename, const char *type,
                 const char *data, size_t n)
{
    struct incoming *q = owner;
    if (!filename) {
        chela_json_put_string(q->fields, name, data, n);
        return;
    }
    json_object *f = chela_json_put_object(q->files, name);
    chela_json_put_text(f, "name", filename);
    chela_json_put_text(f, "type", type);
    chela_json_put_int(f, "size", (int64_t)n);
    chela_json_put_text(q->fields, name, "@file");
}

static enum MHD_Result request(void *owner, struct MHD_Connection *c, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **state)
{
    struct incoming *q = *state;
    (void)owner;
    (void)method;
    (void)version;
    if (!q) {
        *state = q = calloc(1, sizeof *q);
        if (!q)
            abort();
        q->fields = chela_json_new_object();
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
    return serve(c, url, q);
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
    json_object_put(q->fields);
    json_object_put(q->files);
    free(q);
    *state = NULL;
}

int main(int argc, char **argv)
{
    unsigned short port = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--log") == 0)
            log_file = fopen(argv[i + 1], "ae");
        else if (strcmp(argv[i], "--token") == 0)
            token = argv[i + 1];
        else if (strcmp(argv[i], "--port") == 0)
            port = (unsigned short)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--schema") == 0 && !bot_schema_load(argv[i + 1]))
            return 1;
    }
    if (log_file)
        setvbuf(log_file, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 0; i < ACCOUNTS; i++) {
        accounts[i].updates = chela_json_new_array();
        accounts[i].next_update = 1;
    }
    texts = chela_json_new_object();
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *d =
        MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, port,
                         NULL, NULL, request, NULL, MHD_OPTION_SOCK_ADDR, &address,
                         MHD_OPTION_NOTIFY_COMPLETED, over, NULL, MHD_OPTION_END);
    if (!d)
        return 1;
    dprintf(3, "ready port=%u\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    close(3);
    for (;;)
        pause();
}
