# What the assistant remembers: MEMORY.md, dated notes, and a search over them.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/find.c %D%/index.c %D%/memory.h %D%/notes.c %D%/notes.h %D%/tool_memory.c
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS) -lm

pluginconf_DATA += %D%/tool_memory.conf
