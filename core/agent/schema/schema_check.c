/*
 * Checks a value against a compiled schema: the walk over nodes, its bounds on depth and work, and
 * the reports of what doesn't fit. The keywords themselves are in schema_values.c and
 * schema_apply.c.
 */
#include "agent/schema/schema_internal.h"
#include "base/mem.h"
#include "support/json.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REPORTS   6
#define SHOWN_POINTER 160

/* ---- bounds ---- */

static bool stop(struct schema_run *run, const char *why)
{
    if (!run->stopped)
        run->stopped = why;
    return false;
}

bool schema_run_step(struct schema_run *run, size_t steps)
{
    if (run->steps < steps) {
        run->steps = 0;
        return stop(run, "checking this value takes too many steps");
    }
    run->steps -= steps;
    return !run->stopped;
}

bool schema_run_match(struct schema_run *run, const struct schema_pattern *pattern,
                      const char *text, size_t length)
{
    /* The matcher doesn't say how much it did, so it may do more and more, and pays for each try.
     */
    for (uint32_t limit = 1000; limit <= 10000000; limit *= 10) {
        if (!schema_run_step(run, limit / 100 + length / 64))
            return false;
        int result = schema_pattern_match(pattern, text, length, limit);
        if (result >= 0)
            return result == 1;
    }
    return stop(run, "a pattern takes too many steps on this value");
}

/* ---- reports ---- */

static void write_place(struct buf *out, const struct schema_place *place)
{
    if (!place)
        return;
    write_place(out, place->up);
    if (place->key)
        schema_describe_token(out, place->key);
    else
        buf_printf(out, "/%zu", place->index);
}

bool schema_run_reports(const struct schema_run *run)
{
    return run->sink && run->sink->left > 0 && !run->stopped;
}

struct buf *schema_run_begin(struct schema_run *run, const struct schema_place *place)
{
    struct buf *out = &run->sink->text;
    buf_puts(out, out->n > 0 ? "; " : "");
    size_t start = out->n;
    write_place(out, place);
    schema_describe_shorten(out, start, SHOWN_POINTER);
    buf_puts(out, out->n > start ? ": " : "");
    return out;
}

bool schema_run_end(struct schema_run *run)
{
    run->sink->left = run->sink->text.n < run->sink->limit ? run->sink->left - 1 : 0;
    return false;
}

bool schema_run_expected(struct schema_run *run, const struct schema_place *place,
                         json_object *value, const char *format, ...)
{
    if (!schema_run_reports(run))
        return false;
    va_list ap;
    va_start(ap, format);
    struct buf *out = schema_run_begin(run, place);
    buf_puts(out, "expected ");
    buf_vprintf(out, format, ap);
    va_end(ap);
    buf_puts(out, ", found ");
    schema_describe_value(out, value);
    return schema_run_end(run);
}

/* ---- the walk ---- */

static bool check_rules(struct schema_run *run, const struct schema_node *node, json_object *value,
                        const struct schema_place *place, struct schema_marks *marks)
{
    unsigned types = schema_value_types(value);
    bool fits = true;
    for (size_t i = 0; i < node->rule_count; i++) {
        const struct schema_rule *rule = &node->rules[i];
        bool last = strncmp(rule->keyword->name, "unevaluated", 11) == 0;
        if (!rule->keyword->check || !(rule->keyword->types & types) || (last && !fits))
            continue;
        if (!rule->keyword->check(run, rule, value, place, marks))
            fits = false;
        if (run->stopped || (!fits && !schema_run_reports(run)))
            return false;
    }
    return fits;
}

bool schema_run_node(struct schema_run *run, const struct schema_node *node, json_object *value,
                     const struct schema_place *place, struct schema_marks *marks)
{
    size_t count = marks || node->tracks ? chela_json_length(value) : 0;
    if (!schema_run_step(run, 1 + count / 16))
        return false;
    if (node->never) {
        if (!schema_run_reports(run))
            return false;
        buf_puts(schema_run_begin(run, place), "nothing is allowed here");
        return schema_run_end(run);
    }
    if (node->rule_count == 0)
        return true;
    if (++run->depth > SCHEMA_MAX_DEPTH) {
        run->depth--;
        return stop(run,
                    "the schema refers to itself without end, or the value is nested too deeply");
    }
    /* Marks of its own, so that it sees what it and its parts have evaluated and no cousin has. */
    struct schema_marks own = {NULL, count};
    bool tracked = marks || node->tracks;
    if (tracked)
        own.seen = xcalloc(count + 1, 1);
    bool fits = check_rules(run, node, value, place, tracked ? &own : NULL);
    for (size_t i = 0; fits && marks && i < count; i++)
        marks->seen[i] |= own.seen[i];
    free(own.seen);
    run->depth--;
    return fits;
}

bool schema_run_quietly(struct schema_run *run, const struct schema_node *node, json_object *value,
                        const struct schema_place *place, struct schema_marks *marks)
{
    struct schema_sink *sink = run->sink;
    run->sink = NULL;
    bool fits = schema_run_node(run, node, value, place, marks);
    run->sink = sink;
    return fits;
}

int schema_check(const struct schema *schema, json_object *value, struct error *error)
{
    struct schema_sink sink = {.limit = SCHEMA_SINK_SIZE, .left = MAX_REPORTS};
    struct schema_run run = {.steps = SCHEMA_MAX_STEPS, .sink = &sink};
    int result = 0;
    bool fits = schema_run_node(&run, schema->root, value, NULL, NULL);
    if (run.stopped)
        result = error_set(error, CHELA_E_TOO_LONG, "%s", run.stopped);
    else if (!fits)
        result = error_set(error, CHELA_E_ARGS, "%s", buf_text(&sink.text));
    buf_free(&sink.text);
    return result;
}
