/*
 * The allow-list: a set of source and kind. A service over the journal.
 */
#include "agent/allow.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

static struct map entries; /* "source\nkind" */

static char *key_of(const char *source, const char *kind)
{
    return xprintf("%s\n%s", source, kind);
}

static void put(const char *source, const char *kind)
{
    CLEANUP(freep) char *key = key_of(source, kind);
    map_set(&entries, key, &entries);
}

static void load_row(void *owner, const struct journal_row *row)
{
    (void)owner;
    if (row->columns < 2)
        return;
    CLEANUP(freep) char *source = xmemdup(row->values[0].s.s, row->values[0].s.n);
    CLEANUP(freep) char *kind = xmemdup(row->values[1].s.s, row->values[1].s.n);
    put(source, kind);
}

void allow_load(journal_fn *fn, void *owner)
{
    allow_reset();
    journal_allow_list(load_row, fn, owner);
}

bool allow_has(const char *source, const char *kind)
{
    CLEANUP(freep) char *key = key_of(source, kind);
    return map_get(&entries, key) != NULL;
}

static void stored(void *owner, const struct error *e)
{
    (void)owner;
    if (e)
        log_warning("agent", "the allow-list could not be stored: %s", e->text);
}

void allow_add(const char *source, const char *kind, const char *by)
{
    if (allow_has(source, kind))
        return;
    put(source, kind);
    journal_allow(source, kind, by, clock_now_ms(), stored, NULL);
}

void allow_remove(const char *source, const char *kind, journal_fn *fn, void *owner)
{
    CLEANUP(freep) char *key = key_of(source, kind);
    map_remove(&entries, key);
    journal_allow_remove(source, kind, fn, owner);
}

void allow_reset(void)
{
    map_free(&entries, NULL);
    memset(&entries, 0, sizeof entries);
}
