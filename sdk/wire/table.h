/*
 * The one table that describes all functions of the SDK: what the encoder, the host's thunks, the
 * check of the contract, the child and the test kit's recorder know about them, they know from
 * here. Depends on the SDK's headers and libc alone.
 */
#ifndef WIRE_TABLE_H
#define WIRE_TABLE_H

#include <stdbool.h>

#include "wire/functions.h"

/* What may cross; ZERO is a reserved field, which doesn't. */
enum wire_type { WIRE_U32, WIRE_U64, WIRE_STR, WIRE_PAIRS, WIRE_VALUES, WIRE_ZERO };

struct wire_field {
    const char *name;
    uint16_t offset, size;
    enum wire_type type;
};

/* An argument struct behind its head: fields in the order of their offsets. */
struct wire_args {
    const char *name;
    size_t size;
    unsigned count;
    const struct wire_field *fields;
};

/* functions.h says what they mean */
enum wire_act {
    WIRE_PLAIN,
    WIRE_BEGIN,
    WIRE_VERDICT,
    WIRE_EVENT,
    WIRE_END,
    WIRE_SEND,
    WIRE_CANCEL
};

enum wire_direction { WIRE_TO_PLUGIN, WIRE_TO_HOST };

/* Tables of slots: the interface and its roles, the host's groups. */
enum wire_table {
    WIRE_TABLE_iface,
    WIRE_TABLE_channel,
    WIRE_TABLE_provider,
    WIRE_TABLE_router,
    WIRE_TABLE_tool,
    WIRE_TABLE_store,
    WIRE_TABLE_hook,
    WIRE_TABLE_service,
    WIRE_TABLE_answer,
    WIRE_TABLE_net,
    WIRE_TABLE_process,
    WIRE_TABLE_chat,
    WIRE_TABLE_kv
};

struct wire_function {
    const char *name;
    uint32_t number;
    enum wire_direction direction;
    enum wire_table table;
    enum wire_act act;
    const struct wire_args *args;
    /* Is the slot set in that table (the struct chela_<table>)? Calls it. */
    bool (*has)(const void *table);
    void (*call)(const void *table, struct chela_inst *in, const void *args);
};

/* Every args struct fits into this, which the host hands over zeroed behind the struct. */
enum { WIRE_ARGS_MAX = 512 };

/* NULL if there is no such function. */
const struct wire_function *wire_function(uint32_t number);
/* For all: for (f = NULL; (f = wire_function_next(f));) */
const struct wire_function *wire_function_next(const struct wire_function *f);
/* The table of an interface in which a function to the plugin stands; NULL: it hasn't that role. */
const void *wire_table_of(const struct chela_iface *iface, enum wire_table table);

/* Looks whether the description of a struct covers it without gap or overlap, and all numbers are
 * told apart. NULL, or what is wrong. Run once at start; no call of ours may go by a wrong table.
 */
const char *wire_check(void);
/* The same for one description, for structs outside the table (the child's control frames). */
bool wire_args_complete(const struct wire_args *a);

/* Describes a struct: WIRE_ARGS(chela_text, WIRE_FIELD(chela_text, text)) makes `chela_text_args`.
 * The type comes from the struct and can't be given wrongly. */
#define WIRE_TYPE(field)                                                                           \
    _Generic((field), uint32_t                                                                     \
             : WIRE_U32, uint64_t                                                                  \
             : WIRE_U64, struct chela_str                                                          \
             : WIRE_STR, struct chela_pairs                                                        \
             : WIRE_PAIRS, struct chela_values                                                     \
             : WIRE_VALUES)
#define WIRE_FIELD(tag, field)                                                                     \
    {                                                                                              \
#field, (uint16_t)offsetof(struct tag, field), (uint16_t)sizeof(((struct tag *)0)->field), \
            WIRE_TYPE(((struct tag *)0)->field)                                                    \
    }
#define WIRE_RESERVED(tag, field)                                                                  \
    {                                                                                              \
#field, (uint16_t)offsetof(struct tag, field), (uint16_t)sizeof(((struct tag *)0)->field), \
            WIRE_ZERO                                                                              \
    }
#define WIRE_ARGS(tag, ...)                                                                        \
    static const struct wire_field tag##_fields[] = {__VA_ARGS__};                                 \
    _Static_assert(sizeof(struct tag) <= WIRE_ARGS_MAX, "struct " #tag " is too large to cross");  \
    static const struct wire_args tag##_args = {                                                   \
        #tag, sizeof(struct tag), sizeof tag##_fields / sizeof tag##_fields[0], tag##_fields}

#endif
