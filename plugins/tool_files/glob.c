/*
 * Paths against globs (see glob.h). Called by search.c.
 */
#include "glob.h"

#include <fnmatch.h>
#include <string.h>

enum { STEPS_MOST = 100000 };

/* Part by part; `steps` bounds what globs of many double stars may cost. */
static bool matches(const char *glob, const char *path, unsigned *steps)
{
    if (++*steps > STEPS_MOST)
        return false;
    if (strncmp(glob, "**", 2) == 0 && (glob[2] == '/' || glob[2] == '\0')) {
        const char *rest = glob + 2 + (glob[2] == '/');
        if (!*rest)
            return true;
        for (const char *p = path; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
            if (matches(rest, p, steps))
                return true;
        return false;
    }
    size_t n = strcspn(glob, "/"), m = strcspn(path, "/");
    char part[512], name[512];
    if (n >= sizeof part || m >= sizeof name)
        return false;
    memcpy(part, glob, n);
    part[n] = '\0';
    memcpy(name, path, m);
    name[m] = '\0';
    if (fnmatch(part, name, 0) != 0 || !glob[n] != !path[m])
        return false;
    return !glob[n] || matches(glob + n + 1, path + m + 1, steps);
}

bool glob_matches(const char *glob, const char *path)
{
    unsigned steps = 0;
    if (!strchr(glob, '/')) {
        const char *slash = strrchr(path, '/');
        path = slash ? slash + 1 : path;
    }
    return matches(glob, path, &steps);
}
