/*
 * One `connect` to a gateway with a device identity of our choice, right or wrong in one point, and
 * what came of it as JSON lines:
 *
 *   device_client PORT NAME [OPTION...]
 *
 * NAME: the key is made from it ("-": no device). Options: token=T, device-token=T, code=C,
 * password=P, scopes=a,b, mode=M (of the client), header=LINE, version=2|3,
 * wrong=nonce|signature|key|id|time|old-nonce, call=METHOD:PARAMS (after hello), wait (until the
 * gateway closes). Lines: {"hello":...} or {"error":...}, {"answer":...}, {"closed":CODE}.
 */
#include <json-c/json_object.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "gateway/raw_client.h"
#include "support/base64.h"
#include "support/json.h"

struct wish {
    const char *token, *device_token, *code, *password, *scopes, *wrong, *call, *mode;
    int version;
    bool wait;
    struct buf headers;
};

static char *base64url(const unsigned char *p, size_t n)
{
    char *text = xcalloc(1, 4 * ((n + 2) / 3) + 1);
    chela_base64_encode(p, n, text);
    for (char *c = text; *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    text[strcspn(text, "=")] = '\0';
    return text;
}

static bool is_wrong(const struct wish *w, const char *what)
{
    return w->wrong && strcmp(w->wrong, what) == 0;
}

static void sign(EVP_PKEY *key, const struct buf *text, unsigned char signature[64])
{
    size_t n = 64;
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    if (!md || EVP_DigestSignInit(md, NULL, NULL, NULL, key) != 1 ||
        EVP_DigestSign(md, signature, &n, (const unsigned char *)text->p, text->n) != 1)
        abort();
    EVP_MD_CTX_free(md);
}

static void put_device(json_object *params, const char *name, const struct wish *w,
                       const char *nonce, int64_t ts)
{
    unsigned char seed[32], raw[32], digest[32], signature[64];
    size_t n = sizeof raw;
    char hex[65];
    SHA256((const unsigned char *)name, strlen(name), seed);
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
    EVP_PKEY_get_raw_public_key(key, raw, &n);
    SHA256(raw, sizeof raw, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    if (is_wrong(w, "id"))
        hex[0] = hex[0] == '0' ? '1' : '0';
    if (is_wrong(w, "old-nonce"))
        nonce = "00000000-0000-4000-8000-000000000000";
    const char *token = w->token          ? w->token
                        : w->device_token ? w->device_token
                        : w->code         ? w->code
                                          : "";
    struct buf text = {0};
    int64_t at = is_wrong(w, "time") ? ts - 3600 * 1000 : ts;
    buf_printf(&text, "v%d|%s|test|%s|operator|%s|%lld|%s|%s", w->version, hex, w->mode, w->scopes,
               (long long)at, token, is_wrong(w, "nonce") ? "another nonce" : nonce);
    if (w->version == 3)
        buf_puts(&text, "|linux|");
    sign(key, &text, signature);
    if (is_wrong(w, "signature"))
        signature[5] ^= 1;
    if (is_wrong(w, "key"))
        raw[3] ^= 1;
    CLEANUP(freep) char *public_key = base64url(raw, 32), *signed_text = base64url(signature, 64);
    json_object *device = chela_json_put_object(params, "device");
    chela_json_put_text(device, "id", hex);
    chela_json_put_text(device, "publicKey", public_key);
    chela_json_put_text(device, "signature", signed_text);
    chela_json_put_int(device, "signedAt", at);
    chela_json_put_text(device, "nonce", nonce);
    buf_free(&text);
    EVP_PKEY_free(key);
}

static void put_some(json_object *o, const char *name, const char *value)
{
    if (value)
        chela_json_put_text(o, name, value);
}

static void send_request(struct raw *r, const char *id, const char *method, json_object *params)
{
    json_object *frame = chela_json_new_object();
    chela_json_put_text(frame, "type", "req");
    chela_json_put_text(frame, "id", id);
    chela_json_put_text(frame, "method", method);
    chela_json_put(frame, "params", params);
    raw_text(r, chela_json_text(frame, NULL));
    json_object_put(frame);
}

static void send_connect(struct raw *r, const char *name, const struct wish *w, json_object *event)
{
    json_object *challenge = chela_json_object(event, "payload"), *params = chela_json_new_object();
    chela_json_put_int(params, "minProtocol", 4);
    chela_json_put_int(params, "maxProtocol", 4);
    json_object *client = chela_json_put_object(params, "client");
    chela_json_put_text(client, "id", "test");
    chela_json_put_text(client, "mode", w->mode);
    chela_json_put_text(client, "version", "1");
    chela_json_put_text(client, "platform", " Linux ");
    chela_json_put_text(client, "displayName", name);
    chela_json_put_text(params, "role", "operator");
    json_object *scopes = chela_json_put_array(params, "scopes");
    CLEANUP(freep) char *list = xstrdup(w->scopes);
    char *rest = list, *one;
    while ((one = strsep(&rest, ",")) != NULL)
        if (*one)
            chela_json_push(scopes, json_object_new_string(one));
    json_object *auth = chela_json_put_object(params, "auth");
    put_some(auth, "token", w->token);
    put_some(auth, "deviceToken", w->device_token);
    put_some(auth, "bootstrapToken", w->code);
    put_some(auth, "password", w->password);
    if (strcmp(name, "-") != 0)
        put_device(params, name, w, chela_json_string(challenge, "nonce", NULL),
                   chela_json_int(challenge, "ts", 0));
    send_request(r, "1", "connect", params);
}

/* Prints the answer to request `id`, under a name for success. */
static bool print_answer(struct raw *r, const char *id, const char *name)
{
    json_object *frame;
    while ((frame = raw_next(r, RAW_WAIT_MS)) != NULL) {
        const char *its = chela_json_string(frame, "id", NULL);
        if (its && strcmp(its, id) == 0) {
            bool ok = chela_json_bool(frame, "ok", false);
            json_object *value = chela_json_get(frame, ok ? "payload" : "error");
            printf("{\"%s\":%s}\n", ok ? name : "error", chela_json_text(value, NULL));
            fflush(stdout);
            json_object_put(frame);
            return ok;
        }
        json_object_put(frame);
    }
    return false;
}

static const char *value_of(const char *argument, const char *name)
{
    size_t n = strlen(name);
    return strncmp(argument, name, n) == 0 && argument[n] == '=' ? argument + n + 1 : NULL;
}

static void read_wish(struct wish *w, int argc, char **argv)
{
    for (int i = 3; i < argc; i++) {
        const struct {
            const char *name, **value;
        } texts[] = {{"token", &w->token},   {"device-token", &w->device_token},
                     {"code", &w->code},     {"password", &w->password},
                     {"scopes", &w->scopes}, {"wrong", &w->wrong},
                     {"call", &w->call},     {"mode", &w->mode}};
        for (size_t t = 0; t < ARRAY_LENGTH(texts); t++)
            if (value_of(argv[i], texts[t].name))
                *texts[t].value = value_of(argv[i], texts[t].name);
        if (value_of(argv[i], "header"))
            buf_printf(&w->headers, "%s\r\n", value_of(argv[i], "header"));
        if (value_of(argv[i], "version"))
            w->version = value_of(argv[i], "version")[0] - '0';
        w->wait = w->wait || strcmp(argv[i], "wait") == 0;
    }
}

int main(int argc, char **argv)
{
    struct wish w = {.scopes = "operator.read", .mode = "test", .version = 3};
    struct raw r;
    if (argc < 3)
        return 2;
    read_wish(&w, argc, argv);
    unsigned status =
        raw_open(&r, (unsigned)strtoul(argv[1], NULL, 10), NULL, buf_text(&w.headers));
    json_object *challenge = status == 101 ? raw_next(&r, RAW_WAIT_MS) : NULL;
    if (!challenge) {
        printf("{\"status\":%u}\n", status);
        return 1;
    }
    send_connect(&r, argv[2], &w, challenge);
    json_object_put(challenge);
    bool ok = print_answer(&r, "1", "hello");
    if (ok && w.call) {
        const char *colon = strchr(w.call, ':');
        CLEANUP(freep) char *method = xmemdup(w.call, strcspn(w.call, ":"));
        json_object *params = NULL;
        if (colon)
            chela_json_parse(colon + 1, strlen(colon + 1), NULL, &params, NULL);
        send_request(&r, "2", method, params ? params : chela_json_new_object());
        print_answer(&r, "2", "answer");
    }
    if (!ok || w.wait)
        printf("{\"closed\":%u}\n", raw_wait_close(&r, 30000));
    buf_free(&w.headers);
    raw_close(&r);
    return ok ? 0 : 1;
}
