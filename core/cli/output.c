/* Output: see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/clean.h"
#include "cli/width.h"
#include "support/json.h"

int output_failure(const struct common *common, const char *type, const char *message, int status)
{
    if (common->json) {
        json_object *o = chela_json_new_object();
        chela_json_put_bool(o, "ok", false);
        json_object *error = chela_json_put_object(o, "error");
        chela_json_put_text(error, "type", type);
        chela_json_put_text(error, "message", message);
        output_json(o);
        json_object_put(o);
    } else {
        struct buf clean = {0};
        clean_append(&clean, message, strlen(message));
        fflush(stdout);
        fprintf(stderr, "chela: %s\n", buf_text(&clean));
        buf_free(&clean);
    }
    return status;
}

int output_error(const struct common *common, const struct error *e, int status)
{
    return output_failure(common, error_class_name(e->class), e->text, status);
}

void output_json(json_object *value)
{
    size_t length;
    const char *text = chela_json_text(value, &length);
    fwrite(text, 1, length, stdout);
    fputc('\n', stdout);
    fflush(stdout);
}

void output_text(const char *text)
{
    struct buf clean = {0};
    clean_append(&clean, text, strlen(text));
    fwrite(clean.p == NULL ? "" : clean.p, 1, clean.n, stdout);
    buf_free(&clean);
}

void output_line(const char *text)
{
    output_text(text);
    fputc('\n', stdout);
}

void output_cell(const char *text, unsigned columns)
{
    struct buf cell = {0};
    clean_append_line(&cell, text, strlen(text), columns);
    unsigned used = width_columns(buf_text(&cell), cell.n);
    fputs(buf_text(&cell), stdout);
    for (; used < columns; used++) {
        fputc(' ', stdout);
    }
    buf_free(&cell);
}

const char *output_field(json_object *object, const char *key, const char *fallback)
{
    const char *text = chela_json_string(object, key, NULL);
    return text == NULL || text[0] == '\0' ? fallback : text;
}

void output_span(int64_t ms, char *out, size_t size)
{
    if (ms < 1000) {
        snprintf(out, size, "%lld ms", (long long)(ms < 0 ? 0 : ms));
    } else if (ms < 60000) {
        snprintf(out, size, "%lld.%lld s", (long long)(ms / 1000), (long long)(ms / 100 % 10));
    } else if (ms < 3600000) {
        snprintf(out, size, "%lld min %lld s", (long long)(ms / 60000),
                 (long long)(ms / 1000 % 60));
    } else {
        snprintf(out, size, "%lld h %lld min", (long long)(ms / 3600000),
                 (long long)(ms / 60000 % 60));
    }
}

void output_age(int64_t ms, char *out, size_t size)
{
    int64_t age = ((int64_t)clock_now_ms() - ms) / 1000;
    age = age < 0 ? 0 : age;
    if (ms <= 0) {
        snprintf(out, size, "-");
    } else if (age < 60) {
        snprintf(out, size, "%lld s", (long long)age);
    } else if (age < 3600) {
        snprintf(out, size, "%lld min", (long long)(age / 60));
    } else if (age < 86400) {
        snprintf(out, size, "%lld h", (long long)(age / 3600));
    } else {
        snprintf(out, size, "%lld d", (long long)(age / 86400));
    }
}

enum style_level output_level(int fd)
{
    const char *terminal = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");
    if (!isatty(fd) || terminal == NULL || terminal[0] == '\0' || strcmp(terminal, "dumb") == 0) {
        return STYLE_NONE;
    }
    return no_colour != NULL && no_colour[0] != '\0' ? STYLE_MONO : STYLE_COLOUR;
}

int output_unreachable(const struct common *common, const struct place *place, struct error *e)
{
    if (e->class == CHELA_E_AUTH) {
        if (place->token == NULL) {
            error_prefix(e, "the gateway at %s:%u wants a token and none was found (%s)",
                         place->host, place->port,
                         place->token_why != NULL
                             ? place->token_why
                             : "set CHELA_GATEWAY_TOKEN, or run as the user who "
                               "started the gateway");
        } else {
            error_prefix(e, "the gateway at %s:%u refuses the token", place->host, place->port);
        }
        return output_error(common, e, EXIT_NO_GATEWAY);
    }
    if (e->class == CHELA_E_NETWORK) {
        struct error told;
        bool refused = strstr(e->text, strerror(ECONNREFUSED)) != NULL; /* says nothing new */
        error_set(&told, e->class,
                  "no gateway runs at %s port %u%s%s; start one with: chela gateway", place->host,
                  place->port, refused ? "" : ": ", refused ? "" : e->text);
        return output_error(common, &told, EXIT_NO_GATEWAY);
    }
    return output_error(common, e, EXIT_NO_GATEWAY);
}

int output_connect(const struct common *common, struct place *place, struct client *client,
                   client_event_fn *event, void *arg)
{
    struct error e = {0};
    if (place_find(place, common->gateway, &e) != 0) {
        return output_error(common, &e, EXIT_USAGE);
    }
    if (client_open(client, place, event, arg, &e) != 0) {
        return output_unreachable(common, place, &e);
    }
    return EXIT_OK;
}

int output_ask(const struct common *common, const char *method, json_object *params,
               json_object **payload)
{
    struct place place;
    struct client client = {0};
    struct error e = {0};
    *payload = NULL;
    int status = output_connect(common, &place, &client, NULL, NULL);
    if (status != EXIT_OK) {
        json_object_put(params);
    } else if (client_call(&client, method, params, CLIENT_REQUEST_MS, payload, NULL, &e) != 0) {
        status = output_error(common, &e, EXIT_FAILED);
    }
    client_close(&client);
    place_free(&place);
    return status;
}
