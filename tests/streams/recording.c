/*
 * The files of recorded streams: where they are, their bytes as they came over the wire, and what
 * was noted beside them. Called by replay_test.c; knows no provider.
 */
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *recording_read(const char *path, size_t *ret_length)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t n = 0;
    if (!f)
        return NULL;
    FILE *out = open_memstream(&text, &n);
    for (int c; (c = fgetc(f)) != EOF;)
        fputc(c, out);
    fclose(out);
    fclose(f);
    *ret_length = n;
    return text;
}

bool recording_is(const char *name, const char *suffix)
{
    size_t n = strlen(name), k = strlen(suffix);
    return n > k && strcmp(name + n - k, suffix) == 0;
}

char *recording_wire(const char *path, const struct recording_form *form, size_t *ret_length)
{
    size_t n;
    char *text = recording_read(path, &n), *body = NULL, *rest = text;
    if (!text || !recording_is(path, ".chunks.txt")) {
        *ret_length = n;
        return text;
    }
    FILE *out = open_memstream(&body, ret_length);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line)
            fprintf(out, form->sse ? "data: %s\n\n" : "%s\n", line);
    if (strstr("openai-chat groq xai deepseek", form->folder))
        fputs("data: [DONE]\n\n", out);
    fclose(out);
    free(text);
    return body;
}

const char *recording_source(void)
{
    const char *top = getenv("CHELA_TEST_SRCDIR");
    return top ? top : ".";
}

bool recording_folder(char *out, size_t size, const char *folder)
{
    const char *shared = getenv("CHELA_SHARED");
    if (shared)
        snprintf(out, size, "%s/testdata/streams/%s", shared, folder);
    else
        snprintf(out, size, "%s/../shared/testdata/streams/%s", recording_source(), folder);
    return access(out, R_OK) == 0;
}

json_object *recording_meta(const char *path)
{
    char meta[1400];
    size_t n;
    snprintf(meta, sizeof meta, "%.*s.meta.json", (int)(strlen(path) - strlen(".body")), path);
    char *text = recording_is(path, ".body") ? recording_read(meta, &n) : NULL;
    json_object *o = NULL;
    if (text)
        chela_json_parse(text, n, NULL, &o, NULL);
    free(text);
    return o;
}

unsigned recording_status(const char *path, bool *ret_stream)
{
    json_object *o = recording_meta(path), *error = NULL;
    unsigned status = (unsigned)chela_json_int(o, "status", 200);
    size_t n;
    char *text = recording_is(path, ".json") ? recording_read(path, &n) : NULL;
    if (text && chela_json_parse(text, n, NULL, &error, NULL) == 0)
        status = (unsigned)chela_json_int(chela_json_get(error, "error"), "code", 200);
    json_object_put(error);
    json_object *types = chela_json_get(o, "content_type");
    const char *type = chela_json_as_string(types, NULL);
    if (!type)
        type = chela_json_as_string(chela_json_at(types, 0), NULL);
    *ret_stream = !type || strncmp(type, "application/json", 16) != 0;
    json_object_put(o);
    free(text);
    return status;
}
