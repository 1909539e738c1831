/*
 * The operation search: files below a folder by a glob, lines in them by a regular expression
 * (PCRE2, with limits). Follows no link, looks into no repository's own folder. Called by files.c.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "files_internal.h"
#include "glob.h"
#include "support/json.h"

enum {
    DEEPEST = 64,
    FILES_MOST = 200000,
    LARGEST = 8 * 1024 * 1024,
    SHOWN = 200, /* matches, unless asked for others */
    LINE_SHOWN = 400,
    MATCH_LIMIT = 200000
};

struct search {
    struct job *job;
    const char *glob;
    pcre2_code *pattern;
    pcre2_match_data *data;
    pcre2_match_context *context;
    int64_t most, found;
    unsigned files;
    bool full; /* enough was found, or too much was looked at */
};

static void report(struct search *s, const char *path, size_t line, const char *text, size_t n)
{
    struct job *j = s->job;
    fflush(j->out);
    if (s->found >= s->most || (size_t)ftello(j->out) > j->limit) {
        s->full = true;
        return;
    }
    s->found++;
    if (!text) {
        fprintf(j->out, "%s\n", path);
        return;
    }
    size_t shown = n < LINE_SHOWN ? n : LINE_SHOWN;
    while (shown < n && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--;
    fprintf(j->out, "%s:%zu:%.*s%s\n", path, line, (int)shown, text, shown < n ? "..." : "");
}

static void look_into(struct search *s, const char *path, const char *text, size_t length)
{
    size_t line = 1;
    for (const char *p = text, *end = text + length; p < end && !s->full; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((stop ? stop : end) - p);
        if (pcre2_match(s->pattern, (PCRE2_SPTR)p, n, 0, PCRE2_NO_UTF_CHECK, s->data, s->context) >=
            0)
            report(s, path, line, p, n);
        p += n + 1;
    }
}

static void search_file(struct search *s, int folder, const char *name, const char *path)
{
    struct stat st;
    if (!s->pattern) {
        report(s, path, 0, NULL, 0);
        return;
    }
    struct beneath here = {folder, s->job->below.mounts};
    int fd = beneath_open(&here, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= LARGEST && st.st_size > 0) {
        size_t size = (size_t)st.st_size, n = 0;
        char *text = malloc(size);
        ssize_t got = 0;
        if (!text)
            abort();
        while (n < size && (got = read(fd, text + n, size - n)) > 0)
            n += (size_t)got;
        if (files_is_text(text, n))
            look_into(s, path, text, n);
        free(text);
    }
    close(fd);
}

static void search_folder(struct search *s, int folder, const char *prefix, unsigned depth);

static void search_entry(struct search *s, int folder, const char *prefix, const char *name,
                         unsigned depth)
{
    struct stat st;
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s", prefix, name);
    if (s->full || length <= 0 || (size_t)length + 2 >= sizeof path ||
        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    s->full = ++s->files > FILES_MOST;
    if (S_ISDIR(st.st_mode) && depth < DEEPEST) {
        struct beneath here = {folder, s->job->below.mounts};
        int below = beneath_open(&here, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        memcpy(path + length, "/", 2);
        if (below >= 0) {
            search_folder(s, below, path, depth + 1);
            close(below);
        }
    } else if (S_ISREG(st.st_mode) && (!s->glob || glob_matches(s->glob, path))) {
        search_file(s, folder, name, path);
    }
}

static int is_searched(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
           strcmp(e->d_name, ".git") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* prefix: path of the folder below the workspace with a slash, or "". */
static void search_folder(struct search *s, int folder, const char *prefix, unsigned depth)
{
    struct dirent **entries = NULL;
    int n = scandirat(folder, ".", &entries, is_searched, by_name);
    for (int i = 0; i < n; i++) {
        search_entry(s, folder, prefix, entries[i]->d_name, depth);
        free(entries[i]);
    }
    free(entries);
}

static bool compile(struct search *s, const char *pattern)
{
    int number;
    PCRE2_SIZE offset;
    PCRE2_UCHAR why[200];
    uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C;
    if (chela_json_bool(s->job->arguments, "ignoreCase", false))
        options |= PCRE2_CASELESS;
    s->pattern =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &number, &offset, NULL);
    if (!s->pattern) {
        pcre2_get_error_message(number, why, sizeof why);
        files_fail(s->job, "the pattern is no regular expression: %s at character %zu", (char *)why,
                   (size_t)offset);
        return false;
    }
    s->data = pcre2_match_data_create(1, NULL);
    s->context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(s->context, MATCH_LIMIT);
    return true;
}

void search_run(struct job *j)
{
    const char *pattern = chela_json_string(j->arguments, "pattern", NULL);
    struct search s = {.job = j,
                       .glob = chela_json_string(j->arguments, "glob", NULL),
                       .most = chela_json_int(j->arguments, "limit", SHOWN)};
    char prefix[PATH_MAX] = "";
    if (!pattern && !s.glob) {
        files_fail(j, "search needs a glob, a pattern, or both");
        return;
    }
    int folder = beneath_open(&j->below, j->relative, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0) {
        files_fail_errno(j, "searched");
        return;
    }
    if (strcmp(j->relative, ".") != 0)
        snprintf(prefix, sizeof prefix, "%s%s", j->relative,
                 j->relative[strlen(j->relative) - 1] == '/' ? "" : "/");
    if (!pattern || compile(&s, pattern))
        search_folder(&s, folder, prefix, 0);
    close(folder);
    if (!j->failed && s.found == 0)
        fputs("nothing was found", j->out);
    else if (s.full)
        fputs("[there is more: narrow the search]\n", j->out);
    pcre2_match_context_free(s.context);
    pcre2_match_data_free(s.data);
    pcre2_code_free(s.pattern);
}
