/*
 * multipart/form-data (see form.h).
 */
#include "support/form.h"

#include <json-c/linkhash.h>
#include <stdlib.h>
#include <sys/random.h>

#include "support/json.h"
#include "support/peer.h"

void chela_form_open(struct chela_form *f)
{
    unsigned char noise[16];
    *f = (struct chela_form){0};
    if (getrandom(noise, sizeof noise, 0) != (ssize_t)sizeof noise)
        abort();
    size_t at = (size_t)snprintf(f->boundary, sizeof f->boundary, "chela-");
    for (size_t i = 0; i < sizeof noise; i++)
        at += (size_t)snprintf(f->boundary + at, sizeof f->boundary - at, "%02x", noise[i]);
    snprintf(f->type, sizeof f->type, "multipart/form-data; boundary=%s", f->boundary);
    f->out = chela_need(open_memstream(&f->bytes, &f->n));
}

void chela_form_field(struct chela_form *f, const char *name, const char *type, const char *text)
{
    fprintf(f->out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"\r\n", f->boundary, name);
    if (type)
        fprintf(f->out, "Content-Type: %s\r\n", type);
    fprintf(f->out, "\r\n%s\r\n", text);
}

void chela_form_fields(struct chela_form *f, json_object *fields)
{
    json_object_object_foreach(fields, name, value)
    {
        const char *text = chela_json_as_string(value, NULL);
        chela_form_field(f, name, NULL, text ? text : chela_json_text(value, NULL));
    }
}

void chela_form_file(struct chela_form *f, const char *field, const struct chela_file *file)
{
    fprintf(f->out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"", f->boundary,
            field);
    for (const char *p = file->name; *p; p++) { /* as browsers do it */
        if (*p == '"' || *p == '\r' || *p == '\n')
            fprintf(f->out, "%%%02X", (unsigned)*p);
        else
            fputc(*p, f->out);
    }
    fprintf(f->out, "\"\r\nContent-Type: %s\r\n\r\n", file->mime);
    fwrite(file->bytes, 1, file->n, f->out);
    fputs("\r\n", f->out);
}

void chela_form_end(struct chela_form *f)
{
    fprintf(f->out, "--%s--\r\n", f->boundary);
    fclose(f->out);
    chela_need(f->bytes);
}
