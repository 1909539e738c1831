/*
 * chela/store.h - a store: an asynchronous driver of an SQL engine. It knows no session and no
 * message; the host brings the statements and the schema's migrations.
 */
#ifndef CHELA_STORE_H
#define CHELA_STORE_H

#include <chela/plugin.h>

/*
 * open_db: statements and migrations, before anything else.
 *
 * statements: name = name; value = "FLAGS|PARAMETERS|RESULTS|SQL". Their position is their number.
 * FLAGS: H hot, W writes, 1 must touch exactly one row (else CONFLICT), X crosses partitions.
 * PARAMETERS and RESULTS: a letter each: i int64, t text, b bytes, r real, s search words (any
 * text; the driver turns it into its engine's query for all of them; no word: no row), a the same
 * for any of them. Any may be NULL. In SQL, $1 is the partition unless X.
 *
 * migrations: in order, each applied once, ever; value = SQL.
 *
 * SQL may hold variants: "SQL of the others\n--postgres\nSQL\n--mysql\nSQL".
 *
 * done = the store can be used; text = engine and version.
 */
struct chela_store_open {
    struct chela_head h;
    struct chela_pairs statements, migrations;
};

enum { CHELA_LAZY = 0, CHELA_BARRIER = 1 };

/*
 * A transaction. Each op is a CHELA_V_OP value followed by its parameters.
 *
 *   id          made by the host, unique in the partition, rising with time, below 2^63. The same
 *               id again commits once, and says OK. A store remembers ids for 7 days at least.
 *   partition   key of all rows
 *   after       id of the batch that must have committed, 0 = none (else CHELA_E_SKIPPED)
 *   fence       lease token that must be the newest, 0 = none (else CHELA_E_STALE)
 *   durability  CHELA_LAZY or CHELA_BARRIER: done comes when it and all earlier ones of the
 *               partition are on disk
 *
 * done: OK, CONFLICT, STALE, SKIPPED, FULL, BUSY, UNKNOWN (send the same batch again under the same
 * id) or another class. Dones of different batches come in any order.
 *
 * flags CHELA_VOID: gives the id up; ops are ignored. done OK: no batch of this id will ever commit
 * (one that comes late ends with CHELA_E_CANCELLED); CONFLICT: it has committed.
 *
 * flags CHELA_MAY_WAIT (lazy ones): nothing goes on with its done, so a store may keep it for some
 * 20 ms, to commit it together with what follows. Any later batch of the partition commits it.
 */
enum { CHELA_VOID = 1, CHELA_MAY_WAIT = 2 };
struct chela_batch {
    struct chela_head h;
    uint64_t id, after, fence;
    uint32_t durability, zero;
    struct chela_str partition;
    struct chela_values ops;
};

/* Reads on a connection of its own: rows (kv.h) any number of times, then done; extra = {"columns":
 * n}. limit: most rows, 0 = all. The deadline is the host's. */
struct chela_query {
    struct chela_head h;
    uint32_t statement, limit;
    struct chela_values parameters;
};

/* put: hash = lower-case hex SHA-256 of data, checked; done = stored, and on disk no later than the
 * next barrier that begins after it. get: done.text = bytes, or NOT_FOUND. */
struct chela_blob {
    struct chela_head h;
    struct chela_str hash, data;
};

/* A lease on a partition: done.text = its token as decimal digits; BUSY while another owner's runs.
 */
struct chela_lease {
    struct chela_head h;
    uint64_t token, ttl_ms; /* token 0: take; else keep; ttl_ms 0: give back */
    struct chela_str partition, owner;
};

/* Backup to a new file (or the engine's counterpart); done.text = where it is. */
struct chela_backup {
    struct chela_head h;
    struct chela_str target;
};

struct chela_store {
    uint32_t size, zero;
    void (*open_db)(struct chela_inst *, const struct chela_store_open *); /* [loop] call */
    void (*commit)(struct chela_inst *, const struct chela_batch *);       /* [loop] call */
    void (*query)(struct chela_inst *, const struct chela_query *);        /* [loop] call */
    void (*blob_put)(struct chela_inst *, const struct chela_blob *);      /* [loop] call */
    void (*blob_get)(struct chela_inst *, const struct chela_blob *);      /* [loop] call */
    void (*lease)(struct chela_inst *, const struct chela_lease *);        /* [loop] call */
    void (*backup)(struct chela_inst *, const struct chela_backup *);      /* [loop] call */
};

#endif
