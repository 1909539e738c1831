/*
 * One answer of mock_model, streamed or whole, in the wire form of the API that was called: chat
 * completions, Messages, or Ollama's chat. Used by mock_model.c, which decides what is answered.
 */
#ifndef TESTS_FAKES_MOCK_ANSWER_H
#define TESTS_FAKES_MOCK_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum api { CHAT, MESSAGES, OLLAMA, OTHER };

/* What is not yet sent. */
struct out {
    char *p;
    size_t n;
    FILE *f;
};

struct answer {
    enum api api;
    bool stream;
    int fd;
    struct out out;
    int block; /* of the Messages API */
    bool any_call;
};

bool answer_send(int fd, const char *p, size_t n);
const char *answer_quoted(const char *text); /* as a JSON string; kept until the next call */

/* A streamed one: begin, pieces, finish. */
void answer_begin(struct answer *a);
void answer_event(struct answer *a, const char *name);
void answer_event_end(struct answer *a);
void answer_flush(struct answer *a); /* as one piece of a chunked body */
void answer_piece(struct answer *a, const char *text, bool thinking);
void answer_block_start(struct answer *a, const char *about);
void answer_block_stop(struct answer *a);
void answer_say(struct answer *a, const char *text, bool thinking);
/* cut: the arguments end in the middle */
void answer_call(struct answer *a, int index, const char *name, const char *arguments, bool cut);
void answer_finish(struct answer *a, bool length);

/* The same answer as one JSON object, for clients that do not stream. */
void answer_whole(struct answer *a, const char *text);
/* An answer with a length, not chunked; an error of that status. */
void answer_plain(int fd, int status, const char *type, const char *extra, const char *body);
void answer_fail(int fd, enum api api, int status, const char *retry_after);

#endif
