/*
 * Blobs, named by their SHA-256: up to 64 KiB in the database, larger ones as files beside it, in
 * "<database>.blobs/ab/<hash>". A file is written, synced, renamed and its folder synced before the
 * row that names it exists; a file without a row is harmless. Runs on a pool thread (files), the
 * writer (rows) and a reader (get).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static char *file_of(const char *database, const char *hash)
{
    size_t n = strlen(database) + 80;
    char *path = need(malloc(n));
    snprintf(path, n, "%s.blobs/%.2s/%s", database, hash, hash);
    return path;
}

int blob_check(struct job *j, struct failure *f)
{
    if (j->text.n != 64 || strspn(j->text.s, "0123456789abcdef") != 64)
        return fail(f, CHELA_E_ARGS, "a blob's hash is 64 lower-case hex digits");
    if (j->data.n > BLOB_MAX)
        return fail(f, CHELA_E_TOO_LONG, "a blob holds at most %d MiB", BLOB_MAX >> 20);
    return 0;
}

static int check_hash(const void *p, size_t n, const char *hash, struct failure *f)
{
    char found[65];
    files_sha256(p, n, found);
    return memcmp(found, hash, 64) == 0
               ? 0
               : fail(f, CHELA_E_ARGS, "the data's SHA-256 is %s, not %s", found, hash);
}

static int fail_errno(struct failure *f, const char *what, const char *path)
{
    int e = errno;
    return fail(f, e == ENOSPC || e == EDQUOT || e == EFBIG ? CHELA_E_FULL : CHELA_E_OTHER,
                "can't %s %s: %s", what, path, strerror(e));
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int make_folders(struct store *st, const char *path, struct failure *f)
{
    char *dir = need(strndup(path, (size_t)(strrchr(path, '/') - path)));
    struct stat s;
    int r = 0;
    if (stat(dir, &s) < 0) {
        char *top = join_text(st->path, ".blobs");
        r = files_make_dir(dir, f);
        if (r == 0)
            r = files_sync_dir_of(dir, f);
        if (r == 0)
            r = files_sync_dir_of(top, f);
        free(top);
    }
    free(dir);
    return r;
}

int blob_write_file(struct job *j, struct failure *f)
{
    struct store *st = j->store;
    if (check_hash(j->data.s, j->data.n, j->text.s, f) < 0)
        return -1;
    char *path = file_of(st->path, j->text.s), *part = NULL;
    struct stat s;
    int r = 0, fd = -1;
    if (stat(path, &s) == 0 && (uint64_t)s.st_size == j->data.n)
        goto out; /* it was synced before it got its name */
    r = make_folders(st, path, f);
    if (r < 0)
        goto out;
    part = join_text(path, ".XXXXXX");
    fault_point("before a blob's file");
    fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0 || write_all(fd, j->data.s, j->data.n) < 0 || fsync(fd) < 0)
        r = fail_errno(f, "write", part);
    if (r == 0 && rename(part, path) < 0)
        r = fail_errno(f, "rename to", path);
    if (r == 0)
        r = files_sync_dir_of(path, f);
    fault_point("after a blob's file");
    if (r < 0 && fd >= 0)
        unlink(part);
    if (fd >= 0)
        close(fd);
out:
    free(part);
    free(path);
    return r;
}

int blob_put_row(struct store *st, struct job *j, struct failure *f)
{
    struct connection *c = &st->writer.connection;
    bool in_row = j->data.n <= BLOB_INLINE;
    if (in_row && check_hash(j->data.s, j->data.n, j->text.s, f) < 0)
        return -1;
    sqlite3_stmt *s = connection_own(c, OWN_BLOB_PUT, f);
    if (!s)
        return -1;
    sqlite3_bind_text64(s, 1, j->text.s, j->text.n, SQLITE_STATIC, SQLITE_UTF8);
    sqlite3_bind_int64(s, 2, (int64_t)j->data.n);
    if (in_row)
        sqlite3_bind_blob64(s, 3, j->data.s, j->data.n, SQLITE_STATIC);
    sqlite3_step(s);
    int rc = sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    if (rc != SQLITE_OK)
        return fail_sqlite(f, c->db, rc, "blob");
    if (!j->result)
        job_result(j, j->text.s);
    return 0;
}

static int read_file(struct store *st, struct job *j, size_t size, struct failure *f)
{
    char *path = file_of(st->path, j->text.s);
    int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
    char *data = need(malloc(size + 1));
    size_t have = 0;
    while (fd >= 0 && have < size) {
        ssize_t n = read(fd, data + have, size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    if (fd < 0 || have < size)
        r = fail(f, CHELA_E_NOT_FOUND, "the blob's file %s can't be read or is too short", path);
    else if ((r = check_hash(data, size, j->text.s, f)) < 0)
        fail(f, CHELA_E_NOT_FOUND, "the blob's file %s is damaged", path);
    if (fd >= 0)
        close(fd);
    free(path);
    if (r < 0) {
        free(data);
        return -1;
    }
    j->result = data;
    j->result_length = size;
    return 0;
}

int blob_read(struct store *st, struct connection *c, struct job *j, struct failure *f)
{
    sqlite3_stmt *s = connection_own(c, OWN_BLOB_GET, f);
    if (!s)
        return -1;
    sqlite3_bind_text64(s, 1, j->text.s, j->text.n, SQLITE_STATIC, SQLITE_UTF8);
    int rc = sqlite3_step(s), r = 0;
    if (rc == SQLITE_DONE)
        r = fail(f, CHELA_E_NOT_FOUND, "there is no blob %s", j->text.s);
    else if (rc != SQLITE_ROW)
        r = fail_sqlite(f, c->db, rc, "blob");
    else if (sqlite3_column_type(s, 1) == SQLITE_NULL)
        r = read_file(st, j, (size_t)sqlite3_column_int64(s, 0), f);
    else {
        const void *p = sqlite3_column_blob(s, 1);
        j->result_length = (size_t)sqlite3_column_bytes(s, 1);
        j->result = need(malloc(j->result_length + 1));
        if (j->result_length)
            memcpy(j->result, p, j->result_length);
    }
    sqlite3_reset(s);
    return r;
}

static int copy_file(const char *from, const char *to, struct failure *f)
{
    if (link(from, to) == 0 || errno == EEXIST)
        return 0; /* the same inode will do: blobs never change */
    int in = open(from, O_RDONLY | O_CLOEXEC), r = 0;
    int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char buffer[65536];
    ssize_t n = 0;
    while (out >= 0 && (n = read(in, buffer, sizeof buffer)) > 0)
        if (write_all(out, buffer, (size_t)n) < 0)
            break;
    if (in < 0 || out < 0 || n != 0 || fsync(out) < 0)
        r = fail_errno(f, "copy", from);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return r;
}

static int copy_blob(struct store *st, const char *target, const char *hash, struct failure *f)
{
    char *from = file_of(st->path, hash), *to = file_of(target, hash);
    char *dir = need(strndup(to, (size_t)(strrchr(to, '/') - to)));
    int r = files_make_dir(dir, f);
    if (r == 0)
        r = copy_file(from, to, f);
    if (r == 0)
        r = files_sync_dir_of(to, f);
    free(dir);
    free(from);
    free(to);
    return r;
}

int blob_copy_files(struct store *st, const char *target, struct failure *f)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_open_v2(target, &db, SQLITE_OPEN_READONLY, NULL), r = 0;
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "SELECT hash FROM chela_blob WHERE data IS NULL", -1, &s, NULL);
    while (rc == SQLITE_OK && r == 0 && (rc = sqlite3_step(s)) == SQLITE_ROW) {
        r = copy_blob(st, target, (const char *)sqlite3_column_text(s, 0), f);
        rc = SQLITE_OK;
    }
    if (r == 0 && rc != SQLITE_DONE)
        r = fail_sqlite(f, db, rc, target);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return r;
}
