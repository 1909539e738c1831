# What the assistant remembers: MEMORY.md, dated notes, and a search over them.
plugin_LTLIBRARIES += %D%.la
memory_sources = %D%/alike.c %D%/find.c %D%/index.c %D%/meaning.c %D%/meaning.h %D%/memory.h %D%/notes.c \
	%D%/notes.h %D%/tool_memory.c %D%/vectors.c %D%/vectors.h %D%/watch.c
%C%_la_SOURCES = $(memory_sources)
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS) -lm

pluginconf_DATA += %D%/tool_memory.conf

plugin_tests += %D%/vectors_test
%C%_vectors_test_SOURCES = %D%/vectors_test.c %D%/vectors.c
%C%_vectors_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_vectors_test_LDADD = $(TESTKIT_LIBS)
