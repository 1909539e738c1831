/*
 * Hashes for the agent. Wraps OpenSSL's EVP in one place.
 */
#include "agent/digest.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

void digest_hex(const char *data, size_t n, char out[65])
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    if (EVP_Digest(data ? data : "", n, hash, &length, EVP_sha256(), NULL) != 1 || length != 32)
        abort();
    for (unsigned i = 0; i < 32; i++)
        snprintf(out + (size_t)2 * i, 3, "%02x", hash[i]);
}

void digest_strings(char out[65], const char *const *strings, size_t count)
{
    struct buf b = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&b, "%zu:%s,", strlen(strings[i]), strings[i]);
    digest_hex(b.p, b.n, out);
    buf_free(&b);
}
