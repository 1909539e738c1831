# Figures for make bench: tests/bench/<name>_bench.c, one program each; tests/bench/<name>_bench.sh runs as it is.
if HAVE_CMOCKA
EXTRA_PROGRAMS += tests/bench/host_bench
tests_bench_host_bench_SOURCES = tests/bench/host_bench.c $(host_kit)
EXTRA_tests_bench_host_bench_DEPENDENCIES = $(host_kit_needs)
endif
