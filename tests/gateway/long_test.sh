#!/bin/bash
# tests/e2e/hostile_test.sh with a hundred thousand wrong tokens and ten thousand idle sockets; for make check-long.
HOSTILE_TOKENS=100000 HOSTILE_SOCKETS=10000 exec bash "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../..}/tests/e2e/hostile_test.sh"
