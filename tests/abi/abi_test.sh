#!/bin/bash
# make check runs the check of the binary interface too.
exec "${BASH:-bash}" "${CHELA_TEST_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/abi/check"
