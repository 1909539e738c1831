/* Onboard: a first set-up, step by step. cmd_onboard.c leads through it; onboard_find.c knows which
 * models could be had, onboard_trial.c asks them, onboard_write.c writes the configuration and
 * onboard_service.c the user's unit. Which providers and channels there are, and what they want to
 * be told, comes from their option tables (chelad --types). */
#ifndef CLI_ONBOARD_H
#define CLI_ONBOARD_H

#include <json-c/json_object.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/command_line.h"

/* A provider that could be used. */
struct candidate {
    char *name, *type;
    char *preset;   /* NULL: none */
    char *base_url; /* NULL: the type's own */
    char *key;      /* name of its key's option; NULL: it needs none */
    char *variable; /* of the environment, where the key is */
    char *found;    /* for people: where it was found */
    char **models;  /* after onboard_ask_models */
    size_t model_count;
};

struct onboard {
    struct common common;
    bool yes, no_service, no_check;
    const char *model, *channel; /* as given; "none": no channel */
    json_object *types;          /* of chelad --types */
    struct candidate *candidates;
    size_t count;
    struct candidate *chosen;
    char *chosen_model;           /* "ollama/llama3" */
    json_object *channel_type;    /* borrowed; NULL: none */
    json_object *channel_options; /* {name: text} that were given; tokens are of secret options */
    bool service;                 /* will be started by systemd */
};

/* ---- onboard_find.c ---- */
/* False with the reason in `e`: the daemon doesn't say what there is. */
bool onboard_read_types(struct onboard *o, struct error *e);
void onboard_find(struct onboard *o);
struct candidate *onboard_add(struct onboard *o, const char *name, const char *type);
json_object *onboard_type(struct onboard *o, const char *section, const char *type);
/* The option that keeps a type's key, and its variable ("${X}" as the default); NULL: none. */
json_object *onboard_key_option(json_object *type, char **ret_variable);
void onboard_free(struct onboard *o);

/* ---- onboard_trial.c: a gateway of our own for a while, in a folder of its own ---- */
struct trial;
struct trial *onboard_trial_open(struct onboard *o, struct error *e);
/* Fills in the models of each candidate; waits for the local ones to answer. */
int onboard_ask_models(struct onboard *o, struct trial *t, struct error *e);
/* A whole turn with the chosen model; its answer is appended. */
bool onboard_try_model(struct onboard *o, struct trial *t, struct buf *answer);
void onboard_trial_close(struct trial *t);

/* ---- onboard_write.c ---- */
/* Writes the keys' files and the configuration, and has the daemon check the whole. Where, in
 * *ret_path; what is wrong, in `e`: nothing is left then but what was there. */
int onboard_write(struct onboard *o, char **ret_path, struct error *e);

/* ---- onboard_service.c ---- */
/* Whether systemd runs services for this user here. */
bool onboard_has_systemd(void);
/* Installs the unit where it isn't, and starts it. */
int onboard_install_service(struct buf *said, struct error *e);

#endif
