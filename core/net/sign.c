/*
 * Signatures: see sign.h. Called by net_group.c.
 */
#include "net/sign.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

enum { ED25519_KEY = 32 };

static int hmac(const EVP_MD *digest, struct chela_str key, struct chela_str data, struct buf *out,
                struct error *e)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (key.n == 0 || key.n > INT_MAX)
        return error_set(e, CHELA_E_ARGS, "the key to sign with is empty");
    if (!HMAC(digest, key.s, (int)key.n, (const unsigned char *)data.s, data.n, mac, &n))
        return error_set(e, CHELA_E_OTHER, "the signature could not be made");
    buf_add(out, mac, n);
    return 0;
}

static EVP_PKEY *read_pem(struct chela_str key)
{
    BIO *bio = key.n < INT_MAX ? BIO_new_mem_buf(key.s, (int)key.n) : NULL;
    EVP_PKEY *result =
        bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)(uintptr_t) "") : NULL;
    BIO_free(bio);
    return result;
}

static bool from_hex(struct chela_str text, unsigned char *out)
{
    for (size_t i = 0; i < ED25519_KEY; i++) {
        char two[3] = {text.s[2 * i], text.s[2 * i + 1], 0}, *end;
        out[i] = (unsigned char)strtoul(two, &end, 16);
        if (*end || two[0] == '+' || two[0] == '-' || two[0] == ' ')
            return false;
    }
    return true;
}

static EVP_PKEY *read_ed25519(struct chela_str key)
{
    unsigned char raw[ED25519_KEY + 2];
    EVP_PKEY *result = NULL;
    if (key.n == ED25519_KEY)
        memcpy(raw, key.s, ED25519_KEY);
    else if (key.n == 64 && !from_hex(key, raw))
        return NULL;
    else if (key.n == 44 && EVP_DecodeBlock(raw, (const unsigned char *)key.s, 44) < 0)
        return NULL;
    else if (key.n != 64 && key.n != 44)
        return read_pem(key);
    result = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, raw, ED25519_KEY);
    explicit_bzero(raw, sizeof raw);
    return result;
}

/* Ends the use of `key`. */
static int public_key(EVP_PKEY *key, int type, const EVP_MD *digest, struct chela_str data,
                      struct buf *out, struct error *e)
{
    int result = -1;
    size_t n = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const unsigned char *p = (const unsigned char *)data.s;
    if (!key || EVP_PKEY_get_base_id(key) != type) {
        error_set(e, CHELA_E_ARGS, "the key to sign with is not one for this algorithm");
    } else if (!context || EVP_DigestSignInit(context, NULL, digest, NULL, key) != 1 ||
               EVP_DigestSign(context, NULL, &n, p, data.n) != 1) {
        error_set(e, CHELA_E_OTHER, "the signature could not be made");
    } else {
        buf_reserve(out, n);
        if (EVP_DigestSign(context, (unsigned char *)out->p + out->n, &n, p, data.n) == 1) {
            out->n += n;
            out->p[out->n] = 0;
            result = 0;
        } else {
            error_set(e, CHELA_E_OTHER, "the signature could not be made");
        }
    }
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return result;
}

int sign_bytes(struct chela_str algorithm, struct chela_str key, struct chela_str data,
               struct buf *out, struct error *e)
{
    if (chela_str_is(algorithm, "hmac-sha256"))
        return hmac(EVP_sha256(), key, data, out, e);
    if (chela_str_is(algorithm, "hmac-sha1"))
        return hmac(EVP_sha1(), key, data, out, e);
    if (chela_str_is(algorithm, "rs256"))
        return public_key(read_pem(key), EVP_PKEY_RSA, EVP_sha256(), data, out, e);
    if (chela_str_is(algorithm, "ed25519"))
        return public_key(read_ed25519(key), EVP_PKEY_ED25519, NULL, data, out, e);
    return error_set(e, CHELA_E_UNSUPPORTED,
                     "signing knows hmac-sha256, hmac-sha1, rs256 and ed25519, not \"%.*s\"",
                     (int)(algorithm.n < 40 ? algorithm.n : 40), algorithm.s);
}

void sign_sha256_hex(const void *p, size_t n, char out[65])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (!EVP_Digest(p, n, digest, &length, EVP_sha256(), NULL))
        abort();
    for (unsigned i = 0; i < length; i++)
        snprintf(out + 2 * (size_t)i, 3, "%02x", digest[i]);
}
