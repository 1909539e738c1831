# Conversations as tools, sub-agents, messages to chats.
plugin_LTLIBRARIES += %D%.la
sessions_sources = %D%/calls.c %D%/children.c %D%/manifest.c %D%/sessions.h %D%/spawn.c %D%/tool_sessions.c
%C%_la_SOURCES = $(sessions_sources)
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/tool_sessions.conf

plugin_tests += %D%/sessions_test
%C%_sessions_test_SOURCES = %D%/sessions_test.c $(sessions_sources) sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_sessions_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_sessions_test_LDADD = $(TESTKIT_LIBS)
