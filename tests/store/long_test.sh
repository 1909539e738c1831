#!/bin/bash
# Many rounds of what `make check` does a few of: kill -9 and power cuts of the default store, and the daemon ended at
# each of its fault points.
build=${CHELA_TEST_BUILDDIR:-build}
top=${CHELA_TEST_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
echo 1..3
n=0
run() {
    n=$((n + 1))
    local name=$1
    shift
    if env CHELA_TEST_BUILDDIR="$build" "$@" >"$build/tests/store/long.$n.log" 2>&1; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name"
        sed 's/^/# /' "$build/tests/store/long.$n.log"
    fi
}
run "40 rounds of kill -9 lose nothing" CHELA_TEST_ROUNDS=40 "$build/tests/store/conformance"
run "150 power cuts lose no barrier" CHELA_TEST_POWER_ROUNDS=150 "$build/tests/store/sqlite_power_test"
run "the daemon may end at any fault point" CHELA_TEST_KILLS=all CHELA_TEST_SRCDIR="$top" bash "$top/tests/e2e/kill_oracle.sh"
