/*
 * Finds and reads test data of others, which isn't part of the repository: the folder that
 * CHELA_SHARED names, else "shared" beside the source tree. For unit tests; a test whose data isn't
 * there skips itself and says so.
 */
#ifndef CHELA_TESTS_SHARED_H
#define CHELA_TESTS_SHARED_H

/* cmocka wants these before itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static inline bool shared_path(const char *name, char *path, size_t size)
{
    const char *folder = getenv("CHELA_SHARED");
    const char *source = getenv("CHELA_TEST_SRCDIR");
    struct stat status;
    int length = folder ? snprintf(path, size, "%s/%s", folder, name)
                        : snprintf(path, size, "%s/../shared/%s", source ? source : "..", name);
    if (length > 0 && (size_t)length < size && stat(path, &status) == 0)
        return true;
    print_message("# skipped: no %s (set CHELA_SHARED to the folder of test data)\n", path);
    return false;
}

/* The whole file, in an exact buffer that the caller frees. */
static inline char *shared_read(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    *length = (size_t)status.st_size;
    char *text = malloc(*length ? *length : 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *length, file), *length);
    fclose(file);
    return text;
}

#endif
