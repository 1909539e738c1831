# Unit tests of the client; they link no more than the client does.
unit_tests += tests/unit/cli_client_test tests/unit/cli_line_test tests/unit/cli_markdown_test
tests_unit_cli_client_test_LDADD = $(CLIENT_LIBS) $(CMOCKA_LIBS)
tests_unit_cli_line_test_LDADD = $(CLIENT_LIBS) $(CMOCKA_LIBS)
tests_unit_cli_markdown_test_LDADD = $(CLIENT_LIBS) $(CMOCKA_LIBS)

# A gateway that plays scenes, for tests/e2e/cli_*.sh.
check_PROGRAMS += tests/fakes/fake_gateway
tests_fakes_fake_gateway_SOURCES = tests/fakes/fake_gateway.c tests/fakes/fake_peer.c tests/fakes/fake_peer.h
tests_fakes_fake_gateway_LDADD = $(CLIENT_LIBS)
check_PROGRAMS += tests/fakes/watch_session
tests_fakes_watch_session_SOURCES = tests/fakes/watch_session.c
tests_fakes_watch_session_LDADD = $(CLIENT_LIBS)
