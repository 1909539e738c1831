# The heartbeat; shares what it needs of the host with the jobs.
plugin_LTLIBRARIES += %D%.la
heartbeat_sources = %D%/channel_heartbeat.c %D%/heartbeat.h %D%/heartbeat_text.c
%C%_la_SOURCES = $(heartbeat_sources)
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/channel_heartbeat.conf

plugin_tests += %D%/heartbeat_test
%C%_heartbeat_test_SOURCES = %D%/heartbeat_test.c $(heartbeat_sources) plugins/tool_cron/cron_kit.h sdk/testkit/kit.c \
	sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_heartbeat_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) -I$(top_srcdir)/plugins
%C%_heartbeat_test_LDADD = $(TESTKIT_LIBS)
