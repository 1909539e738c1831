/*
 * What a person wants of the demo: a handful of requests, in English and Chinese.
 */
#ifndef PROVIDER_DEMO_INTENT_H
#define PROVIDER_DEMO_INTENT_H

#include <stdbool.h>
#include <stddef.h>

enum intent_kind {
    INTENT_OTHER,
    INTENT_LIST,
    INTENT_READ,
    INTENT_WRITE,
    INTENT_SEARCH,
    INTENT_RUN,
    INTENT_WEATHER,
    INTENT_HELP
};

struct intent {
    enum intent_kind kind;
    bool chinese;
    bool counts;     /* "how many" was asked beside */
    char path[512];  /* read, write, list: "" = here */
    char text[4096]; /* write: what to write; search: the words; run: the command; weather: the city
                      */
};

/* Reads a request. Never fails: what it doesn't understand is INTENT_OTHER. */
void intent_read(const char *text, size_t length, struct intent *ret);

#endif
