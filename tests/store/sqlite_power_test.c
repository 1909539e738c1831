/*
 * store_sqlite when the power fails, the disk refuses to sync, or the disk is full. Nothing that
 * was acknowledged as a barrier may be missing afterwards, and nothing may have a gap.
 */
/* cmocka wants these before itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/id.h"
#include "base/mem.h"
#include "store/suite.h"
#include "store/vfs.h"

enum { BATCHES = 300 };

static char crash_dir[96];

struct acknowledged {
    size_t position; /* in the log, when the done was there */
    int64_t number;
};

/* Lazy batches and barriers in one chain; what was acknowledged as a barrier, and when. */
static size_t write_chain(struct fake *f, int64_t first, struct acknowledged *acks)
{
    struct outcome *sent[BATCHES];
    size_t count = 0;
    uint64_t last = 0;
    for (int i = 0; i < BATCHES;) {
        int begin = i, group = 1 + (int)(id_random() % 12);
        for (; i < BATCHES && i < begin + group; i++) {
            struct batch b;
            batch_begin(&b, "p", id_random() % 4 == 0 ? CHELA_BARRIER : CHELA_LAZY);
            b.args.after = last;
            last = b.args.id;
            batch_item(&b, first + i,
                       "some text, so that a row is not too small to be torn, and the "
                       "log grows by a page now and then");
            sent[i] = batch_send(f, &b);
            sent[i]->tag = b.args.durability;
        }
        for (int k = begin; k < i; k++) {
            assert_int_equal(fake_wait(f, sent[k]), CHELA_OK);
            if (sent[k]->tag == CHELA_BARRIER)
                acks[count++] = (struct acknowledged){vfs_position(), first + k};
        }
    }
    return count;
}

/* Rows of the chain, -1 if there is a gap or the file is damaged. */
static int64_t look(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    int64_t last = 0;
    bool sound = false;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        sound = strcmp((const char *)sqlite3_column_text(s, 0), "ok") == 0;
    sqlite3_finalize(s);
    if (sqlite3_prepare_v2(db, "SELECT n FROM item WHERE pk='p' ORDER BY n", -1, &s, NULL) ==
        SQLITE_OK)
        while (last >= 0 && sqlite3_step(s) == SQLITE_ROW)
            last = sqlite3_column_int64(s, 0) == last + 1 ? last + 1 : -1;
    sqlite3_finalize(s);
    sqlite3_close(db);
    return sound ? last : -1;
}

static unsigned lost_barriers(size_t from, size_t to, const struct acknowledged *acks, size_t count,
                              bool ignore_syncs, unsigned rounds)
{
    unsigned lost = 0;
    unsigned seed = (unsigned)id_random();
    CLEANUP(freep) char *path = xprintf("%s/first.db", crash_dir);
    print_message("# seed %u, %zu entries\n", seed, to);
    for (unsigned i = 0; i < rounds; i++) {
        static const unsigned keeps[] = {0, 10, 50};
        size_t at = from + (size_t)rand_r(&seed) % (to - from);
        int64_t wanted = 0;
        for (size_t k = 0; k < count && acks[k].position <= at; k++)
            wanted = acks[k].number;
        vfs_crash(crash_dir, at, keeps[i % 3], &seed, from, ignore_syncs);
        int64_t there = look(path);
        if (there < wanted && !ignore_syncs)
            print_message("# cut at %zu: acknowledged %lld, there %lld\n", at, (long long)wanted,
                          (long long)there);
        lost += there < wanted;
    }
    return lost;
}

static void a_power_cut_takes_no_barrier(void **state)
{
    (void)state;
    const char *wanted = getenv("CHELA_TEST_POWER_ROUNDS");
    unsigned rounds = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 30;
    struct acknowledged *acks = xcalloc(BATCHES * 2, sizeof *acks);
    vfs_reset();
    struct fake *f = suite_open(NULL);
    size_t from = vfs_position(), count = write_chain(f, 1, acks);
    count += write_chain(f, 1 + BATCHES, acks + count);
    size_t to = vfs_position();
    assert_true(count > 20);
    assert_int_equal(lost_barriers(from, to, acks, count, false, rounds), 0);
    /* the same without the syncs must lose some, or the test sees nothing */
    assert_true(lost_barriers(from, to, acks, count, true, rounds) > 0);
    fake_close(f);
    free(acks);
}

/* The sync of a commit fails: nobody knows what is on disk until the store has found out. */
static void a_failed_sync_is_settled_or_unknown(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    struct batch b;
    int64_t n[8];
    batch_begin(&b, "p", CHELA_BARRIER);
    batch_item(&b, 1, "first");
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    vfs_fail_syncs(1);
    batch_begin(&b, "p", CHELA_BARRIER);
    batch_item(&b, 2, "second");
    assert_int_equal(batch_commit(f, &b), CHELA_OK); /* it has opened the database anew */
    vfs_fail_syncs(1000);
    batch_begin(&b, "p", CHELA_BARRIER);
    batch_item(&b, 3, "third");
    assert_int_equal(batch_commit(f, &b), CHELA_E_UNKNOWN);
    assert_int_equal(batch_commit(f, &b), CHELA_E_BUSY);
    vfs_fail_syncs(0);
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    assert_int_equal(suite_numbers(f, "p", n, 8), 3);
    assert_non_null(strstr(fake_log(f), "a commit failed while it was written"));
    fake_close(f);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(crash_dir, sizeof crash_dir, "%s/crash", suite_dir);
    return mkdir(crash_dir, 0700);
}

const struct CMUnitTest power_tests[] = {
    cmocka_unit_test(a_power_cut_takes_no_barrier),
    cmocka_unit_test(a_failed_sync_is_settled_or_unknown),
};

int main(void)
{
    suite_begin(NULL);
    vfs_install();
    int failed = cmocka_run_group_tests(power_tests, set_up, NULL);
    vfs_reset();
    suite_end(failed == 0);
    return failed;
}
