/*
 * Signatures with keys that plugins never see, and the digest of blobs: OpenSSL's EVP behind names.
 */
#ifndef NET_SIGN_H
#define NET_SIGN_H

#include <chela/base.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends the raw signature of data. algorithm: "hmac-sha256", "hmac-sha1" (key: any bytes),
 * "rs256" (key: PEM), "ed25519" (key: PEM, or 32 bytes raw, or those as 64 hex digits or base64).
 */
int sign_bytes(struct chela_str algorithm, struct chela_str key, struct chela_str data,
               struct buf *out, struct error *e);
/* Lower-case hex SHA-256 of p, with its NUL. */
void sign_sha256_hex(const void *p, size_t n, char out[65]);

#endif
