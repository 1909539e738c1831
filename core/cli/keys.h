/* Keys: turns the bytes that a terminal sends into keys. Knows UTF-8, the control characters, the
 * escape sequences of the usual terminals and bracketed paste. Called by line.c with one byte at a
 * time; keeps no more than one unfinished sequence and never reads or writes a descriptor. */
#ifndef CLI_KEYS_H
#define CLI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum key_code {
    KEY_NONE,
    KEY_TEXT,    /* a character; its code point stands in .character */
    KEY_CONTROL, /* Ctrl and a letter: .character is the letter in lower case, or one of @[\]^_ */
    KEY_ENTER,
    KEY_TAB,
    KEY_BACKSPACE,
    KEY_DELETE,
    KEY_INSERT,
    KEY_ESCAPE,
    KEY_UP,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_PASTE_BEGIN,
    KEY_PASTE_END,
    KEY_UNKNOWN, /* a whole escape sequence that means nothing to us */
};

struct key {
    enum key_code code;
    uint32_t character;
    bool alt;
    bool control; /* with KEY_LEFT and its like only; a letter with Ctrl is KEY_CONTROL */
    bool shift;
    bool pasted; /* the character came by bracketed paste and is to be taken literally */
};

struct keys {
    unsigned char sequence[32]; /* after ESC */
    size_t length;
    int state;
    bool alt;
    bool in_paste;
    bool paste_after_cr;
    unsigned char utf8[4];
    size_t utf8_have, utf8_need;
    struct key queue[8]; /* keys that wait behind the one just given */
    size_t queued;
};

void keys_init(struct keys *keys);

/* Takes one byte. True: *out is a key. Afterwards keys_pending must be asked until it says false,
 * since a broken sequence can end in several keys. */
bool keys_feed(struct keys *keys, unsigned char byte, struct key *out);
bool keys_pending(struct keys *keys, struct key *out);

/* True while a sequence that could also be the Escape key alone is unfinished: the caller waits
 * some tens of milliseconds for more and then calls keys_timeout. */
bool keys_waiting(const struct keys *keys);
bool keys_timeout(struct keys *keys, struct key *out);

#endif
