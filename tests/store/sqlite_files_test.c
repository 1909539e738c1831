/*
 * store_sqlite and its files: lock, modes, migrations, databases of others, an unclean end, a full
 * disk, a log that must not grow.
 */
/* cmocka wants these before itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/suite.h"

static char path[128];

static char *file(const char *suffix)
{
    static char names[4][160];
    static unsigned turn;
    char *name = names[turn++ % 4];
    snprintf(name, sizeof names[0], "%s%s", path, suffix);
    return name;
}

static void fresh(void)
{
    static unsigned count;
    static char option[160];
    static const char *options[2] = {option, NULL};
    snprintf(path, sizeof path, "%s/new/folder/f%u.db", suite_dir, ++count);
    snprintf(option, sizeof option, "path=%s", path);
    suite_use(options);
}

static void run_sql(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Opens and says how that went; the store is closed again. */
static uint32_t try_open(char *text, size_t size)
{
    struct fake *f = fake_open(suite_plugin, suite_options(NULL));
    struct outcome *o = suite_begin_open(f);
    uint32_t error = fake_wait(f, o);
    snprintf(text, size, "%s", o->text);
    fake_close(f);
    return error;
}

static unsigned mode_of(const char *name)
{
    struct stat s;
    assert_int_equal(stat(name, &s), 0);
    return s.st_mode & 0777;
}

static void files_are_the_owners_alone(void **state)
{
    (void)state;
    fresh();
    umask(0);
    struct fake *f = suite_open(NULL);
    struct batch b;
    batch_begin(&b, "p", CHELA_LAZY);
    batch_item(&b, 1, "");
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(mode_of(file("-wal")), 0600);
    assert_int_equal(mode_of(file("-shm")), 0600);
    assert_int_equal(mode_of(file("-lock")), 0600);
    char *folder = xmemdup(path, (size_t)(strrchr(path, '/') - path));
    assert_int_equal(mode_of(folder), 0700);
    free(folder);
    fake_close(f);
    assert_int_equal(access(file("-wal"), F_OK), -1); /* a clean end leaves no log */
}

static void two_daemons_cant_share_it(void **state)
{
    (void)state;
    char text[600], pid[24];
    fresh();
    struct fake *f = suite_open(NULL);
    assert_int_equal(try_open(text, sizeof text), CHELA_E_BUSY);
    snprintf(pid, sizeof pid, "process %ld", (long)getpid());
    assert_non_null(strstr(text, path));
    assert_non_null(strstr(text, pid));
    fake_close(f);
    assert_int_equal(try_open(text, sizeof text), CHELA_OK);
}

static void databases_of_others_are_left_alone(void **state)
{
    (void)state;
    char text[600];
    fresh();
    run_sql("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(1)");
    assert_int_equal(try_open(text, sizeof text), CHELA_E_ARGS);
    assert_non_null(strstr(text, "another program"));
    fresh();
    FILE *out = fopen(path, "w");
    fputs("this is no database, but a text of some length, which begins with other bytes", out);
    fclose(out);
    assert_int_not_equal(try_open(text, sizeof text), CHELA_OK);
    assert_non_null(strstr(text, "not a database"));
    fresh();
    assert_int_equal(try_open(text, sizeof text), CHELA_OK);
    run_sql("PRAGMA user_version=99");
    assert_int_equal(try_open(text, sizeof text), CHELA_E_UNSUPPORTED);
    assert_non_null(strstr(text, "newer version"));
}

static uint32_t open_with(const struct chela_pair *migrations, size_t count, char *text,
                          size_t size)
{
    struct fake *f = fake_open(suite_plugin, suite_options(NULL));
    struct outcome *o = fake_call(f);
    CHELA_ARGS(chela_store_open, a, o->call);
    suite_schema(&a);
    a.migrations.v = migrations;
    a.migrations.n = count;
    fake_store(f)->open_db(fake_instance(f), &a);
    uint32_t error = fake_wait(f, o);
    snprintf(text, size, "%s", o->text);
    fake_close(f);
    return error;
}

static int rows_of(const char *name, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    int n = -1;
    assert_int_equal(sqlite3_open_v2(name, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        n = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return n;
}

static void a_migration_is_whole_and_keeps_a_copy(void **state)
{
    (void)state;
    static const struct chela_pair all[] = {
        {CHELA_LIT("one"), CHELA_LIT("CREATE TABLE one(x); INSERT INTO one VALUES(1)")},
        {CHELA_LIT("two"), CHELA_LIT("CREATE TABLE two(x); INSERT INTO one VALUES(2)")},
        {CHELA_LIT("bad"), CHELA_LIT("CREATE TABLE three(x); INSERT INTO nowhere VALUES(1)")}};
    char text[600];
    fresh();
    assert_int_equal(open_with(all, 1, text, sizeof text), CHELA_OK);
    assert_int_not_equal(open_with(all, 3, text, sizeof text), CHELA_OK);
    assert_non_null(strstr(text, "migration 3"));
    assert_int_equal(rows_of(path, "SELECT count(*) FROM one"), 1); /* none of it */
    assert_int_equal(rows_of(path, "SELECT count(*) FROM two"), -1);
    assert_int_equal(open_with(all, 2, text, sizeof text), CHELA_OK);
    assert_int_equal(rows_of(path, "SELECT count(*) FROM one"), 2);
    assert_int_equal(rows_of(file(".before-1"), "SELECT count(*) FROM one"), 1);
    assert_int_equal(mode_of(file(".before-1")), 0600);
    assert_int_equal(open_with(all, 2, text, sizeof text), CHELA_OK); /* each once */
    assert_int_equal(rows_of(path, "SELECT count(*) FROM one"), 2);
}

static void after_an_unclean_end_it_is_checked(void **state)
{
    (void)state;
    fresh();
    struct fake *f = suite_open(NULL);
    struct batch b;
    batch_begin(&b, "p", CHELA_BARRIER);
    batch_item(&b, 1, "");
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    CLEANUP(freep) char *command = xprintf("%s-copy", path);
    /* what a killed process leaves: the files as they are */
    static const char *const suffixes[] = {"", "-wal"};
    for (int i = 0; i < 2; i++) {
        CLEANUP(freep) char *to = xprintf("%s%s", command, suffixes[i]);
        char buffer[4096];
        FILE *in = fopen(file(suffixes[i]), "rb"), *out = fopen(to, "wb");
        for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
            fwrite(buffer, 1, n, out);
        fclose(in);
        fclose(out);
    }
    fake_close(f);
    CLEANUP(freep) char *option = xprintf("path=%s", command);
    f = suite_open(option);
    int64_t n[4];
    do /* the keeper says so beside everything else */
        assert_int_equal(suite_numbers(f, "p", n, 4), 1);
    while (!strstr(fake_log(f), "it is sound"));
    fake_close(f);
}

static void a_full_disk_is_said_and_harms_nothing(void **state)
{
    (void)state;
    fresh();
    struct rlimit before, small;
    struct fake *f = suite_open(NULL);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 400 << 10;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    char *text = xmalloc(20001);
    memset(text, 'x', 20000);
    text[20000] = '\0';
    unsigned good = 0, full = 0, other = 0;
    struct outcome *sent[40];
    for (int i = 0; i < 40; i++) {
        struct batch b;
        batch_begin(&b, "p", i % 2 ? CHELA_BARRIER : CHELA_LAZY);
        batch_item(&b, i, text);
        sent[i] = batch_send(f, &b);
        if (i % 3 == 0)
            fake_wait(f, sent[i]);
    }
    for (int i = 0; i < 40; i++) {
        uint32_t error = fake_wait(f, sent[i]);
        good += error == CHELA_OK;
        full += error == CHELA_E_FULL;
        other += error != CHELA_OK && error != CHELA_E_FULL;
        if (error != CHELA_OK && error != CHELA_E_FULL)
            print_message("# %u: %s\n", error, sent[i]->text);
    }
    setrlimit(RLIMIT_FSIZE, &before);
    int64_t n[40];
    print_message("# %u stored, %u full, %u other\n", good, full, other);
    assert_true(good > 0 && full > 0);
    assert_int_equal(other, 0);
    assert_int_equal(suite_numbers(f, "p", n, 40), good);
    struct batch b; /* when there is room again, all goes on */
    batch_begin(&b, "p", CHELA_BARRIER);
    batch_item(&b, 1000, text);
    assert_int_equal(batch_commit(f, &b), CHELA_OK);
    free(text);
    fake_close(f);
    assert_int_equal(rows_of(path, "SELECT count(*) FROM item"), (int)good + 1);
}

static void the_log_starts_over(void **state)
{
    (void)state;
    fresh();
    struct fake *f = suite_open(NULL);
    char text[3000];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    enum { COUNT = 6000, WINDOW = 32 };
    struct outcome *sent[WINDOW] = {0};
    off_t most = 0;
    for (int i = 0; i < COUNT; i++) {
        struct batch b;
        int at = i % WINDOW;
        if (sent[at]) {
            assert_int_equal(fake_wait(f, sent[at]), CHELA_OK);
            fake_forget(f, sent[at]);
        }
        batch_begin(&b, "p", CHELA_LAZY);
        batch_item(&b, i, text);
        sent[at] = batch_send(f, &b);
        struct stat s;
        if (i % 64 == 0 && stat(file("-wal"), &s) == 0 && s.st_size > most)
            most = s.st_size;
    }
    for (int i = 0; i < WINDOW; i++)
        assert_int_equal(fake_wait(f, sent[i]), CHELA_OK);
    print_message("# the log had at most %lld KiB\n", (long long)most / 1024);
    assert_true(most < 48 << 20); /* all of it would be more than 24 MB of rows, twice in the log */
    fake_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_the_owners_alone),
        cmocka_unit_test(two_daemons_cant_share_it),
        cmocka_unit_test(databases_of_others_are_left_alone),
        cmocka_unit_test(a_migration_is_whole_and_keeps_a_copy),
        cmocka_unit_test(after_an_unclean_end_it_is_checked),
        cmocka_unit_test(a_full_disk_is_said_and_harms_nothing),
        cmocka_unit_test(the_log_starts_over),
    };
    suite_begin(NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    suite_end(failed == 0);
    return failed;
}
