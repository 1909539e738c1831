/*
 * web_search: one request to the configured service, its list of results as text. Called by
 * tool_web.c; the key goes by the host, which knows where it may go.
 */
#include "web.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/urlencode.h"

enum { COUNT = 8 };

static bool is_backend(struct chela_inst *in, const char *name)
{
    return chela_str_is(chela_option_text(in, "search.backend"), name);
}

void search_send(struct chela_inst *in, struct web *w, json_object *arguments)
{
    const char *query = chela_json_string(arguments, "query", NULL),
               *url = chela_option_text(in, "search.url").s;
    struct chela_str header = chela_option_text(in, "search.key_header"),
                     key = chela_option_text(in, "search.key");
    bool brave = is_backend(in, "brave");
    int64_t count = chela_json_int(arguments, "count", COUNT);
    char *text = NULL;
    size_t n;
    FILE *out = web_need(open_memstream(&text, &n));
    w->most = count > 0 ? (size_t)count : COUNT;
    if (brave)
        fprintf(out,
                "%s/res/v1/web/search?count=%zu&q=", *url ? url : "https://api.search.brave.com",
                w->most);
    else if (is_backend(in, "searxng"))
        fprintf(out, "%s%s?format=json&q=", url, strstr(url, "/search") ? "" : "/search");
    else
        fprintf(out, "%s%c%s=", url, strchr(url, '?') ? '&' : '?',
                chela_option_text(in, "search.query").s);
    chela_urlencode(out, query ? query : "");
    fclose(out);
    w->url = text;
    struct chela_pair headers[2] = {{CHELA_LIT("Accept"), CHELA_LIT("application/json")}};
    size_t headers_n = 1;
    if (key.n && (brave || header.n))
        headers[headers_n++] =
            (struct chela_pair){brave ? chela_s("X-Subscription-Token") : header, key};
    CHELA_ARGS(chela_http, a, in->host->local->new_call(in));
    a.h.tag = (uint64_t)(uintptr_t)w;
    a.parent = w->call;
    a.method = chela_s("GET");
    a.url = chela_s(text);
    a.limit = (uint64_t)chela_option_number(in, "max_bytes");
    a.timeout_ms = (uint32_t)chela_option_number(in, "timeout");
    a.headers.v = headers;
    a.headers.n = headers_n;
    in->host->net->http(in, &a);
}

static const char *member(struct chela_inst *in, const char *option, const char *fixed)
{
    return is_backend(in, "json") ? chela_option_text(in, option).s : fixed;
}

static char *list_text(struct chela_inst *in, json_object *list, size_t most)
{
    bool brave = is_backend(in, "brave");
    const char *title = member(in, "search.title", "title"),
               *link = member(in, "search.link", "url"),
               *snippet = member(in, "search.snippet", brave ? "description" : "content");
    char *text = NULL;
    size_t n;
    FILE *out = web_need(open_memstream(&text, &n));
    for (size_t i = 0; i < chela_json_length(list) && i < most; i++) {
        json_object *o = chela_json_at(list, i);
        const char *t = chela_json_string(o, title, NULL), *l = chela_json_string(o, link, NULL),
                   *s = chela_json_string(o, snippet, NULL);
        fprintf(out, "%zu. %.300s\n   %.1000s\n   %.1000s\n", i + 1, t ? t : "", l ? l : "",
                s ? s : "");
    }
    fclose(out);
    return text;
}

void search_done(struct chela_inst *in, struct web *w, const struct chela_done *d)
{
    json_object *o = NULL;
    const char *place = is_backend(in, "brave")  ? "/web/results"
                        : is_backend(in, "json") ? chela_option_text(in, "search.results").s
                                                 : "/results";
    char *text = NULL;
    if (d->error != CHELA_OK ||
        chela_json_parse(d->text.s, (size_t)d->text.n, NULL, &o, NULL) < 0) {
        if (asprintf(&text, "The search failed: HTTP status %u %.300s", d->http_status,
                     d->error != CHELA_OK && d->text.n ? d->text.s : "(no JSON)") < 0)
            abort();
        web_end(in, w, true, text);
    } else {
        json_object *list = *place ? chela_json_path(o, place) : o;
        text = list_text(in, list, w->most);
        web_end(in, w, false, *text ? text : "Nothing was found.");
    }
    json_object_put(o);
    free(text);
}
