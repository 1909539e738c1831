# Routes by what a small model thinks of a question.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/router_llm.c %D%/cache.c %D%/cache.h
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/router_llm.conf

plugin_tests += %D%/llm_test
%C%_llm_test_SOURCES = %D%/llm_test.c %D%/router_llm.c %D%/cache.c sdk/testkit/kit.c sdk/testkit/kit_host.c \
	sdk/testkit/kit_trace.c
%C%_llm_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_llm_test_LDADD = $(TESTKIT_LIBS)
