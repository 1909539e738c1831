# The risk of command lines (plugins/tool_exec/risk*.c); the plugin's own test is beside it.
unit_tests += tests/unit/risk_test
tests_unit_risk_test_SOURCES = tests/unit/risk_test.c tests/unit/shared.h plugins/tool_exec/risk.c \
	plugins/tool_exec/risk.h plugins/tool_exec/risk_internal.h plugins/tool_exec/risk_judge.c \
	plugins/tool_exec/risk_judge.h plugins/tool_exec/risk_names.c plugins/tool_exec/risk_parse.c \
	plugins/tool_exec/risk_programs.c plugins/tool_exec/risk_programs.h plugins/tool_exec/risk_script.c \
	plugins/tool_exec/risk_table.c plugins/tool_exec/risk_word.c plugins/tool_exec/risk_wrap.c
tests_unit_risk_test_LDADD = $(CMOCKA_LIBS)
