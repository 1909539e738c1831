/*
 * What every store must do, part three: blobs, small and large, and backups.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/id.h"
#include "base/mem.h"
#include "store/suite.h"

#include <openssl/evp.h>

static void hash_of(const char *p, size_t n, char hex[65])
{
    unsigned char sum[32];
    assert_int_equal(EVP_Digest(p, n, sum, NULL, EVP_sha256(), NULL), 1);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
}

static struct outcome *blob(struct fake *f, bool put, const char *hash, const char *p, size_t n)
{
    struct outcome *o = fake_call(f);
    CHELA_ARGS(chela_blob, a, o->call);
    a.hash = chela_s(hash);
    a.data = chela_sn(p, n);
    (put ? fake_store(f)->blob_put : fake_store(f)->blob_get)(fake_instance(f), &a);
    return o;
}

static void there_and_back(struct fake *f, size_t n)
{
    char *data = xmalloc(n + 1), hash[65];
    id_bytes(data, n);
    hash_of(data, n, hash);
    assert_int_equal(fake_wait(f, blob(f, false, hash, NULL, 0)), CHELA_E_NOT_FOUND);
    assert_int_equal(fake_wait(f, blob(f, true, hash, data, n)), CHELA_OK);
    assert_int_equal(fake_wait(f, blob(f, true, hash, data, n)), CHELA_OK);
    struct outcome *o = blob(f, false, hash, NULL, 0);
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_int_equal(o->length, n);
    assert_memory_equal(o->text, data, n);
    free(data);
}

static void blobs_of_all_sizes_come_back(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    static const size_t sizes[] = {0, 1, 4096, 65535, 65536, 65537, 300000, 3 << 20};
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
        there_and_back(f, sizes[i]);
    fake_close(f);
}

static void blobs_survive_a_restart(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    char *data = xcalloc(1, 200000), small[65], large[65];
    hash_of(data, 100, small);
    hash_of(data, 200000, large);
    struct outcome *a = blob(f, true, small, data, 100), *b = blob(f, true, large, data, 200000),
                   *c = blob(f, true, large, data, 200000);
    assert_int_equal(fake_wait(f, a), CHELA_OK);
    assert_int_equal(fake_wait(f, b), CHELA_OK);
    assert_int_equal(fake_wait(f, c), CHELA_OK);
    fake_close(f);
    f = suite_open(NULL);
    assert_int_equal(fake_wait(f, a = blob(f, false, small, NULL, 0)), CHELA_OK);
    assert_int_equal(a->length, 100);
    assert_int_equal(fake_wait(f, b = blob(f, false, large, NULL, 0)), CHELA_OK);
    assert_int_equal(b->length, 200000);
    free(data);
    fake_close(f);
}

static void a_blob_must_be_what_its_name_says(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    char *data = xcalloc(1, 100000), hash[65];
    hash_of("x", 1, hash);
    assert_int_equal(fake_wait(f, blob(f, true, hash, "y", 1)), CHELA_E_ARGS);
    assert_int_equal(fake_wait(f, blob(f, true, hash, data, 100000)), CHELA_E_ARGS);
    assert_int_equal(fake_wait(f, blob(f, false, hash, NULL, 0)), CHELA_E_NOT_FOUND);
    static const char *const names[] = {"", "../../etc/passwd", "ABCDEF",
                                        ("zz0000000000000000000000000000000000000000000000000000"
                                         "0000000000")};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        assert_int_equal(fake_wait(f, blob(f, true, names[i], "y", 1)), CHELA_E_ARGS);
        assert_int_equal(fake_wait(f, blob(f, false, names[i], NULL, 0)), CHELA_E_ARGS);
    }
    free(data);
    fake_close(f);
}

static void a_backup_is_a_database_of_its_own(void **state)
{
    (void)state;
    suite_fresh();
    struct fake *f = suite_open(NULL);
    char *data = xcalloc(1, 100000), hash[65];
    hash_of(data, 100000, hash);
    assert_int_equal(fake_wait(f, blob(f, true, hash, data, 100000)), CHELA_OK);
    struct batch b;
    int64_t n[64];
    for (int i = 0; i < 20; i++) {
        batch_begin(&b, "p", CHELA_BARRIER);
        batch_item(&b, i, "before");
        assert_int_equal(batch_commit(f, &b), CHELA_OK);
    }
    char *target = xprintf("%s/backup.db", suite_dir);
    struct outcome *o = fake_call(f);
    CHELA_ARGS(chela_backup, a, o->call);
    a.target = chela_s(target);
    fake_store(f)->backup(fake_instance(f), &a);
    struct outcome *more[20];
    for (int i = 0; i < 20; i++) { /* while it runs */
        batch_begin(&b, "p", CHELA_LAZY);
        batch_item(&b, 100 + i, "beside");
        more[i] = batch_send(f, &b);
    }
    assert_int_equal(fake_wait(f, o), CHELA_OK);
    assert_true(o->length > 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(fake_wait(f, more[i]), CHELA_OK);
    o = fake_call(f);
    a.h.call = o->call;
    fake_store(f)->backup(fake_instance(f), &a);
    assert_int_equal(fake_wait(f, o), CHELA_E_CONFLICT); /* it never writes over one */
    fake_close(f);
    char *path = xprintf("path=%s", target);
    f = suite_open(path);
    size_t rows = suite_numbers(f, "p", n, 64);
    assert_in_range(rows, 20, 40);
    assert_int_equal(fake_wait(f, o = blob(f, false, hash, NULL, 0)), CHELA_OK);
    assert_int_equal(o->length, 100000);
    fake_close(f);
    free(path);
    free(target);
    free(data);
}

const struct CMUnitTest blob_tests[] = {
    cmocka_unit_test(blobs_of_all_sizes_come_back),
    cmocka_unit_test(blobs_survive_a_restart),
    cmocka_unit_test(a_blob_must_be_what_its_name_says),
    cmocka_unit_test(a_backup_is_a_database_of_its_own),
};
const size_t blob_test_count = ARRAY_LENGTH(blob_tests);
