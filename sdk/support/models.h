/*
 * What is known of a provider's models: its built-in table, the option "models", and the list that
 * the service gives. The option decides which there are; what it leaves open comes from the
 * service, then from the table. Called by provider plugins; publishes CHELA_MODELS.
 */
#ifndef CHELA_SUPPORT_MODELS_H
#define CHELA_SUPPORT_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chela/chela.h>
#include <json-c/json_object.h>

#pragma GCC visibility push(hidden)

/* A row of the built-in table; 0 = not known. Prices per million tokens; what a cache gives back
 * and takes in costs as much as what is read where the row says nothing else. Where the service
 * asks more for a long request: from which number of tokens on, and how much; also 0 if not.
 *
 * The figures of all providers' tables: the catalogue models.dev, its state of 2026-07-02. */
struct chela_model {
    const char *name;
    uint64_t context, max_output;
    bool images, thinking;
    double price_in, price_out, price_cache_read, price_cache_write;
    const char *alias; /* short name, or NULL */
    uint64_t long_over;
    double long_in, long_out, long_cache_read;
};

struct chela_model_table {
    const struct chela_model *v;
    size_t n;
};
#define CHELA_MODEL_TABLE(rows)                                                                    \
    {                                                                                              \
        rows, sizeof rows / sizeof rows[0]                                                         \
    }

/* Items of the option "models", for the provider's option table. */
extern const struct chela_option chela_model_items[];

/* The models of the option, else the table; NULL where none is known. */
void chela_publish_models(struct chela_inst *in, const struct chela_model_table *table);
/* The models of the option, else those that the service named: an array of objects with the members
 * of CHELA_MODELS, "name" at least. What they lack is filled in from the table, by name, alias, or
 * the longest name in it that they begin with; prices only if the name is the row's but for a date,
 * an edition or a tag behind it, since "x-pro" may cost ten times as much as "x". */
void chela_publish_found(struct chela_inst *in, json_object *found,
                         const struct chela_model_table *table);

/* "state" of the instance: whether it can be used, and what a person should know. */
void chela_publish_state(struct chela_inst *in, bool ok, const char *text);

/* GET url as a request of its own, whose done has the tag. */
void chela_ask(struct chela_inst *in, uint64_t tag, const char *method, const char *url,
               const char *body, const struct chela_pair *headers, size_t header_count);

#pragma GCC visibility pop
#endif
