# Discord, by its gateway and HTTP API.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/channel_discord.c %D%/discord.h %D%/gateway.c %D%/inbound.c %D%/outbound.c %D%/rest.c %D%/said.c
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/channel_discord.conf

plugin_tests += %D%/discord_test
%C%_discord_test_SOURCES = %D%/discord_test.c %D%/channel_discord.c %D%/gateway.c %D%/inbound.c %D%/outbound.c \
	%D%/rest.c %D%/said.c sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_discord_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_discord_test_LDADD = $(TESTKIT_LIBS)

# A Discord that plays its part for tests/e2e/discord_test.sh and the peers.
check_PROGRAMS += tests/fakes/fake_discord
tests_fakes_fake_discord_SOURCES = tests/fakes/fake_discord.c tests/fakes/fake_discord.h \
	tests/fakes/fake_discord_gateway.c tests/fakes/fake_discord_limits.c tests/fakes/fake_socket.c tests/fakes/fake_socket.h \
	tests/fakes/multipart.c tests/fakes/multipart.h tests/fakes/openapi_check.c tests/fakes/openapi_check.h
tests_fakes_fake_discord_LDADD = core/libagent.a core/libbase.a sdk/support/libsupport.la $(MICROHTTPD_LIBS) \
	$(WSLAY_LIBS) $(JSONC_LIBS) $(PCRE2_LIBS) -lssl -lcrypto
