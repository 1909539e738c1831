# Figures for make bench: tests/bench/<name>_bench.c, one program each; tests/bench/<name>_bench.sh runs as it is,
# with the programs beside it.
if HAVE_CMOCKA
EXTRA_PROGRAMS += tests/bench/host_bench
tests_bench_host_bench_SOURCES = tests/bench/host_bench.c $(host_kit)
EXTRA_tests_bench_host_bench_DEPENDENCIES = $(host_kit_needs)
endif
# the provider plugins as they are built, loaded by the bench itself
EXTRA_PROGRAMS += tests/bench/parse_bench
tests_bench_parse_bench_LDADD = sdk/support/libsupport.la $(JSONC_LIBS) -ldl
EXTRA_PROGRAMS += tests/bench/net_bench
tests_bench_net_bench_LDADD = core/libnet.a core/libhost.a core/libbase.a sdk/wire/libwire.la \
	sdk/support/libsupport.la $(UV_LIBS) $(MICROHTTPD_LIBS) $(WSLAY_LIBS) $(CURL_LIBS) $(CRYPTO_LIBS)

bench_programs = tests/bench/load tests/bench/start tests/bench/empty tests/bench/disk tests/bench/curl_rate
EXTRA_PROGRAMS += $(bench_programs)
bench-programs: $(bench_programs) tests/fakes/mock_model
.PHONY: bench-programs
tests_bench_load_SOURCES = tests/bench/load.c
tests_bench_load_LDADD =
tests_bench_start_SOURCES = tests/bench/start.c
tests_bench_start_LDADD =
tests_bench_disk_SOURCES = tests/bench/disk.c
tests_bench_disk_LDADD =
tests_bench_curl_rate_SOURCES = tests/bench/curl_rate.c
tests_bench_curl_rate_LDADD = $(CURL_LIBS)
# the daemon's libraries, also those that nothing in it calls
tests_bench_empty_SOURCES = tests/bench/empty.c
tests_bench_empty_LDFLAGS = -Wl,--no-as-needed
tests_bench_empty_LDADD = $(UV_LIBS) $(MICROHTTPD_LIBS) $(WSLAY_LIBS) $(CURL_LIBS) $(CRYPTO_LIBS) $(JSONC_LIBS) \
	$(CONFIG_LIBS) $(MD4C_LIBS) $(PCRE2_LIBS) $(LTDL_LIBS)

# beside SQLite alone, with the store's own tokenizer
if PLUGIN_store_sqlite
EXTRA_PROGRAMS += tests/bench/fts
endif
tests_bench_fts_SOURCES = tests/bench/fts.c $(plugins_store_sqlite_la_SOURCES)
tests_bench_fts_CPPFLAGS = $(PLUGIN_CPPFLAGS) -I$(top_srcdir) $(SQLITE_CFLAGS) $(CRYPTO_CFLAGS)
tests_bench_fts_LDADD = $(PLUGIN_LIBS) $(SQLITE_LIBS) $(CRYPTO_LIBS) -lpthread
EXTRA_PROGRAMS += tests/bench/clients
tests_bench_clients_SOURCES = tests/bench/clients.c tests/gateway/raw_client.c tests/gateway/raw_client.h
tests_bench_clients_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_bench_clients_LDADD = core/libbase.a sdk/support/libsupport.la $(JSONC_LIBS) $(CRYPTO_LIBS)
