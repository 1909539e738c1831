#!/bin/bash
# A thousand starts and stops of an MCP server, where make check has a hundred.
export CHELA_TEST_CYCLES=1000
. "${CHELA_TEST_SRCDIR:-$(dirname "$0")/../../..}/tests/e2e/mcp_cycles_test.sh"
