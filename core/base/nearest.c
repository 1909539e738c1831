/*
 * The nearest name (see nearest.h): edit distance with transpositions.
 */
#include "base/nearest.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 64 };

static int folded(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t nearest_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    size_t rows[3][LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t other = folded(a[i - 1]) != folded(b[j - 1]);
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + other);
            if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
                folded(a[i - 2]) == folded(b[j - 1]))
                row[j] = least(row[j], second[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

void nearest_offer(struct nearest *n, const char *name)
{
    size_t length = strlen(n->wanted), enough = length < 3 ? 1 : length < 6 ? 2 : length / 3;
    size_t distance = nearest_distance(n->wanted, name);
    /* a name that only adds to what was typed is meant rather often: "model" for "models" */
    if (distance > enough || distance >= length + (length < 3))
        return;
    if (!n->name || distance < n->distance) {
        n->name = name;
        n->distance = distance;
    }
}
