# The JSON wrapper and the JSON Schema validator.
unit_tests += tests/unit/json_test
tests_unit_json_test_SOURCES = tests/unit/json_test.c tests/unit/shared.h
tests_unit_json_test_LDADD = sdk/support/libsupport.la $(JSONC_LIBS) $(CMOCKA_LIBS)
