/*
 * Reading one skill (see skill.h): the frontmatter between two lines of "---", the body behind it,
 * and whether what it requires is there.
 */
#include "skill.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MOST = 256 * 1024, NAME_MOST = 64 };

static void *need(void *p)
{
    if (!p)
        abort();
    return p;
}

static char *read_file(const char *path, size_t *ret_n, char **ret_error)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MOST) {
        *ret_error = strdup("SKILL.md is no readable file of at most 256 KiB");
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    char *text = need(malloc((size_t)st.st_size + 1));
    size_t n = 0;
    ssize_t got;
    while (n < (size_t)st.st_size && (got = read(fd, text + n, (size_t)st.st_size - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(fd);
    *ret_n = n;
    return text;
}

/* The end of the frontmatter's text, NULL if there is none; *ret_body behind the closing line. */
static char *head_end(char *text, char **ret_body)
{
    if (strncmp(text, "---\n", 4) != 0 && strncmp(text, "---\r\n", 5) != 0)
        return NULL;
    for (char *p = strchr(text, '\n'); p; p = strchr(p + 1, '\n')) {
        if (strncmp(p + 1, "---", 3) != 0 || (p[4] && p[4] != '\n' && p[4] != '\r'))
            continue;
        char *end = strchr(p + 1, '\n');
        *ret_body = end ? end + 1 : p + 4;
        return p;
    }
    return NULL;
}

static bool name_ok(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    return n && n <= NAME_MOST &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == n;
}

static bool flag(json_object *head, const char *dashed, const char *plain, bool fallback)
{
    return chela_json_bool(head, dashed, chela_json_bool(head, plain, fallback));
}

struct skill *skill_read(const char *folder, char **ret_error)
{
    char *path = NULL, *body = NULL;
    size_t n = 0;
    struct skill *s = NULL;
    *ret_error = NULL;
    if (asprintf(&path, "%s/SKILL.md", folder) < 0)
        abort();
    char *text = read_file(path, &n, ret_error), *end = text ? head_end(text, &body) : NULL;
    json_object *head = NULL;
    if (text && !end)
        *ret_error = strdup("SKILL.md does not begin with a frontmatter between lines of ---");
    if (end)
        head = yaml_read(text + 4, (size_t)(end - text) - 3, ret_error);
    if (head) {
        const char *base = strrchr(folder, '/'), *name = chela_json_string(head, "name", NULL),
                   *about = chela_json_string(head, "description", NULL);
        if (!name)
            name = base ? base + 1 : folder;
        if (!name_ok(name) || !about || !*about) {
            *ret_error = strdup("it needs a name (letters, digits, - and _) and a description");
        } else {
            s = need(calloc(1, sizeof *s));
            s->name = need(strdup(name));
            s->description = need(strdup(about));
            s->folder = need(strdup(folder));
            s->body = need(strdup(body));
            s->head = json_object_get(head);
            s->user_invocable = flag(head, "user-invocable", "user_invocable", true);
            s->for_models =
                !flag(head, "disable-model-invocation", "disable_model_invocation", false);
        }
    }
    json_object_put(head);
    free(text);
    free(path);
    return s;
}

void skill_free(struct skill *s)
{
    json_object_put(s->head);
    free(s->name);
    free(s->description);
    free(s->folder);
    free(s->body);
    free(s->missing);
    free(s->root);
    free(s);
}

const char *skill_place_name(const struct skill *s)
{
    static const char *const names[] = {"workspace", "user", "extra", "system"};
    return names[s->place];
}

/* ---- what it requires ---- */

static bool has_program(const char *name)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    for (const char *p = path; p && *p;) {
        size_t n = strcspn(p, ":");
        char *whole = NULL;
        if (asprintf(&whole, "%.*s/%s", (int)n, p, name) < 0)
            abort();
        bool there = access(whole, X_OK) == 0;
        free(whole);
        if (there)
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

/* A member of the frontmatter itself, or of its metadata for another gateway of this kind. */
static json_object *member(json_object *head, const char *name)
{
    json_object *o = chela_json_get(head, name), *metadata = chela_json_object(head, "metadata");
    static const char *const owners[] = {"chela", "openclaw"};
    for (size_t i = 0; !o && i < 2; i++)
        o = chela_json_get(chela_json_object(metadata, owners[i]), name);
    return o;
}

static const char *word(json_object *list, size_t i)
{
    if (json_object_is_type(list, json_type_string))
        return i == 0 ? chela_json_as_string(list, NULL) : NULL;
    return chela_json_as_string(chela_json_at(list, i), NULL);
}

static void miss(struct skill *s, const char *what, const char *name)
{
    if (!s->missing && asprintf(&s->missing, "%s %s is missing", what, name) < 0)
        abort();
}

static void check_system(struct skill *s)
{
    json_object *os = member(s->head, "os");
    bool here = !os;
    for (size_t i = 0; word(os, i); i++)
        here = here || strcmp(word(os, i), "linux") == 0;
    if (!here && !s->missing)
        s->missing = need(strdup("it is for another operating system"));
}

void skill_check(struct skill *s, const struct skill_world *w)
{
    json_object *r = member(s->head, "requires"), *any = chela_json_get(r, "anyBins");
    json_object *bins = chela_json_get(r, "bins"), *env = chela_json_get(r, "env"),
                *config = chela_json_get(r, "config");
    free(s->missing);
    s->missing = NULL;
    check_system(s);
    for (size_t i = 0; word(bins, i); i++)
        if (!has_program(word(bins, i)))
            miss(s, "the program", word(bins, i));
    bool one = !word(any, 0);
    for (size_t i = 0; word(any, i); i++)
        one = one || has_program(word(any, i));
    if (!one)
        miss(s, "one of the programs like", word(any, 0));
    for (size_t i = 0; word(env, i); i++) {
        const char *value = getenv(word(env, i));
        if (!value || !*value)
            miss(s, "the environment variable", word(env, i));
    }
    for (size_t i = 0; word(config, i); i++)
        if (!w->has_config(w->arg, word(config, i)))
            miss(s, "the configuration of", word(config, i));
}

json_object *skill_tools(const struct skill *s)
{
    json_object *list = chela_json_array(s->head, "tools");
    return chela_json_length(list) ? list : NULL;
}
