# Tools, resources and prompts of Model Context Protocol servers.
plugin_LTLIBRARIES += %D%.la
mcp_sources = %D%/discover.c %D%/elicit.c %D%/http.c %D%/http_stream.c %D%/incoming.c %D%/login.c %D%/mcp.h \
	%D%/methods.c %D%/oauth.c %D%/oauth.h %D%/prompts.c %D%/question.c %D%/resources.c %D%/result.c %D%/rpc.c \
	%D%/sampling.c %D%/server.c %D%/stdio.c %D%/tool_mcp.c %D%/tools.c %D%/version.c
%C%_la_SOURCES = $(mcp_sources)
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) $(CRYPTO_CFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS) $(CRYPTO_LIBS)

pluginconf_DATA += %D%/tool_mcp.conf

check_PROGRAMS += tests/fakes/fake_mcp
tests_fakes_fake_mcp_SOURCES = tests/fakes/fake_mcp.c
tests_fakes_fake_mcp_LDADD =

plugin_tests += %D%/mcp_test
%C%_mcp_test_SOURCES = %D%/mcp_test.c $(mcp_sources) sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_mcp_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(CRYPTO_CFLAGS)
%C%_mcp_test_LDADD = $(TESTKIT_LIBS) $(CRYPTO_LIBS)
plugin_tests += %D%/http_test
%C%_http_test_SOURCES = %D%/http_test.c $(mcp_sources) sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_http_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(CRYPTO_CFLAGS)
%C%_http_test_LDADD = $(TESTKIT_LIBS) $(CRYPTO_LIBS)
