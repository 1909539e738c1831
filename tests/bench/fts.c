/*
 * What SQLite alone takes for the searches that memory makes: the same index in the same file, the
 * same words in the same two steps (parts with all of them, then, if there are fewer than eight,
 * with any), ranked by BM25. Prints one line "name=value ...". Called by memory_bench.sh.
 *
 *   fts DATABASE SPACE FILE     SPACE: the plugin's in the index; FILE: a search a line
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugins/store_sqlite/internal.h"

enum { WANTED = 8, ROWS = 32, SEARCHES_MOST = 100000 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int rows_of(sqlite3_stmt *s, const char *space, const char *words, bool any)
{
    int n = 0;
    char *query = search_query(chela_s(words), any);
    sqlite3_bind_text(s, 1, space, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, query, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 3, ROWS);
    while (sqlite3_step(s) == SQLITE_ROW)
        n += sqlite3_column_text(s, 4) != NULL;
    sqlite3_reset(s);
    free(query);
    return n;
}

int main(int argc, char **argv)
{
    static double took[SEARCHES_MOST];
    struct failure f = {0};
    sqlite3 *db;
    sqlite3_stmt *s;
    char line[400];
    size_t n = 0;
    FILE *file = argc == 4 ? fopen(argv[3], "re") : NULL;
    if (!file || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        search_register(db, &f) < 0 ||
        sqlite3_prepare_v2(db,
                           "SELECT f.doc,f.part,f.at,-w.rank,f.text FROM note_words w "
                           "JOIN note f ON f.n=w.rowid WHERE pk=?1 AND note_words MATCH ?2 "
                           "ORDER BY w.rank LIMIT ?3",
                           -1, &s, NULL) != SQLITE_OK) {
        fputs("usage: fts DATABASE SPACE FILE\n", stderr);
        return 2;
    }
    while (n < SEARCHES_MOST && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        double begin = now_us();
        if (rows_of(s, argv[2], line, false) < WANTED)
            rows_of(s, argv[2], line, true);
        took[n++] = now_us() - begin;
    }
    fclose(file);
    sqlite3_finalize(s);
    sqlite3_close(db);
    qsort(took, n, sizeof *took, by_value);
    if (n)
        printf("searches=%zu p50=%.0f p90=%.0f p99=%.0f\n", n, took[(n - 1) * 50 / 100],
               took[(n - 1) * 90 / 100], took[(n - 1) * 99 / 100]);
    return n == 0;
}
