# Tests of the encoder, the loop, calls and isolation. They drive tests/plugin/contract, which is compiled into them
# and, as contract.so, opened by the children that they start.
unit_tests += tests/unit/wire_test tests/unit/loop_test tests/unit/call_test
host_kit = tests/unit/host_kit.c tests/unit/host_kit.h
tests_unit_call_test_SOURCES = tests/unit/call_test.c $(host_kit)
EXTRA_tests_unit_call_test_DEPENDENCIES = tests/plugin/contract.la chela-child
