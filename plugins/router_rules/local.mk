# Routes by rules: words, expressions, where a message came from.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/router_rules.c %D%/pattern.c %D%/pattern.h
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) $(PCRE2_CFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS) $(PCRE2_LIBS)

pluginconf_DATA += %D%/router_rules.conf

plugin_tests += %D%/pattern_test
%C%_pattern_test_SOURCES = %D%/pattern_test.c %D%/pattern.c %D%/pattern.h
%C%_pattern_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(PCRE2_CFLAGS)
%C%_pattern_test_LDADD = $(CMOCKA_LIBS) $(PCRE2_LIBS)

plugin_tests += %D%/rules_test
%C%_rules_test_SOURCES = %D%/rules_test.c %D%/router_rules.c %D%/pattern.c sdk/testkit/kit.c sdk/testkit/kit_host.c \
	sdk/testkit/kit_trace.c
%C%_rules_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(PCRE2_CFLAGS)
%C%_rules_test_LDADD = $(TESTKIT_LIBS) $(PCRE2_LIBS)
