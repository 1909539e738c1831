/* A Discord for tests in three parts: fake_discord.c (HTTP API, history, what a test steers),
 * fake_discord_gateway.c (sessions), fake_discord_limits.c (buckets). */
#ifndef FAKE_DISCORD_H
#define FAKE_DISCORD_H

#include <json-c/json_object.h>
#include <stdbool.h>

#define FAKE_ME "4242"

extern const char *fake_token;

/* A line of the log: what came from the client. problem: NULL or what is wrong with it. */
void fake_note(const char *method, const char *path, json_object *body, json_object *files,
               const char *problem);

/* Buckets: each route takes `limit` requests in that time. */
void fake_limit_set(unsigned limit, double seconds);
/* Takes one of the route's, and writes the headers that say so; how many seconds it is to wait if
 * there was none left, else 0. */
double fake_limit(const char *method, const char *path, json_object *headers);

/* The lock of fake_discord.c is held in all of these. */
void fake_gateway_open(unsigned short port, const char *ca, unsigned interval);
const char *fake_gateway_url(void);
void fake_gateway_dispatch(const char *type, json_object *data); /* to all sessions */
/* what: reconnect, invalid (value 1: it may be resumed), close (value: the code, 0: without a
 * word), mute (heartbeats are not answered), freeze, refuse_resume, refuse_intents (value: on or
 * off), text (body: goes out as it is), replay (the last event once more). False: unknown. */
bool fake_gateway_steer(const char *what, long value, const char *body, size_t n);
void fake_lock(void);
void fake_unlock(void);

#endif
