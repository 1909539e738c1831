# Runs commands; judges their risk by parsing them.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/tool_exec.c %D%/exec.h %D%/judge.c %D%/launch.c %D%/process.c %D%/session.c %D%/command.c \
	%D%/command.h %D%/output.c %D%/output.h %D%/screen.c %D%/screen.h %D%/risk.c %D%/risk.h %D%/risk_internal.h \
	%D%/risk_judge.c %D%/risk_judge.h %D%/risk_names.c %D%/risk_parse.c %D%/risk_programs.c %D%/risk_programs.h \
	%D%/risk_script.c %D%/risk_table.c %D%/risk_word.c %D%/risk_wrap.c
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) $(VTERM_CFLAGS) $(CRYPTO_CFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS) $(VTERM_LIBS) $(CRYPTO_LIBS)

pluginconf_DATA += %D%/tool_exec.conf

plugin_tests += %D%/exec_test %D%/output_test %D%/screen_test
%C%_output_test_SOURCES = %D%/output_test.c %D%/output.c %D%/output.h
%C%_output_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_output_test_LDADD = sdk/support/libsupport.la $(JSONC_LIBS) $(CMOCKA_LIBS)
%C%_screen_test_SOURCES = %D%/screen_test.c %D%/screen.c %D%/screen.h
%C%_screen_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(VTERM_CFLAGS)
%C%_screen_test_LDADD = $(VTERM_LIBS) $(CMOCKA_LIBS)
%C%_exec_test_SOURCES = %D%/exec_test.c sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c %D%/tool_exec.c %D%/judge.c %D%/launch.c %D%/process.c %D%/session.c \
	%D%/command.c %D%/output.c %D%/screen.c %D%/risk.c %D%/risk_judge.c %D%/risk_names.c %D%/risk_parse.c \
	%D%/risk_programs.c %D%/risk_script.c %D%/risk_table.c %D%/risk_word.c %D%/risk_wrap.c
%C%_exec_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(VTERM_CFLAGS) $(CRYPTO_CFLAGS)
%C%_exec_test_LDADD = $(TESTKIT_LIBS) $(VTERM_LIBS) $(CRYPTO_LIBS)
