# The terminal: its sessions live in the daemon, the client is thin.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/channel_cli.c
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/channel_cli.conf
