/* Command line: see command_line.h. getopt_long does the reading. */
#include "cli/command_line.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/output.h"

#define ROWS_MOST 16

enum { VALUE_HELP = 'h', VALUE_FIRST = 1000 };

struct all_rows {
    struct option_row row[ROWS_MOST];
    size_t count;
};

static void add_row(struct all_rows *all, struct option_row row)
{
    if (all->count < ROWS_MOST) {
        all->row[all->count++] = row;
    }
}

static void gather(const struct command_line *line, struct common *common, struct all_rows *all)
{
    for (const struct option_row *row = line->rows; row != NULL && row->name != NULL; row++) {
        add_row(all, *row);
    }
    add_row(all, (struct option_row){'\0', "json", NULL, "machine-readable output", &common->json,
                                     NULL});
    if (line->local) {
        add_row(all,
                (struct option_row){'c', "config", "FILE",
                                    "this configuration instead of the system's and the user's",
                                    NULL, &common->config});
    } else {
        add_row(all, (struct option_row){'\0', "gateway", "HOST:PORT",
                                         "the gateway to talk to (default: the running one)", NULL,
                                         &common->gateway});
    }
    add_row(all, (struct option_row){'h', "help", NULL, "this text", NULL, NULL});
}

static void print_help(const struct command_line *line, const struct all_rows *all)
{
    printf("Usage: chela %s\n%s\n\n", line->synopsis, line->summary);
    for (size_t i = 0; i < all->count; i++) {
        const struct option_row *row = &all->row[i];
        char left[48];
        snprintf(left, sizeof left, "--%s%s%s", row->name, row->value == NULL ? "" : "=",
                 row->value == NULL ? "" : row->value);
        if (row->letter != '\0') {
            printf("  -%c, %-24s %s\n", row->letter, left, row->help);
        } else {
            printf("      %-24s %s\n", left, row->help);
        }
    }
}

static void build_tables(const struct all_rows *all, char *letters, struct option *longs)
{
    size_t n = 0;
    letters[n++] = ':';
    for (size_t i = 0; i < all->count; i++) {
        const struct option_row *row = &all->row[i];
        longs[i] = (struct option){row->name, row->value == NULL ? no_argument : required_argument,
                                   NULL, VALUE_FIRST + (int)i};
        if (row->letter != '\0') {
            letters[n++] = row->letter;
            if (row->value != NULL) {
                letters[n++] = ':';
            }
        }
    }
    letters[n] = '\0';
    longs[all->count] = (struct option){NULL, 0, NULL, 0};
}

static const struct option_row *row_of(const struct all_rows *all, int value)
{
    for (size_t i = 0; i < all->count; i++) {
        if (value == VALUE_FIRST + (int)i || (value > 0 && value == all->row[i].letter)) {
            return &all->row[i];
        }
    }
    return NULL;
}

/* Also sees a --json that stands behind the mistake, since it decides how the mistake is told. */
static int mistake(struct common *common, int argc, char **argv, const char *text)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        common->json = common->json || strcmp(argv[i], "--json") == 0;
    }
    return output_failure(common, "usage", text, EXIT_USAGE);
}

bool command_line_read(const struct command_line *line, int argc, char **argv,
                       struct common *common, char ***arguments, int *count, int *status)
{
    struct all_rows all = {.count = 0};
    char letters[3 * ROWS_MOST], text[256];
    struct option longs[ROWS_MOST + 1];
    gather(line, common, &all);
    build_tables(&all, letters, longs);
    opterr = 0;
    optind = 1;
    *status = EXIT_OK;
    int value;
    while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct option_row *row = row_of(&all, value);
        if (row == NULL) {
            const char *what = optind > 0 && optind <= argc ? argv[optind - 1] : "?";
            bool known = value == ':' || (optopt >= VALUE_FIRST && row_of(&all, optopt) != NULL);
            snprintf(text, sizeof text, "%s %s; see chela %s --help", what,
                     value == ':' ? "needs a value"
                     : known      ? "takes no value"
                                  : "is no option here",
                     argv[0]);
            *status = mistake(common, argc, argv, text);
            return false;
        }
        if (strcmp(row->name, "help") == 0) {
            print_help(line, &all);
            return false;
        }
        if (row->flag != NULL) {
            *row->flag = true;
        } else {
            *row->text = optarg;
        }
    }
    *arguments = argv + optind;
    *count = argc - optind;
    if (*count < line->least || *count > line->most) {
        snprintf(text, sizeof text, "%s; usage: chela %s",
                 *count < line->least ? "something is missing" : "there is too much",
                 line->synopsis);
        *status = mistake(common, argc, argv, text);
        return false;
    }
    return true;
}

bool command_line_duration(const char *text, uint64_t *ms)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60000}, {"h", 3600000}};
    char *end = NULL;
    errno = 0;
    unsigned long long number = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    for (size_t i = 0; end != NULL && errno == 0 && i < ARRAY_LENGTH(units); i++) {
        if (strcmp(end, units[i].unit) == 0 && number <= UINT32_MAX) {
            *ms = number * units[i].ms;
            return true;
        }
    }
    return false;
}
