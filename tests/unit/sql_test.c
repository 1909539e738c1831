/*
 * The core's statements: the rules that statements.h states, and that each can be prepared on the
 * schema as SQLite has it.
 */
/* cmocka wants these before itself */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/journal/sql/statements.h"

/* The store's tokenizer by its name, for a database that is only looked at. */
static void add_tokenizer(sqlite3 *db)
{
    fts5_api *api = NULL;
    fts5_tokenizer words;
    void *context;
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &s, NULL), SQLITE_OK);
    sqlite3_bind_pointer(s, 1, (void *)&api, "fts5_api_ptr", NULL);
    sqlite3_step(s);
    sqlite3_finalize(s);
    assert_non_null(api);
    assert_int_equal(api->xFindTokenizer(api, "unicode61", &context, &words), SQLITE_OK);
    assert_int_equal(api->xCreateTokenizer(api, "chela", context, &words, NULL), SQLITE_OK);
}

static int set_up(void **state)
{
    sqlite3 *db;
    char *why = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    add_tokenizer(db);
    for (size_t i = 0; i < sql_migration_count; i++)
        if (sqlite3_exec(db, sql_migrations[i].text, NULL, NULL, &why) != SQLITE_OK) {
            print_message("# migration %s: %s\n", sql_migrations[i].name, why);
            sqlite3_free(why);
            return -1;
        }
    *state = db;
    return 0;
}

static int tear_down(void **state)
{
    return sqlite3_close(*state);
}

static void each_statement_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < SQL_COUNT; i++) {
        assert_non_null(sql_statements[i].name);
        assert_non_null(sql_statements[i].text);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(sql_statements[i].name, sql_statements[k].name);
    }
}

static unsigned highest_parameter(const char *text)
{
    unsigned most = 0;
    for (const char *p = text; (p = strchr(p, '$')); p++)
        if (isdigit((unsigned char)p[1])) {
            unsigned n = (unsigned)strtoul(p + 1, NULL, 10);
            most = n > most ? n : most;
        }
    return most;
}

static void each_prepares_with_the_parameters_and_results_it_names(void **state)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        const struct sql_statement *s = &sql_statements[i];
        sqlite3_stmt *p = NULL;
        const char *rest = "";
        if (sqlite3_prepare_v2(*state, s->text, -1, &p, &rest) != SQLITE_OK)
            print_message("# %s: %s\n", s->name, sqlite3_errmsg(*state));
        assert_non_null(p);
        assert_string_equal(rest, "");
        if ((size_t)sqlite3_bind_parameter_count(p) != strlen(s->parameters) ||
            highest_parameter(s->text) != strlen(s->parameters) ||
            (size_t)sqlite3_column_count(p) != strlen(s->results))
            print_message("# %s: %d parameters, %d columns\n", s->name,
                          sqlite3_bind_parameter_count(p), sqlite3_column_count(p));
        assert_int_equal(sqlite3_bind_parameter_count(p), strlen(s->parameters));
        assert_int_equal(highest_parameter(s->text), strlen(s->parameters));
        assert_int_equal(sqlite3_column_count(p), strlen(s->results));
        /* it writes if, and only if, it says so */
        assert_int_equal(!sqlite3_stmt_readonly(p), strchr(s->flags, 'W') != NULL);
        sqlite3_finalize(p);
    }
}

static void the_first_parameter_is_the_partition(void **state)
{
    (void)state;
    for (size_t i = 0; i < SQL_COUNT; i++) {
        const struct sql_statement *s = &sql_statements[i];
        assert_int_equal(strspn(s->flags, "HW1X"), strlen(s->flags));
        if (strchr(s->flags, 'X'))
            continue;
        assert_int_equal(s->parameters[0], 't');
        const char *insert = strstr(s->text, "INSERT INTO ");
        if (insert) {
            assert_non_null(strstr(s->text, "(pk,"));
            assert_non_null(strstr(s->text, "VALUES($1,"));
        } else if (!strstr(s->text, "WHERE pk=$1")) {
            print_message("# %s\n", s->name);
            fail();
        }
    }
}

static void every_table_is_keyed_by_its_partition(void **state)
{
    sqlite3_stmt *s, *columns;
    assert_int_equal(
        sqlite3_prepare_v2(*state,
                           "SELECT name FROM sqlite_schema WHERE type='table' AND name "
                           "NOT LIKE '%_words%' AND name NOT LIKE 'sqlite_%'",
                           -1, &s, NULL),
        SQLITE_OK);
    unsigned count = 0;
    for (; sqlite3_step(s) == SQLITE_ROW; count++) {
        assert_int_equal(sqlite3_prepare_v2(*state,
                                            "SELECT count(*) FROM pragma_table_info(?1) "
                                            "WHERE name='pk'",
                                            -1, &columns, NULL),
                         SQLITE_OK);
        sqlite3_bind_text(columns, 1, (const char *)sqlite3_column_text(s, 0), -1, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(columns), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(columns, 0), 1);
        sqlite3_finalize(columns);
    }
    sqlite3_finalize(s);
    assert_true(count >= 14);
}

/* Statements of the way of a turn and of lists must not read whole tables. */
static void hot_statements_use_an_index(void **state)
{
    for (size_t i = 0; i < SQL_COUNT; i++) {
        const struct sql_statement *st = &sql_statements[i];
        if (!strchr(st->flags, 'H') && i != SQL_SESSION_LIST && i != SQL_RUN_FIND &&
            i != SQL_RECOVER_RUN && i != SQL_RECOVER_INBOX && i != SQL_RECOVER_CHUNK &&
            i != SQL_APPROVAL_OPEN && i != SQL_RECOVER_CALL)
            continue;
        char text[2000];
        sqlite3_stmt *s;
        snprintf(text, sizeof text, "EXPLAIN QUERY PLAN %s", st->text);
        assert_int_equal(sqlite3_prepare_v2(*state, text, -1, &s, NULL), SQLITE_OK);
        while (sqlite3_step(s) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(s, 3);
            bool scans = strncmp(plan, "SCAN", 4) == 0 && !strstr(plan, "INDEX") &&
                         !strstr(plan, "CONSTANT");
            if (scans || strstr(plan, "TEMP B-TREE FOR ORDER BY"))
                print_message("# %s: %s\n", st->name, plan);
            assert_false(scans);
        }
        sqlite3_finalize(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_statement_has_a_name_of_its_own),
        cmocka_unit_test(each_prepares_with_the_parameters_and_results_it_names),
        cmocka_unit_test(the_first_parameter_is_the_partition),
        cmocka_unit_test(every_table_is_keyed_by_its_partition),
        cmocka_unit_test(hot_statements_use_an_index),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
