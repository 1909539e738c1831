# Figures for make bench: tests/bench/<name>_bench.c, one program each; tests/bench/<name>_bench.sh runs as it is.
if HAVE_CMOCKA
EXTRA_PROGRAMS += tests/bench/host_bench
tests_bench_host_bench_SOURCES = tests/bench/host_bench.c $(host_kit)
EXTRA_tests_bench_host_bench_DEPENDENCIES = $(host_kit_needs)
endif
EXTRA_PROGRAMS += tests/bench/net_bench
tests_bench_net_bench_LDADD = core/libnet.a core/libhost.a core/libbase.a sdk/wire/libwire.la \
	sdk/support/libsupport.la $(UV_LIBS) $(MICROHTTPD_LIBS) $(WSLAY_LIBS) $(CURL_LIBS) $(CRYPTO_LIBS)
