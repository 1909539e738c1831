# Fetches web pages as Markdown, searches the web.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/html.c %D%/html.h %D%/search.c %D%/tool_web.c %D%/web.h %D%/xml.c %D%/xml.h
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) $(XML_CFLAGS) $(XML_NAME)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/tool_web.conf

plugin_tests += %D%/html_test
%C%_html_test_SOURCES = %D%/html_test.c %D%/html.c %D%/xml.c
%C%_html_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(XML_CFLAGS) $(XML_NAME)
%C%_html_test_LDADD = $(CMOCKA_LIBS)

plugin_tests += %D%/web_test
%C%_web_test_SOURCES = %D%/web_test.c %D%/html.c %D%/search.c %D%/tool_web.c %D%/xml.c sdk/testkit/kit.c sdk/testkit/kit_host.c sdk/testkit/kit_trace.c
%C%_web_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(XML_CFLAGS) $(XML_NAME)
%C%_web_test_LDADD = $(TESTKIT_LIBS)
