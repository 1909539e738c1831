/*
 * The page's files: put into the module by the assembler, served with a policy that lets nothing in
 * from elsewhere. A file's tag is made of its bytes, so a browser asks and mostly hears "the same".
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "channel_webchat.h"

/* WWW_DIR: where the files stand while this is compiled. */
#define FILE_OF(symbol, name)                                                                      \
    __asm__(".pushsection .rodata\n" #symbol ":\n.incbin \"" WWW_DIR "/" name "\"\n" #symbol       \
            "_end:\n.byte 0\n.popsection\n");                                                      \
    extern const char symbol[] __attribute__((visibility("hidden")));                              \
    extern const char symbol##_end[] __attribute__((visibility("hidden")))

FILE_OF(www_index, "index.html");
FILE_OF(www_style, "style.css");
FILE_OF(www_app, "app.js");
FILE_OF(www_transport, "transport.js");
FILE_OF(www_identity, "identity.js");
FILE_OF(www_store, "store.js");
FILE_OF(www_transcript, "transcript.js");
FILE_OF(www_cards, "cards.js");
FILE_OF(www_composer, "composer.js");
FILE_OF(www_sessions, "sessions.js");
FILE_OF(www_settings, "settings.js");
FILE_OF(www_trace, "trace.js");
FILE_OF(www_palette, "palette.js");
FILE_OF(www_text, "text.js");
FILE_OF(www_dom, "dom.js");
FILE_OF(www_icon, "icon.svg");

static const struct file {
    const char *path, *type, *begin, *end;
} files[] = {
    {"/", "text/html; charset=utf-8", www_index, www_index_end},
    {"/webchat/style.css", "text/css; charset=utf-8", www_style, www_style_end},
    {"/webchat/app.js", "text/javascript; charset=utf-8", www_app, www_app_end},
    {"/webchat/transport.js", "text/javascript; charset=utf-8", www_transport, www_transport_end},
    {"/webchat/identity.js", "text/javascript; charset=utf-8", www_identity, www_identity_end},
    {"/webchat/store.js", "text/javascript; charset=utf-8", www_store, www_store_end},
    {"/webchat/transcript.js", "text/javascript; charset=utf-8", www_transcript,
     www_transcript_end},
    {"/webchat/cards.js", "text/javascript; charset=utf-8", www_cards, www_cards_end},
    {"/webchat/composer.js", "text/javascript; charset=utf-8", www_composer, www_composer_end},
    {"/webchat/sessions.js", "text/javascript; charset=utf-8", www_sessions, www_sessions_end},
    {"/webchat/settings.js", "text/javascript; charset=utf-8", www_settings, www_settings_end},
    {"/webchat/trace.js", "text/javascript; charset=utf-8", www_trace, www_trace_end},
    {"/webchat/palette.js", "text/javascript; charset=utf-8", www_palette, www_palette_end},
    {"/webchat/text.js", "text/javascript; charset=utf-8", www_text, www_text_end},
    {"/webchat/dom.js", "text/javascript; charset=utf-8", www_dom, www_dom_end},
    {"/webchat/icon.svg", "image/svg+xml", www_icon, www_icon_end},
};

enum { FILES = sizeof files / sizeof *files };

void webchat_publish_routes(struct chela_inst *in)
{
    struct chela_pair routes[FILES];
    for (unsigned i = 0; i < FILES; i++)
        routes[i] = (struct chela_pair){
            chela_s(files[i].path),
            CHELA_LIT("{\"methods\":[\"GET\",\"HEAD\"],\"auth\":\"none\",\"body_limit\":0}")};
    chela_publish_list(in, CHELA_ROUTES, 1, routes, FILES);
}

static const struct file *find(struct chela_str path)
{
    for (unsigned i = 0; i < FILES; i++)
        if (chela_str_is(path, files[i].path))
            return &files[i];
    return NULL;
}

/* FNV-1a: it tells a changed file, and guards nothing. */
static void make_tag(const struct file *f, char *out, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *p = f->begin; p < f->end; p++)
        hash = (hash ^ (unsigned char)*p) * 1099511628211u;
    snprintf(out, size, "\"%016llx\"", (unsigned long long)hash);
}

static bool has_tag(const struct chela_request *r, const char *tag)
{
    for (uint64_t i = 0; i < r->headers.n; i++)
        if (chela_str_is(r->headers.v[i].name, "if-none-match"))
            return chela_str_is(r->headers.v[i].value, tag);
    return false;
}

void webchat_request(struct chela_inst *in, const struct chela_request *r)
{
    const struct file *f = find(r->path);
    char tag[32] = "";
    if (!f) {
        chela_end(in, r->h.call, CHELA_E_NOT_FOUND, "no such file");
        return;
    }
    make_tag(f, tag, sizeof tag);
    const struct chela_pair headers[] = {
        {CHELA_LIT("content-type"), chela_s(f->type)},
        {CHELA_LIT("etag"), chela_s(tag)},
        {CHELA_LIT("cache-control"), CHELA_LIT("no-cache")},
        {CHELA_LIT("content-security-policy"),
         CHELA_LIT("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: "
                   "data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                   "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types "
                   "chela")},
        {CHELA_LIT("x-content-type-options"), CHELA_LIT("nosniff")},
        {CHELA_LIT("referrer-policy"), CHELA_LIT("no-referrer")},
        {CHELA_LIT("cross-origin-opener-policy"), CHELA_LIT("same-origin")},
        {CHELA_LIT("cross-origin-resource-policy"), CHELA_LIT("same-origin")},
        {CHELA_LIT("permissions-policy"), CHELA_LIT("camera=(), microphone=(), geolocation=()")},
    };
    bool same = has_tag(r, tag);
    CHELA_ARGS(chela_done, d, r->h.call);
    d.http_status = same ? 304 : 200;
    if (!same)
        d.text = chela_sn(f->begin, (size_t)(f->end - f->begin));
    d.headers = (struct chela_pairs){headers, sizeof headers / sizeof *headers};
    in->host->answer->done(in, &d);
}
