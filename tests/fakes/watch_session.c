/*
 * A client of the gateway's WebSocket that only looks: prints {"history":[...]} of a session, then
 * each event as {"event","payload"}, a line each.
 *
 *   watch_session SESSION
 *
 * Writes "ready" to descriptor 3 when it has the history. Ends when the gateway does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/place.h"
#include "support/json.h"

static void print(const char *name, json_object *value, const char *event)
{
    json_object *o = chela_json_new_object();
    if (event)
        chela_json_put_text(o, "event", event);
    chela_json_put(o, name, json_object_get(value));
    printf("%s\n", chela_json_text(o, NULL));
    fflush(stdout);
    json_object_put(o);
}

static void happened(void *arg, const char *event, json_object *payload)
{
    (void)arg;
    print("payload", payload, event);
}

int main(int argc, char **argv)
{
    struct place place;
    struct client client = {0};
    struct error e = {0};
    json_object *params = chela_json_new_object(), *history = NULL;
    chela_json_put_text(params, "sessionKey", argc > 1 ? argv[1] : "main");
    if (place_find(&place, NULL, &e) != 0 ||
        client_open(&client, &place, happened, NULL, &e) != 0 ||
        client_call(&client, "chat.history", params, CLIENT_REQUEST_MS, &history, NULL, &e) != 0) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    print("history", history, NULL);
    dprintf(3, "ready\n");
    close(3);
    json_object_put(history);
    while (client_wait(&client, -1, &e) == 0)
        continue;
    client_close(&client);
    place_free(&place);
    return 0;
}
