# Unit tests of the client; they link no more than the client does.
unit_tests += tests/unit/cli_line_test tests/unit/cli_markdown_test
tests_unit_cli_line_test_LDADD = $(CLIENT_LIBS) $(CMOCKA_LIBS)
tests_unit_cli_markdown_test_LDADD = $(CLIENT_LIBS) $(CMOCKA_LIBS)
