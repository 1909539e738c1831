# The offline demo: no network, no key.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/provider_demo.c %D%/intent.c %D%/intent.h %D%/answer.c %D%/answer.h
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/provider_demo.conf
