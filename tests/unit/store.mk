# The journal's statements. (The journal on a store: tests/store.)
if PLUGIN_store_sqlite
unit_tests += tests/unit/sql_test
endif
tests_unit_sql_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_sql_test_LDADD = core/libagent.a $(CMOCKA_LIBS) $(SQLITE_LIBS)
