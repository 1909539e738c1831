# Tests of the encoder, the loop, calls and isolation. They drive plugins of tests/plugin, here and in children.
unit_tests += tests/unit/wire_test tests/unit/loop_test tests/unit/queue_test tests/unit/call_test tests/unit/call_model_test \
	tests/unit/isolate_test tests/unit/sketch_test
host_kit = tests/unit/host_kit.c tests/unit/host_kit.h
host_kit_needs = tests/plugin/contract.la tests/plugin/sketch.la chela-child
tests_unit_call_test_SOURCES = tests/unit/call_test.c $(host_kit)
EXTRA_tests_unit_call_test_DEPENDENCIES = $(host_kit_needs)
tests_unit_call_model_test_SOURCES = tests/unit/call_model_test.c $(host_kit)
EXTRA_tests_unit_call_model_test_DEPENDENCIES = $(host_kit_needs)
tests_unit_isolate_test_SOURCES = tests/unit/isolate_test.c $(host_kit)
EXTRA_tests_unit_isolate_test_DEPENDENCIES = $(host_kit_needs)
tests_unit_sketch_test_SOURCES = tests/unit/sketch_test.c $(host_kit)
EXTRA_tests_unit_sketch_test_DEPENDENCIES = $(host_kit_needs)

# Files as a whole.
unit_tests += tests/unit/file_test
tests_unit_file_test_SOURCES = tests/unit/file_test.c
tests_unit_file_test_LDADD = core/libbase.a sdk/support/libsupport.la $(JSONC_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
