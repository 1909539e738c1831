# Anthropic's Messages API.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/provider_anthropic.c %D%/request.c %D%/request.h
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/provider_anthropic.conf

plugin_tests += %D%/login_test
%C%_login_test_SOURCES = %D%/login_test.c %D%/provider_anthropic.c %D%/request.c sdk/testkit/kit.c \
	sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_login_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_login_test_LDADD = $(TESTKIT_LIBS)
