# What all providers share (sdk/support), where no recording reaches it.
plugin_tests += tests/support/naming_test tests/support/textcall_test tests/support/cumulative_test tests/support/tool_schema_test \
	tests/support/base64_test tests/support/glob_test tests/support/toolset_test
tests_support_naming_test_SOURCES = tests/support/naming_test.c
tests_support_naming_test_LDADD = $(TESTKIT_LIBS)
tests_support_textcall_test_SOURCES = tests/support/textcall_test.c
tests_support_textcall_test_LDADD = $(TESTKIT_LIBS)
tests_support_cumulative_test_SOURCES = tests/support/cumulative_test.c
tests_support_cumulative_test_LDADD = $(TESTKIT_LIBS)
tests_support_tool_schema_test_SOURCES = tests/support/tool_schema_test.c
tests_support_tool_schema_test_LDADD = $(TESTKIT_LIBS)
tests_support_base64_test_SOURCES = tests/support/base64_test.c
tests_support_base64_test_LDADD = $(TESTKIT_LIBS)
tests_support_toolset_test_SOURCES = tests/support/toolset_test.c
tests_support_toolset_test_LDADD = $(TESTKIT_LIBS)
tests_support_glob_test_SOURCES = tests/support/glob_test.c
tests_support_glob_test_LDADD = $(TESTKIT_LIBS)
