/*
 * The recording VFS (see vfs.h). The entries of all files stand in one list, in order of time; file
 * contents are rebuilt from it.
 */
#include "store/vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum kind { WRITE, TRUNCATE, SYNC, DELETE };

struct entry {
    enum kind kind;
    unsigned file;
    size_t offset, n;
    char *data;
};

enum { FILES = 8 };

static struct {
    pthread_mutex_t lock;
    struct entry *entries;
    size_t count, size;
    char *names[FILES];
    unsigned files;
    sqlite3_vfs *inner;
} record = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_int failing_syncs;

struct file {
    sqlite3_file base;
    sqlite3_file *inner;
    int number; /* -1: not written down (temporary) */
};

static struct file *file_of(sqlite3_file *f)
{
    return (struct file *)f;
}

static void note(const struct file *f, enum kind kind, const void *data, size_t n, size_t offset)
{
    if (f->number < 0)
        return;
    pthread_mutex_lock(&record.lock);
    if (record.count == record.size) {
        record.size = record.size ? record.size * 2 : 1024;
        record.entries = xrealloc(record.entries, record.size * sizeof *record.entries);
    }
    record.entries[record.count++] =
        (struct entry){kind, (unsigned)f->number, offset, n, data ? xmemdup(data, n) : NULL};
    pthread_mutex_unlock(&record.lock);
}

static int number_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    pthread_mutex_lock(&record.lock);
    unsigned i = 0;
    while (i < record.files && strcmp(record.names[i], name) != 0)
        i++;
    if (i == record.files) {
        if (i == FILES)
            abort();
        record.names[record.files++] = xstrdup(name);
    }
    pthread_mutex_unlock(&record.lock);
    return (int)i;
}

static int x_close(sqlite3_file *f)
{
    int rc = file_of(f)->inner->pMethods->xClose(file_of(f)->inner);
    free(file_of(f)->inner);
    return rc;
}

static int x_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return file_of(f)->inner->pMethods->xRead(file_of(f)->inner, p, n, at);
}

static int x_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    int rc = file_of(f)->inner->pMethods->xWrite(file_of(f)->inner, p, n, at);
    if (rc == SQLITE_OK)
        note(file_of(f), WRITE, p, (size_t)n, (size_t)at);
    return rc;
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    int rc = file_of(f)->inner->pMethods->xTruncate(file_of(f)->inner, size);
    if (rc == SQLITE_OK)
        note(file_of(f), TRUNCATE, NULL, (size_t)size, 0);
    return rc;
}

/* Nothing is really synced: the test is about what would have been. */
static int x_sync(sqlite3_file *f, int flags)
{
    (void)flags;
    int left = atomic_load(&failing_syncs);
    if (left > 0 && atomic_compare_exchange_strong(&failing_syncs, &left, left - 1))
        return SQLITE_IOERR_FSYNC;
    note(file_of(f), SYNC, NULL, 0, 0);
    return SQLITE_OK;
}

static int x_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    return file_of(f)->inner->pMethods->xFileSize(file_of(f)->inner, ret);
}

static int x_lock(sqlite3_file *f, int level)
{
    return file_of(f)->inner->pMethods->xLock(file_of(f)->inner, level);
}

static int x_unlock(sqlite3_file *f, int level)
{
    return file_of(f)->inner->pMethods->xUnlock(file_of(f)->inner, level);
}

static int x_reserved(sqlite3_file *f, int *ret)
{
    return file_of(f)->inner->pMethods->xCheckReservedLock(file_of(f)->inner, ret);
}

static int x_control(sqlite3_file *f, int op, void *arg)
{
    return file_of(f)->inner->pMethods->xFileControl(file_of(f)->inner, op, arg);
}

static int x_sector(sqlite3_file *f)
{
    return file_of(f)->inner->pMethods->xSectorSize(file_of(f)->inner);
}

static int x_traits(sqlite3_file *f)
{
    return file_of(f)->inner->pMethods->xDeviceCharacteristics(file_of(f)->inner);
}

static int x_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
    return file_of(f)->inner->pMethods->xShmMap(file_of(f)->inner, page, size, extend, ret);
}

static int x_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return file_of(f)->inner->pMethods->xShmLock(file_of(f)->inner, offset, n, flags);
}

static void x_shm_barrier(sqlite3_file *f)
{
    file_of(f)->inner->pMethods->xShmBarrier(file_of(f)->inner);
}

static int x_shm_unmap(sqlite3_file *f, int remove_it)
{
    return file_of(f)->inner->pMethods->xShmUnmap(file_of(f)->inner, remove_it);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = x_close,
    .xRead = x_read,
    .xWrite = x_write,
    .xTruncate = x_truncate,
    .xSync = x_sync,
    .xFileSize = x_size,
    .xLock = x_lock,
    .xUnlock = x_unlock,
    .xCheckReservedLock = x_reserved,
    .xFileControl = x_control,
    .xSectorSize = x_sector,
    .xDeviceCharacteristics = x_traits,
    .xShmMap = x_shm_map,
    .xShmLock = x_shm_lock,
    .xShmBarrier = x_shm_barrier,
    .xShmUnmap = x_shm_unmap,
};

static int x_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *ret_flags)
{
    (void)vfs;
    struct file *mine = file_of(f);
    mine->inner = xcalloc(1, (size_t)record.inner->szOsFile);
    int rc = record.inner->xOpen(record.inner, path, mine->inner, flags, ret_flags);
    if (!mine->inner->pMethods) {
        free(mine->inner);
        mine->base.pMethods = NULL;
        return rc;
    }
    mine->number = path && flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) ? number_of(path) : -1;
    mine->base.pMethods = &methods;
    return rc;
}

static int x_delete(sqlite3_vfs *vfs, const char *path, int sync_dir)
{
    (void)vfs;
    int rc = record.inner->xDelete(record.inner, path, sync_dir);
    size_t n = strlen(path);
    if (rc == SQLITE_OK && n > 4 && strcmp(path + n - 4, "-wal") == 0) {
        struct file f = {.number = number_of(path)};
        note(&f, DELETE, NULL, 0, 0);
    }
    return rc;
}

void vfs_install(void)
{
    static sqlite3_vfs mine;
    record.inner = sqlite3_vfs_find(NULL);
    mine = *record.inner;
    mine.pNext = NULL;
    mine.zName = "recording";
    mine.szOsFile = sizeof(struct file);
    mine.xOpen = x_open;
    mine.xDelete = x_delete;
    sqlite3_vfs_register(&mine, 1);
}

void vfs_reset(void)
{
    pthread_mutex_lock(&record.lock);
    for (size_t i = 0; i < record.count; i++)
        free(record.entries[i].data);
    free(record.entries);
    record.entries = NULL;
    record.count = record.size = 0;
    for (unsigned i = 0; i < record.files; i++)
        free(record.names[i]);
    record.files = 0;
    pthread_mutex_unlock(&record.lock);
}

size_t vfs_position(void)
{
    pthread_mutex_lock(&record.lock);
    size_t n = record.count;
    pthread_mutex_unlock(&record.lock);
    return n;
}

void vfs_fail_syncs(int n)
{
    atomic_store(&failing_syncs, n);
}

/* ---- what a power cut leaves ---- */

struct image {
    char *p;
    size_t n, size;
    bool there;
};

static void put(struct image *m, const char *p, size_t n, size_t at)
{
    if (at + n > m->size) {
        m->size = (at + n) * 2;
        m->p = xrealloc(m->p, m->size);
    }
    if (at > m->n)
        memset(m->p + m->n, 0, at - m->n);
    memcpy(m->p + at, p, n);
    m->n = at + n > m->n ? at + n : m->n;
    m->there = true;
}

static void apply(struct image *m, const struct entry *e, size_t n)
{
    switch (e->kind) {
    case WRITE: put(m, e->data, n, e->offset); break;
    case TRUNCATE:
        if (e->n < m->n)
            m->n = e->n;
        break;
    case DELETE:
        m->n = 0;
        m->there = false;
        break;
    default: break;
    }
}

static void apply_by_chance(struct image *m, const struct entry *e, unsigned keep, unsigned *seed)
{
    if ((unsigned)rand_r(seed) % 100 >= keep)
        return;
    size_t n = e->n;
    if (e->kind == WRITE && rand_r(seed) % 4 == 0 && n > 512)
        n = 512 * (size_t)(1 + (unsigned)rand_r(seed) % (n / 512)); /* torn */
    apply(m, e, n < e->n ? n : e->n);
}

void vfs_crash(const char *dir, size_t at, unsigned keep, unsigned *seed, size_t from,
               bool ignore_syncs)
{
    struct image images[FILES] = {0};
    size_t synced[FILES] = {0};
    pthread_mutex_lock(&record.lock);
    for (size_t i = 0; i < at; i++) {
        const struct entry *e = &record.entries[i];
        if (e->kind == SYNC && !(ignore_syncs && i >= from))
            synced[e->file] = i + 1;
        if (e->kind == DELETE) /* a folder's entry; the log's content was in the database before */
            synced[e->file] = i + 1;
    }
    for (size_t i = 0; i < at; i++) {
        const struct entry *e = &record.entries[i];
        if (i < synced[e->file])
            apply(&images[e->file], e, e->n);
        else
            apply_by_chance(&images[e->file], e, keep, seed);
    }
    for (unsigned i = 0; i < record.files; i++) {
        CLEANUP(freep) char *path = xprintf("%s/%s", dir, record.names[i]);
        remove(path);
        FILE *out = images[i].there ? fopen(path, "wb") : NULL;
        if (out) {
            if (fwrite(images[i].p, 1, images[i].n, out) != images[i].n)
                abort();
            fclose(out);
        }
        free(images[i].p);
    }
    pthread_mutex_unlock(&record.lock);
}
