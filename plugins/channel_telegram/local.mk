# Telegram, by its Bot API.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/api.c %D%/channel_telegram.c %D%/inbound.c %D%/outbound.c %D%/poll.c %D%/said.c \
	%D%/telegram.h
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/channel_telegram.conf

# A Bot API server that plays its part for tests/e2e/telegram_test.sh.
check_PROGRAMS += tests/fakes/fake_telegram
tests_fakes_fake_telegram_SOURCES = tests/fakes/fake_telegram.c tests/fakes/bot_schema.c tests/fakes/bot_schema.h \
	tests/fakes/multipart.c tests/fakes/multipart.h
tests_fakes_fake_telegram_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS)
tests_fakes_fake_telegram_LDADD = sdk/support/libsupport.la $(MICROHTTPD_LIBS) $(JSONC_LIBS)

plugin_tests += %D%/telegram_test
%C%_telegram_test_SOURCES = %D%/telegram_test.c %D%/api.c %D%/channel_telegram.c %D%/inbound.c %D%/outbound.c \
	%D%/poll.c %D%/said.c sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_telegram_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_telegram_test_LDADD = $(TESTKIT_LIBS)
