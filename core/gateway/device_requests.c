/*
 * Requests of devices to be let in (see device_requests.h). One for each device; it expires after
 * an hour. Called by admission.c and methods_devices.c.
 */
#include "gateway/device_requests.h"

#include <json-c/json_object.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/audit.h"
#include "gateway/connection.h"
#include "host/loop.h"
#include "support/json.h"

enum { WAITING_MOST = 64, REQUEST_MS = 3600 * 1000 };

struct request {
    struct link link;
    char id[ID_UUID_SIZE];
    struct device *device;
    bool repair; /* the device is known and wants more */
    uint64_t at_ms;
};

static struct link requests = {&requests, &requests};

static void drop(struct request *r)
{
    list_remove(&r->link);
    if (r->device)
        device_free(r->device);
    free(r);
}

void device_requests_reset(void)
{
    LIST_EACH(l, &requests) drop(CONTAINER_OF(l, struct request, link));
}

/* Drops what expired; returns how many wait. */
static unsigned sweep(void)
{
    unsigned n = 0;
    LIST_EACH(l, &requests)
    {
        struct request *r = CONTAINER_OF(l, struct request, link);
        if (r->at_ms + REQUEST_MS <= clock_now_ms())
            drop(r);
        else
            n++;
    }
    return n;
}

static struct request *find(const char *id, const char *device)
{
    LIST_EACH(l, &requests)
    {
        struct request *r = CONTAINER_OF(l, struct request, link);
        if ((id && strcmp(r->id, id) == 0) || (device && strcmp(r->device->id, device) == 0))
            return r;
    }
    return NULL;
}

static json_object *describe(const struct request *r)
{
    static const char *const kept[] = {"deviceId",     "publicKey", "displayName", "platform",
                                       "deviceFamily", "clientId",  "clientMode",  "remoteIp",
                                       "role",         "roles",     "scopes"};
    json_object *o = chela_json_new_object(), *device = device_describe(r->device);
    chela_json_put_text(o, "requestId", r->id);
    for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
        if (chela_json_has(device, kept[i]))
            chela_json_put(o, kept[i], json_object_get(chela_json_get(device, kept[i])));
    chela_json_put_bool(o, "isRepair", r->repair);
    chela_json_put_int(o, "ts", (int64_t)r->at_ms);
    json_object_put(device);
    return o;
}

const char *device_request(struct device *d)
{
    unsigned waiting = sweep();
    struct request *r = find(NULL, d->id);
    if (r && r->device->scopes == d->scopes) {
        device_free(d);
        return r->id;
    }
    if (r)
        drop(r);
    else if (waiting >= WAITING_MOST) {
        device_free(d);
        return NULL;
    }
    r = xcalloc(1, sizeof *r);
    id_uuid(r->id);
    r->device = d;
    r->repair = devices_find(d->id) != NULL;
    r->at_ms = clock_now_ms();
    list_append(&requests, &r->link);
    log_info("gateway", "%s (%s) from %s wants to be let in: chela devices approve %s", d->name,
             d->client_id, d->remote, r->id);
    json_object *event = describe(r);
    connection_broadcast("device.pair.requested", event, SCOPE_PAIRING, 0);
    json_object_put(event);
    return r->id;
}

const struct device *device_requested(const char *id)
{
    sweep();
    const struct request *r = id ? find(id, NULL) : NULL;
    return r ? r->device : NULL;
}

json_object *device_requests(void)
{
    json_object *list = chela_json_new_array();
    sweep();
    LIST_EACH(l, &requests)
    chela_json_push(list, describe(CONTAINER_OF(l, struct request, link)));
    return list;
}

static void tell(const struct request *r, const char *decision, const char *by)
{
    json_object *event = chela_json_new_object(), *what = chela_json_new_object();
    chela_json_put_text(event, "requestId", r->id);
    chela_json_put_text(event, "deviceId", r->device->id);
    chela_json_put_text(event, "decision", decision);
    chela_json_put_int(event, "ts", (int64_t)clock_now_ms());
    connection_broadcast("device.pair.resolved", event, SCOPE_PAIRING, 0);
    json_object_put(event);
    chela_json_put_text(what, "device", r->device->id);
    chela_json_put_text(what, "name", r->device->name);
    chela_json_put_text(what, "remote", r->device->remote);
    chela_json_put(what, "scopes", scopes_list(r->device->scopes));
    audit_note(strcmp(decision, "approved") == 0 ? "device.approve" : "device.reject", by, what);
}

static int no_such(struct error *e)
{
    return error_set(e, CHELA_E_NOT_FOUND,
                     "no device waits with that request; see chela devices list");
}

struct answer {
    journal_fn *fn;
    void *owner;
};

static void answer_no_such(void *arg)
{
    struct answer *a = arg;
    struct error e = {0};
    no_such(&e);
    a->fn(a->owner, &e);
    free(a);
}

void device_request_approve(const char *id, const char *by, journal_fn *fn, void *owner)
{
    sweep();
    struct request *r = find(id, NULL);
    if (!r) {
        struct answer *a = xcalloc(1, sizeof *a);
        *a = (struct answer){fn, owner};
        loop_defer(answer_no_such, a);
        return;
    }
    struct device *d = r->device, *before = devices_find(d->id);
    tell(r, "approved", by);
    free(d->by);
    d->by = xstrdup(by);
    d->approved_ms = clock_now_ms();
    d->created_ms = before ? before->created_ms : d->approved_ms;
    d->generation = before ? before->generation + (before->revoked_ms != 0) : 1;
    r->device = NULL;
    drop(r);
    devices_put(d, fn, owner);
}

int device_request_reject(const char *id, const char *by, struct error *e)
{
    sweep();
    struct request *r = find(id, NULL);
    if (!r)
        return no_such(e);
    tell(r, "rejected", by);
    drop(r);
    return 0;
}
