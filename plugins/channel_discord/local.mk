# Discord, by its gateway and HTTP API.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/channel_discord.c %D%/discord.h %D%/gateway.c %D%/inbound.c %D%/outbound.c %D%/rest.c
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/channel_discord.conf

plugin_tests += %D%/discord_test
%C%_discord_test_SOURCES = %D%/discord_test.c %D%/channel_discord.c %D%/gateway.c %D%/inbound.c %D%/outbound.c \
	%D%/rest.c sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_discord_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_discord_test_LDADD = $(TESTKIT_LIBS)
