# Tests of the encoder, the loop, calls and isolation.
unit_tests += tests/unit/wire_test tests/unit/loop_test
