/* Output: what the subcommands print: results, failures, and the way to a gateway with the failure
 * that it may be. Everything that came from the gateway is printed through here or as rows. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <json-c/json_object.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/styled.h"

/* Tells of a failure: {"ok":false,"error":{"type","message"}} on standard output with --json, else
 * "chela: ..." on standard error. Returns `status`. */
int output_failure(const struct common *common, const char *type, const char *message, int status);
int output_error(const struct common *common, const struct error *e, int status);

/* The value as JSON and a line break. */
void output_json(json_object *value);

/* Foreign text, made harmless unless --json is meant; no line break is added. */
void output_text(const char *text);
void output_line(const char *text);
/* Padded to a number of columns, cut if longer. */
void output_cell(const char *text, unsigned columns);

/* A member as text, the fallback where it is absent, empty or no string. */
const char *output_field(json_object *object, const char *key, const char *fallback);

/* "3 s", "2 min", "4 h", "5 d" since a moment in milliseconds since 1970; "-" for 0. */
void output_age(int64_t ms, char *out, size_t size);
void output_span(int64_t ms, char *out, size_t size); /* "350 ms", "1.2 s", "3 min 5 s" */

/* What this standard output may be given. */
enum style_level output_level(int fd);

/* Connects as `common` says. EXIT_OK, or the status to exit with after having told why. */
int output_connect(const struct common *common, struct place *place, struct client *client,
                   client_event_fn *event, void *arg);

/* Why no connection came about, with what to do about it; the status to exit with. */
int output_unreachable(const struct common *common, const struct place *place, struct error *e);

/* Connects, asks one thing, closes. On EXIT_OK *payload is the caller's. */
int output_ask(const struct common *common, const char *method, json_object *params,
               json_object **payload);

#endif
