/*
 * Device identity (see device.h). Signed text, joined by '|':
 *   v3|deviceId|clientId|clientMode|role|scope,scope|signedAt|token|nonce|platform|deviceFamily
 *   v2 is the same without the last two
 */
#include "gateway/device.h"

#include <ctype.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/json.h"

enum { KEY_BYTES = 32, SIGNATURE_BYTES = 64, CLOCK_SKEW_MS = 10 * 60 * 1000 };

/* base64url without padding (or with) into exactly `want` bytes. */
static bool decode(const char *text, unsigned char *out, size_t want)
{
    size_t n = 0;
    uint32_t bits = 0;
    unsigned have = 0;
    for (; *text && *text != '='; text++) {
        char c = *text;
        uint32_t v = c >= 'A' && c <= 'Z'   ? (uint32_t)(c - 'A')
                     : c >= 'a' && c <= 'z' ? (uint32_t)(c - 'a' + 26)
                     : c >= '0' && c <= '9' ? (uint32_t)(c - '0' + 52)
                     : c == '-' || c == '+' ? 62
                     : c == '_' || c == '/' ? 63
                                            : 64;
        if (v == 64)
            return false;
        bits = bits << 6 | v;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        if (n == want)
            return false;
        out[n++] = (unsigned char)(bits >> have);
    }
    return n == want;
}

static void add_lower_trimmed(struct buf *b, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    size_t i = 0;
    while (i < n && isspace((unsigned char)text[i]))
        i++;
    for (; i < n; i++)
        buf_char(b, (char)tolower((unsigned char)text[i]));
}

static void signed_text(struct buf *b, int version, json_object *params, const char *nonce)
{
    json_object *client = chela_json_object(params, "client"),
                *device = chela_json_object(params, "device"),
                *auth = chela_json_object(params, "auth"),
                *scopes = chela_json_array(params, "scopes");
    const char *role = chela_json_string(params, "role", NULL),
               *token = chela_json_string(auth, "token", NULL);
    if (!token)
        token = chela_json_string(auth, "deviceToken", NULL);
    if (!token)
        token = chela_json_string(auth, "bootstrapToken", NULL);
    buf_clear(b);
    buf_printf(b, "v%d|%s|%s|%s|%s|", version, chela_json_string(device, "id", NULL),
               chela_json_string(client, "id", NULL), chela_json_string(client, "mode", NULL),
               role ? role : "operator");
    for (size_t i = 0; i < chela_json_length(scopes); i++) {
        const char *scope = chela_json_as_string(chela_json_at(scopes, i), NULL);
        buf_printf(b, "%s%s", i ? "," : "", scope ? scope : "");
    }
    buf_printf(b, "|%" PRId64 "|%s|%s", chela_json_int(device, "signedAt", 0), token ? token : "",
               nonce);
    if (version == 3) {
        buf_char(b, '|');
        add_lower_trimmed(b, chela_json_string(client, "platform", NULL));
        buf_char(b, '|');
        add_lower_trimmed(b, chela_json_string(client, "deviceFamily", NULL));
    }
}

static bool verify(EVP_PKEY *key, const unsigned char *signature, const struct buf *text)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    bool ok = md && EVP_DigestVerifyInit(md, NULL, NULL, NULL, key) == 1 &&
              EVP_DigestVerify(md, signature, SIGNATURE_BYTES, (const unsigned char *)text->p,
                               text->n) == 1;
    EVP_MD_CTX_free(md);
    return ok;
}

static bool id_fits(const char *id, const unsigned char *key)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char hex[2 * SHA256_DIGEST_LENGTH + 1];
    SHA256(key, KEY_BYTES, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    return id && strcmp(id, hex) == 0;
}

const char *device_check(const struct connection *c, json_object *params)
{
    json_object *device = chela_json_object(params, "device");
    const char *id = chela_json_string(device, "id", NULL),
               *key_text = chela_json_string(device, "publicKey", NULL),
               *signature_text = chela_json_string(device, "signature", NULL),
               *nonce = chela_json_string(device, "nonce", NULL);
    unsigned char key_bytes[KEY_BYTES], signature[SIGNATURE_BYTES];
    if (!nonce || !*nonce)
        return "DEVICE_AUTH_NONCE_REQUIRED";
    if (strcmp(nonce, c->nonce) != 0)
        return "DEVICE_AUTH_NONCE_MISMATCH";
    int64_t signed_at = chela_json_int(device, "signedAt", 0), now = (int64_t)clock_now_ms();
    if (signed_at < now - CLOCK_SKEW_MS || signed_at > now + CLOCK_SKEW_MS)
        return "DEVICE_AUTH_SIGNATURE_EXPIRED";
    if (!key_text || !decode(key_text, key_bytes, sizeof key_bytes))
        return "DEVICE_AUTH_PUBLIC_KEY_INVALID";
    if (!id_fits(id, key_bytes))
        return "DEVICE_AUTH_DEVICE_ID_MISMATCH";
    EVP_PKEY *key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key_bytes, sizeof key_bytes);
    if (!key)
        return "DEVICE_AUTH_PUBLIC_KEY_INVALID";
    bool ok = false;
    if (signature_text && decode(signature_text, signature, sizeof signature)) {
        struct buf text = {0};
        for (int version = 3; version >= 2 && !ok; version--) {
            signed_text(&text, version, params, c->nonce);
            ok = verify(key, signature, &text);
        }
        buf_free(&text);
    }
    EVP_PKEY_free(key);
    return ok ? NULL : "DEVICE_AUTH_SIGNATURE_INVALID";
}
