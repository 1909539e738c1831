#!/bin/bash
# Many rounds of what `make check` does a few of: kill -9 and power cuts of the default store.
build=${CHELA_TEST_BUILDDIR:-build}
echo 1..2
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
