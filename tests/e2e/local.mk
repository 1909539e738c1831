# What e2e tests do a few times in make check, many times.
long_tests += tests/e2e/long/mcp_cycles_test.sh
