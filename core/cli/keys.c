/* Keys: the decoder behind keys.h. The sequences are those of ECMA-48 (CSI with parameters), of
 * the VT220 and xterm (SS3, "~" codes, modifiers as the second parameter) and bracketed paste
 * (CSI 200 ~ to CSI 201 ~). What it doesn't know it swallows as a whole, so that no half of a
 * sequence ends up as text. */
#include "cli/keys.h"

#include <string.h>

enum { STATE_GROUND, STATE_ESCAPE, STATE_CSI, STATE_SS3, STATE_LINUX_F };

#define REPLACEMENT 0xFFFDu

void keys_init(struct keys *keys)
{
    memset(keys, 0, sizeof *keys);
}

static bool emit(struct keys *keys, struct key *out, enum key_code code, uint32_t character)
{
    memset(out, 0, sizeof *out);
    out->code = code;
    out->character = character;
    out->alt = keys->alt;
    out->pasted = keys->in_paste && code == KEY_TEXT;
    keys->alt = false;
    return true;
}

static bool emit_pasted(struct keys *keys, unsigned char byte, struct key *out)
{
    bool after_cr = keys->paste_after_cr;
    keys->paste_after_cr = byte == '\r';
    if (byte == '\n' && after_cr) {
        return false;
    }
    return emit(keys, out, KEY_TEXT, byte == '\r' ? '\n' : byte);
}

static bool ground_ascii(struct keys *keys, unsigned char byte, struct key *out)
{
    if (byte == 0x1B) {
        keys->state = STATE_ESCAPE;
        keys->length = 0;
        return false;
    }
    if (keys->in_paste) {
        return emit_pasted(keys, byte, out);
    }
    switch (byte) {
    case '\r':
    case '\n':
        /* Ctrl-J is what some terminals send for Shift-Enter; a raw terminal's Enter is CR. */
        if (byte == '\n') {
            return emit(keys, out, KEY_CONTROL, 'j');
        }
        return emit(keys, out, KEY_ENTER, 0);
    case '\t': return emit(keys, out, KEY_TAB, 0);
    case 0x7F:
    case 0x08: return emit(keys, out, KEY_BACKSPACE, 0);
    default: break;
    }
    if (byte < 0x20) {
        uint32_t letter = byte == 0 ? '@' : byte + 0x40u;
        return emit(keys, out, KEY_CONTROL, letter >= 'A' && letter <= 'Z' ? letter + 32u : letter);
    }
    return emit(keys, out, KEY_TEXT, byte);
}

/* The code point of a complete sequence, or U+FFFD for overlong forms, surrogates and beyond. */
static uint32_t utf8_value(const struct keys *keys)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char mask[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t value = keys->utf8[0] & mask[keys->utf8_need];
    for (size_t i = 1; i < keys->utf8_need; i++) {
        value = value << 6 | (keys->utf8[i] & 0x3Fu);
    }
    if (value < least[keys->utf8_need] || value > 0x10FFFF ||
        (value >= 0xD800 && value <= 0xDFFF)) {
        return REPLACEMENT;
    }
    return value;
}

static bool ground(struct keys *keys, unsigned char byte, struct key *out)
{
    if (byte < 0x80) {
        return ground_ascii(keys, byte, out);
    }
    keys->paste_after_cr = false;
    if (byte >= 0xC2 && byte <= 0xF4) {
        keys->utf8[0] = byte;
        keys->utf8_have = 1;
        keys->utf8_need = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        return false;
    }
    return emit(keys, out, KEY_TEXT, REPLACEMENT);
}

static void set_modifiers(struct key *key, unsigned parameter)
{
    if (parameter < 2 || parameter > 16) {
        return;
    }
    unsigned bits = parameter - 1;
    key->shift = (bits & 1) != 0;
    key->alt = key->alt || (bits & 2) != 0;
    key->control = (bits & 4) != 0;
}

static enum key_code letter_key(unsigned char letter)
{
    switch (letter) {
    case 'A': return KEY_UP;
    case 'B': return KEY_DOWN;
    case 'C': return KEY_RIGHT;
    case 'D': return KEY_LEFT;
    case 'F': return KEY_END;
    case 'H': return KEY_HOME;
    case 'M': return KEY_ENTER;
    default: return KEY_UNKNOWN;
    }
}

static enum key_code tilde_key(unsigned number)
{
    switch (number) {
    case 1:
    case 7: return KEY_HOME;
    case 2: return KEY_INSERT;
    case 3: return KEY_DELETE;
    case 4:
    case 8: return KEY_END;
    case 5: return KEY_PAGE_UP;
    case 6: return KEY_PAGE_DOWN;
    case 200: return KEY_PASTE_BEGIN;
    case 201: return KEY_PASTE_END;
    default: return KEY_UNKNOWN;
    }
}

/* "CSI code ; modifiers u" and "CSI 27 ; modifiers ; code ~": how kitty and xterm spell keys that
 * have no sequence of their own, such as Shift-Enter. */
static bool emit_spelled(struct keys *keys, unsigned code, unsigned modifiers, struct key *out)
{
    if (code == 13) {
        emit(keys, out, KEY_ENTER, 0);
    } else if (code == 9) {
        emit(keys, out, KEY_TAB, 0);
    } else if (code == 27) {
        emit(keys, out, KEY_ESCAPE, 0);
    } else if (code == 127 || code == 8) {
        emit(keys, out, KEY_BACKSPACE, 0);
    } else {
        emit(keys, out, KEY_UNKNOWN, 0);
    }
    set_modifiers(out, modifiers);
    return true;
}

static bool finish_csi(struct keys *keys, unsigned char final, struct key *out)
{
    unsigned parameter[3] = {0, 0, 0};
    size_t index = 0;
    bool plain = true;
    for (size_t i = 0; i < keys->length; i++) {
        unsigned char c = keys->sequence[i];
        if (c >= '0' && c <= '9') {
            if (index < 3 && parameter[index] < 100000) {
                parameter[index] = parameter[index] * 10 + (c - '0');
            }
        } else if (c == ';') {
            index++;
        } else {
            plain = false; /* private parameters: an answer of the terminal, no key */
        }
    }
    keys->state = STATE_GROUND;
    if (!plain) {
        return emit(keys, out, KEY_UNKNOWN, 0);
    }
    if (final == 'u') {
        return emit_spelled(keys, parameter[0], parameter[1], out);
    }
    if (final == '~' && parameter[0] == 27) {
        return emit_spelled(keys, parameter[2], parameter[1], out);
    }
    enum key_code code = final == '~' ? tilde_key(parameter[0]) : letter_key(final);
    if (code == KEY_PASTE_BEGIN) {
        keys->in_paste = true;
        keys->paste_after_cr = false;
    } else if (code == KEY_PASTE_END) {
        keys->in_paste = false;
    }
    emit(keys, out, code, 0);
    set_modifiers(out, parameter[1]);
    return true;
}

static void enqueue(struct keys *keys, const struct key *key)
{
    if (keys->queued < sizeof keys->queue / sizeof keys->queue[0]) {
        keys->queue[keys->queued++] = *key;
    }
}

/* Inside a paste only the paste's end is a sequence; any other escape is text like the rest, and
 * what had looked like the end so far is given out as the characters that it is. */
static bool escape_in_paste(struct keys *keys, unsigned char byte, struct key *out)
{
    static const char end[] = "[201~";
    if (byte == (unsigned char)end[keys->length]) {
        keys->sequence[keys->length++] = byte;
        if (keys->length < sizeof end - 1) {
            return false;
        }
        keys->state = STATE_GROUND;
        keys->in_paste = false;
        return emit(keys, out, KEY_PASTE_END, 0);
    }
    struct key key;
    for (size_t i = 0; i < keys->length; i++) {
        emit(keys, &key, KEY_TEXT, keys->sequence[i]);
        enqueue(keys, &key);
    }
    keys->state = STATE_GROUND;
    keys->paste_after_cr = false;
    if (keys_feed(keys, byte, &key)) {
        enqueue(keys, &key);
    }
    return emit(keys, out, KEY_TEXT, 0x1B);
}

static bool escape(struct keys *keys, unsigned char byte, struct key *out)
{
    if (byte == '[') {
        keys->state = STATE_CSI;
        return false;
    }
    if (byte == 'O') {
        keys->state = STATE_SS3;
        return false;
    }
    if (byte == 0x1B) {
        keys->alt = true; /* ESC ESC [ A is what some terminals send for Alt-Up */
        return false;
    }
    keys->state = STATE_GROUND;
    keys->alt = true;
    if (byte == '\n') {
        return emit(keys, out, KEY_ENTER, 0);
    }
    return ground(keys, byte, out);
}

static bool csi(struct keys *keys, unsigned char byte, struct key *out)
{
    if (keys->length == 0 && byte == '[') {
        keys->state = STATE_LINUX_F;
        return false;
    }
    if (byte >= 0x40 && byte <= 0x7E) {
        return finish_csi(keys, byte, out);
    }
    if (byte < 0x20 || byte > 0x7E) { /* not a part of any sequence: give it up */
        keys->state = STATE_GROUND;
        keys->alt = false;
        return ground(keys, byte, out);
    }
    if (keys->length < sizeof keys->sequence) {
        keys->sequence[keys->length++] = byte;
    } else {
        keys->sequence[0] = '?'; /* too long to be a key: swallowed up to its final byte */
    }
    return false;
}

static bool continue_utf8(struct keys *keys, unsigned char byte, struct key *out)
{
    if ((byte & 0xC0) != 0x80) { /* broken off: a replacement, and this byte for itself */
        keys->utf8_need = 0;
        struct key second;
        emit(keys, out, KEY_TEXT, REPLACEMENT);
        if (keys_feed(keys, byte, &second)) {
            enqueue(keys, &second);
        }
        return true;
    }
    keys->utf8[keys->utf8_have++] = byte;
    if (keys->utf8_have < keys->utf8_need) {
        return false;
    }
    uint32_t value = utf8_value(keys);
    keys->utf8_need = 0;
    return emit(keys, out, KEY_TEXT, value);
}

bool keys_feed(struct keys *keys, unsigned char byte, struct key *out)
{
    if (keys->utf8_need != 0) {
        return continue_utf8(keys, byte, out);
    }
    switch (keys->state) {
    case STATE_ESCAPE:
        return keys->in_paste ? escape_in_paste(keys, byte, out) : escape(keys, byte, out);
    case STATE_CSI: return csi(keys, byte, out);
    case STATE_SS3: {
        keys->state = STATE_GROUND;
        return emit(keys, out, letter_key(byte), 0);
    }
    case STATE_LINUX_F: {
        keys->state = STATE_GROUND;
        return emit(keys, out, KEY_UNKNOWN, 0);
    }
    default: return ground(keys, byte, out);
    }
}

bool keys_pending(struct keys *keys, struct key *out)
{
    if (keys->queued == 0) {
        return false;
    }
    *out = keys->queue[0];
    keys->queued--;
    memmove(&keys->queue[0], &keys->queue[1], keys->queued * sizeof keys->queue[0]);
    return true;
}

bool keys_waiting(const struct keys *keys)
{
    return keys->state != STATE_GROUND && !keys->in_paste;
}

bool keys_timeout(struct keys *keys, struct key *out)
{
    if (!keys_waiting(keys)) {
        return false;
    }
    int state = keys->state;
    keys->state = STATE_GROUND;
    if (state == STATE_CSI && keys->length == 0) { /* Alt-[ */
        keys->alt = true;
        return emit(keys, out, KEY_TEXT, '[');
    }
    if (state == STATE_SS3) {
        keys->alt = true;
        return emit(keys, out, KEY_TEXT, 'O');
    }
    keys->alt = false;
    return emit(keys, out, state == STATE_ESCAPE ? KEY_ESCAPE : KEY_UNKNOWN, 0);
}
