/* Handshake: see handshake.h. SHA-1 is here, in forty lines, because the protocol asks for it in
 * this one place (it proves nothing and protects nothing) and a crypto library would cost the
 * client more start-up time than all the rest of it. */
#include "cli/handshake.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/id.h"
#include "cli/clean.h"
#include "support/base64.h"

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

static uint32_t rotate(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

static void sha1_block(uint32_t hash[5], const unsigned char *block)
{
    uint32_t w[80];
    for (unsigned i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (unsigned i = 16; i < 80; i++) {
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4];
    for (unsigned i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5A827999u
                     : i < 40 ? (b ^ c ^ d) + 0x6ED9EBA1u
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCu
                              : (b ^ c ^ d) + 0xCA62C1D6u;
        uint32_t next = rotate(a, 5) + f + e + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    hash[0] += a;
    hash[1] += b;
    hash[2] += c;
    hash[3] += d;
    hash[4] += e;
}

/* Of no more than 119 bytes: two blocks. */
static void sha1(const unsigned char *text, size_t length, unsigned char out[20])
{
    uint32_t hash[5] = {0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u, 0xC3D2E1F0u};
    unsigned char block[128] = {0};
    size_t size = length < 56 ? 64 : 128;
    memcpy(block, text, length);
    block[length] = 0x80;
    block[size - 2] = (unsigned char)(length * 8 >> 8);
    block[size - 1] = (unsigned char)(length * 8);
    sha1_block(hash, block);
    if (size == 128) {
        sha1_block(hash, block + 64);
    }
    for (unsigned i = 0; i < 20; i++) {
        out[i] = (unsigned char)(hash[i / 4] >> (24 - 8 * (i % 4)));
    }
}

void handshake_key(char key[HANDSHAKE_KEY_SIZE])
{
    unsigned char random[16];
    id_bytes(random, sizeof random);
    chela_base64_encode(random, sizeof random, key);
}

void handshake_accept(const char *key, char accept[HANDSHAKE_ACCEPT_SIZE])
{
    unsigned char text[HANDSHAKE_KEY_SIZE + sizeof guid], digest[20];
    size_t length = strnlen(key, HANDSHAKE_KEY_SIZE - 1);
    memcpy(text, key, length);
    memcpy(text + length, guid, sizeof guid - 1);
    sha1(text, length + sizeof guid - 1, digest);
    chela_base64_encode(digest, sizeof digest, accept);
}

void handshake_request(struct buf *out, const char *host, const char *key)
{
    buf_printf(out,
               "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n",
               host, key);
}

/* The value of a header, without the spaces around it; NULL if it is absent. */
static const char *header(const char *head, size_t length, const char *name, size_t *value_length)
{
    size_t name_length = strlen(name);
    const char *end = head + length;
    for (const char *line = head; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        const char *stop = next == NULL ? end : next;
        if ((size_t)(stop - line) > name_length && line[name_length] == ':' &&
            strncasecmp(line, name, name_length) == 0) {
            const char *value = line + name_length + 1;
            while (value < stop && (*value == ' ' || *value == '\t')) {
                value++;
            }
            while (stop > value && (stop[-1] == ' ' || stop[-1] == '\t' || stop[-1] == '\r')) {
                stop--;
            }
            *value_length = (size_t)(stop - value);
            return value;
        }
        line = next == NULL ? end : next + 1;
    }
    return NULL;
}

static bool has_token(const char *value, size_t length, const char *token)
{
    size_t token_length = strlen(token);
    for (size_t at = 0; value != NULL && at + token_length <= length; at++) {
        bool begins = at == 0 || strchr(", \t", value[at - 1]) != NULL;
        bool ends = at + token_length == length || strchr(", \t", value[at + token_length]) != NULL;
        if (begins && ends && strncasecmp(value + at, token, token_length) == 0) {
            return true;
        }
    }
    return false;
}

int handshake_check(const char *head, size_t length, const char *key, struct error *e)
{
    char accept[HANDSHAKE_ACCEPT_SIZE];
    size_t n = 0;
    if (length < 12 || strncmp(head, "HTTP/1.1 ", 9) != 0) {
        return error_set(e, CHELA_E_PROTOCOL,
                         "what listens there is no gateway: it speaks no HTTP");
    }
    if (strncmp(head + 9, "101", 3) != 0) {
        const char *end = memchr(head, '\r', length);
        size_t line = end == NULL ? length : (size_t)(end - head);
        struct buf shown = {0};
        clean_append_line(&shown, head + 9, line - 9, 60);
        error_set(e, CHELA_E_PROTOCOL, "the server refuses a WebSocket: %s", buf_text(&shown));
        buf_free(&shown);
        return -1;
    }
    handshake_accept(key, accept);
    const char *upgrade = header(head, length, "Upgrade", &n);
    bool upgrades = has_token(upgrade, n, "websocket");
    const char *connection = header(head, length, "Connection", &n);
    upgrades = upgrades && has_token(connection, n, "upgrade");
    const char *answer = header(head, length, "Sec-WebSocket-Accept", &n);
    if (!upgrades || answer == NULL || n != strlen(accept) || memcmp(answer, accept, n) != 0) {
        return error_set(e, CHELA_E_PROTOCOL,
                         "the server's answer to the WebSocket upgrade is wrong");
    }
    return 0;
}
