# Fuzzers: tests/fuzz/<name>_fuzz.c and a line in fuzzers.txt. fuzz_test.sh builds each with clang and libFuzzer and
# runs it for CHELA_TEST_FUZZ_SECONDS (20) seconds.
long_tests += tests/fuzz/fuzz_test.sh
