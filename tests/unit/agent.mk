# The agent: its tables and texts by themselves, and whole turns against fakes of what lies below (agent_fake.h).
AGENT_FAKES = tests/unit/agent_fake.c tests/unit/agent_fake.h tests/unit/agent_fake_calls.c \
	tests/unit/agent_fake_calls.h tests/unit/agent_fake_journal.c tests/unit/agent_fake_journal.h \
	tests/unit/agent_fake_reads.c tests/unit/agent_fake_spent.c tests/unit/agent_world.h
AGENT_LIBS = core/libagent.a core/libbase.a sdk/wire/libwire.la sdk/support/libsupport.la $(JSONC_LIBS) $(CRYPTO_LIBS) \
	$(MD4C_LIBS) $(PCRE2_LIBS) $(CMOCKA_LIBS)

unit_tests += tests/unit/agent_chart_test tests/unit/agent_control_test
tests_unit_agent_chart_test_SOURCES = tests/unit/agent_chart_test.c $(AGENT_FAKES)
tests_unit_agent_chart_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_control_test_SOURCES = tests/unit/agent_control_test.c $(AGENT_FAKES)
tests_unit_agent_control_test_LDADD = $(AGENT_LIBS)
unit_tests += tests/unit/agent_state_test tests/unit/agent_text_test tests/unit/agent_policy_test \
	tests/unit/agent_turn_test tests/unit/agent_call_test tests/unit/agent_failover_test \
	tests/unit/agent_queue_test tests/unit/agent_recovery_test tests/unit/agent_history_test \
	tests/unit/agent_draft_test tests/unit/agent_access_test tests/unit/agent_renewal_test \
	tests/unit/agent_traffic_test
tests_unit_agent_state_test_SOURCES = tests/unit/agent_state_test.c $(AGENT_FAKES)
tests_unit_agent_state_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_text_test_SOURCES = tests/unit/agent_text_test.c $(AGENT_FAKES)
tests_unit_agent_text_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_policy_test_SOURCES = tests/unit/agent_policy_test.c $(AGENT_FAKES)
tests_unit_agent_policy_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_turn_test_SOURCES = tests/unit/agent_turn_test.c $(AGENT_FAKES)
tests_unit_agent_turn_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_call_test_SOURCES = tests/unit/agent_call_test.c $(AGENT_FAKES)
tests_unit_agent_call_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_failover_test_SOURCES = tests/unit/agent_failover_test.c $(AGENT_FAKES)
tests_unit_agent_failover_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_queue_test_SOURCES = tests/unit/agent_queue_test.c $(AGENT_FAKES)
tests_unit_agent_queue_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_recovery_test_SOURCES = tests/unit/agent_recovery_test.c $(AGENT_FAKES)
tests_unit_agent_recovery_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_history_test_SOURCES = tests/unit/agent_history_test.c $(AGENT_FAKES)
tests_unit_agent_history_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_history_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=xmalloc,--wrap=xcalloc,--wrap=xrealloc
tests_unit_agent_draft_test_SOURCES = tests/unit/agent_draft_test.c $(AGENT_FAKES)
tests_unit_agent_draft_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_access_test_SOURCES = tests/unit/agent_access_test.c $(AGENT_FAKES)
tests_unit_agent_access_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_renewal_test_SOURCES = tests/unit/agent_renewal_test.c $(AGENT_FAKES)
tests_unit_agent_renewal_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_traffic_test_SOURCES = tests/unit/agent_traffic_test.c $(AGENT_FAKES)
tests_unit_agent_traffic_test_LDADD = $(AGENT_LIBS)
unit_tests += tests/unit/agent_money_test tests/unit/agent_keys_test
tests_unit_agent_money_test_SOURCES = tests/unit/agent_money_test.c $(AGENT_FAKES)
tests_unit_agent_money_test_LDADD = $(AGENT_LIBS)
tests_unit_agent_keys_test_SOURCES = tests/unit/agent_keys_test.c $(AGENT_FAKES)
tests_unit_agent_keys_test_LDADD = $(AGENT_LIBS)
