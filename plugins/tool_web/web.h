/*
 * What the files of tool_web share: one call that is under way, and where its request goes on.
 */
#ifndef TOOL_WEB_WEB_H
#define TOOL_WEB_WEB_H

#include <chela/chela.h>

#include "html.h"
#include "support/json.h"

struct web {
    uint64_t call;
    void (*done)(struct chela_inst *in, struct web *w, const struct chela_done *d);
    char *url, *host;
    unsigned redirects;
    bool markdown, cut;
    size_t most;
    char *body, *charset, *text;
    size_t length;
};

void *web_need(void *pointer);
char *web_host(const char *url);
bool web_listed(struct chela_inst *in, const char *option, const char *host);
/* Ends the call; frees w. */
void web_end(struct chela_inst *in, struct web *w, bool failed, const char *text);

/* search.c */
void search_send(struct chela_inst *in, struct web *w, json_object *arguments);
void search_done(struct chela_inst *in, struct web *w, const struct chela_done *d);

#endif
