# The JSON wrapper and the JSON Schema validator.
unit_tests += tests/unit/json_test
tests_unit_json_test_SOURCES = tests/unit/json_test.c tests/unit/shared.h
tests_unit_json_test_LDADD = sdk/support/libsupport.la $(JSONC_LIBS) $(CMOCKA_LIBS)

# Data of others for the suite: CHELA_SHARED, else ../shared beside the source tree.
unit_tests += tests/unit/schema_test tests/unit/schema_suite_test
tests_unit_schema_test_SOURCES = tests/unit/schema_test.c tests/unit/shared.h
tests_unit_schema_test_LDADD = core/libagent.a core/libbase.a sdk/support/libsupport.la $(JSONC_LIBS) $(PCRE2_LIBS) \
	$(CMOCKA_LIBS)
tests_unit_schema_suite_test_SOURCES = tests/unit/schema_suite_test.c tests/unit/shared.h
tests_unit_schema_suite_test_LDADD = $(tests_unit_schema_test_LDADD)
