# The store's conformance suite and what belongs to it. `conformance PLUGIN.so OPTION=VALUE ...` runs it on any store.
store_fake = tests/store/fake.c tests/store/fake.h
store_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS) $(SQLITE_CFLAGS)
store_libs = core/libbase.a sdk/support/libsupport.la $(JSONC_LIBS) $(CMOCKA_LIBS) $(CRYPTO_LIBS) -lpthread -ldl
# the journal without the host: bridge.c stands in for its calls
journal_sources = $(store_fake) tests/store/bridge.c tests/store/bridge.h
journal_libs = core/libagent.a core/libhost.a $(store_libs) $(UV_LIBS)

if PLUGIN_store_sqlite
plugin_tests += tests/store/conformance tests/store/journal_store_test tests/store/sqlite_files_test \
	tests/store/sqlite_power_test
tsan_tests += tests/store/conformance tests/store/journal_store_test
endif
unit_tests += tests/store/journal_chain_test

tests_store_conformance_SOURCES = $(store_fake) tests/store/suite.c tests/store/suite.h \
	tests/store/conformance.c tests/store/conformance_values.c tests/store/conformance_blobs.c \
	tests/store/conformance_crash.c
tests_store_conformance_CPPFLAGS = $(store_cppflags)
tests_store_conformance_LDADD = $(store_libs)
tests_store_journal_chain_test_SOURCES = tests/store/journal_chain_test.c $(journal_sources)
tests_store_journal_chain_test_CPPFLAGS = $(store_cppflags)
tests_store_journal_chain_test_LDADD = $(journal_libs)
tests_store_journal_store_test_SOURCES = tests/store/journal_store_test.c $(journal_sources)
tests_store_journal_store_test_CPPFLAGS = $(store_cppflags)
tests_store_journal_store_test_LDADD = $(journal_libs)
tests_store_sqlite_files_test_SOURCES = $(store_fake) tests/store/suite.c tests/store/suite.h \
	tests/store/sqlite_files_test.c
tests_store_sqlite_files_test_CPPFLAGS = $(store_cppflags)
tests_store_sqlite_files_test_LDADD = $(store_libs) $(SQLITE_LIBS)
tests_store_sqlite_power_test_SOURCES = $(store_fake) tests/store/suite.c tests/store/suite.h \
	tests/store/vfs.c tests/store/vfs.h tests/store/sqlite_power_test.c
tests_store_sqlite_power_test_CPPFLAGS = $(store_cppflags)
tests_store_sqlite_power_test_LDADD = $(store_libs) $(SQLITE_LIBS)

# many rounds of kill -9 and of power cuts
long_tests += tests/store/long_test.sh

# make bench: the store's own rate
if PLUGIN_store_sqlite
EXTRA_PROGRAMS += tests/bench/store_bench
endif
tests_bench_store_bench_SOURCES = tests/bench/store_bench.c $(journal_sources)
tests_bench_store_bench_CPPFLAGS = $(store_cppflags)
tests_bench_store_bench_LDADD = $(journal_libs)

# what holds after a crash, for tests/e2e/kill_oracle.sh
if PLUGIN_store_sqlite
check_PROGRAMS += tests/e2e/oracle
endif
tests_e2e_oracle_SOURCES = tests/e2e/oracle.c
tests_e2e_oracle_CPPFLAGS = $(store_cppflags)
tests_e2e_oracle_LDADD = sdk/support/libsupport.la $(JSONC_LIBS) $(SQLITE_LIBS)
