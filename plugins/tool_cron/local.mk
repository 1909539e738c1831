# Turns that begin by the clock.
plugin_LTLIBRARIES += %D%.la
cron_sources = %D%/cron.h %D%/expr.c %D%/expr.h %D%/job.c %D%/methods.c %D%/run.c %D%/runlog.c \
	%D%/tool.c %D%/tool_cron.c
%C%_la_SOURCES = $(cron_sources)
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/tool_cron.conf

cron_kit = %D%/cron_kit.h sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
plugin_tests += %D%/expr_test %D%/cron_test
%C%_expr_test_SOURCES = %D%/expr_test.c %D%/expr.c
%C%_expr_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_expr_test_LDADD = $(TESTKIT_LIBS)
%C%_cron_test_SOURCES = %D%/cron_test.c $(cron_sources) $(cron_kit)
%C%_cron_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_cron_test_LDADD = $(TESTKIT_LIBS)
