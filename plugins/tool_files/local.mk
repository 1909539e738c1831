# Reads, searches, writes, edits, patches, deletes and lists files of the workspace.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/tool_files.c %D%/beneath.c %D%/beneath.h %D%/files.c %D%/files.h %D%/files_internal.h %D%/edit.c \
	%D%/edit.h %D%/glob.c %D%/glob.h %D%/patch.c %D%/patch.h %D%/search.c %D%/undo.c %D%/undo.h
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) $(PCRE2_CFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS) $(PCRE2_LIBS)

pluginconf_DATA += %D%/tool_files.conf

plugin_tests += %D%/files_test %D%/escape_test
%C%_files_test_SOURCES = %D%/files_test.c %D%/beneath.c %D%/files.c %D%/edit.c %D%/glob.c %D%/patch.c %D%/search.c \
	%D%/undo.c
%C%_files_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(PCRE2_CFLAGS)
%C%_files_test_LDADD = sdk/support/libsupport.la $(JSONC_LIBS) $(PCRE2_LIBS) $(CMOCKA_LIBS)
%C%_escape_test_SOURCES = %D%/escape_test.c %D%/beneath.c %D%/files.c %D%/edit.c %D%/glob.c %D%/patch.c \
	%D%/search.c %D%/undo.c
%C%_escape_test_CPPFLAGS = $(TESTKIT_CPPFLAGS) $(PCRE2_CFLAGS)
%C%_escape_test_LDADD = sdk/support/libsupport.la $(JSONC_LIBS) $(PCRE2_LIBS) $(CMOCKA_LIBS) -lpthread
