/*
 * The host's statements and migrations: copied once from the call that opens the database, parsed,
 * never changed afterwards. Picks SQLite's variant of a text. Called by the writer's first job.
 */
#include <stdlib.h>

#include "internal.h"

/* Cuts s at the next `c`; the part behind it, or NULL. */
static char *split(char *s, char c)
{
    char *p = strchr(s, c);
    if (p)
        *p++ = '\0';
    return p;
}

/* Leaves SQLite's variant at the start of `sql`: the part behind "--sqlite", else the first one. */
static void choose(char *sql)
{
    static const char mine[] = "\n--sqlite\n";
    char *found = strstr(sql, mine);
    if (found)
        memmove(sql, found + sizeof mine - 1, strlen(found + sizeof mine - 1) + 1);
    for (char *p = sql; (p = strstr(p, "\n--")); p++) {
        size_t n = strspn(p + 3, "abcdefghijklmnopqrstuvwxyz");
        if (n > 0 && p[3 + n] == '\n') {
            *p = '\0';
            return;
        }
    }
}

static int flags_of(const char *text, unsigned *ret)
{
    *ret = 0;
    for (; *text; text++)
        switch (*text) {
        case 'H': break;
        case 'W': *ret |= STATEMENT_WRITES; break;
        case '1': *ret |= STATEMENT_ONE; break;
        case 'X': *ret |= STATEMENT_CROSS; break;
        default: return -1;
        }
    return 0;
}

static int parse(struct statement *st, const struct chela_pair *p, struct failure *f)
{
    char *all = need(malloc(p->value.n + 1));
    memcpy(all, p->value.s, p->value.n);
    all[p->value.n] = '\0';
    st->name = need(strndup(p->name.s, p->name.n));
    char *parameters = split(all, '|');
    char *results = parameters ? split(parameters, '|') : NULL;
    char *sql = results ? split(results, '|') : NULL;
    int r = -1;
    if (!sql)
        fail(f, CHELA_E_ARGS, "statement %s: not of the form FLAGS|PARAMETERS|RESULTS|SQL",
             st->name);
    else if (flags_of(all, &st->flags) < 0)
        fail(f, CHELA_E_ARGS, "statement %s: unknown flag in \"%s\"", st->name, all);
    else if (strlen(parameters) > MAX_PARAMETERS || parameters[strspn(parameters, "itbrsa")] ||
             results[strspn(results, "itbr")])
        fail(f, CHELA_E_ARGS, "statement %s: types \"%s\" and \"%s\" can't be used", st->name,
             parameters, results);
    else
        r = 0;
    if (r == 0) {
        choose(sql);
        st->parameters = copy_text(parameters);
        st->results = copy_text(results);
        st->sql = copy_text(sql);
    }
    free(all);
    return r;
}

int catalog_copy(struct catalog *c, const struct chela_store_open *args, struct failure *f)
{
    memset(c, 0, sizeof *c);
    c->statements = need(calloc(args->statements.n + 1, sizeof *c->statements));
    c->migrations = need(calloc(args->migrations.n + 1, sizeof *c->migrations));
    for (uint64_t i = 0; i < args->statements.n; i++) {
        c->count++;
        if (parse(&c->statements[i], &args->statements.v[i], f) < 0)
            return -1;
    }
    for (uint64_t i = 0; i < args->migrations.n; i++) {
        c->migrations[i] =
            need(strndup(args->migrations.v[i].value.s, args->migrations.v[i].value.n));
        choose(c->migrations[i]);
        c->migration_count++;
    }
    return 0;
}

void catalog_free(struct catalog *c)
{
    for (unsigned i = 0; i < c->count; i++) {
        free(c->statements[i].name);
        free(c->statements[i].parameters);
        free(c->statements[i].results);
        free(c->statements[i].sql);
    }
    for (unsigned i = 0; i < c->migration_count; i++)
        free(c->migrations[i]);
    free(c->statements);
    free(c->migrations);
    memset(c, 0, sizeof *c);
}
