# Reads, writes, edits, deletes and lists files of the workspace.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/tool_files.c %D%/beneath.c %D%/beneath.h %D%/files.c %D%/files.h %D%/edit.c %D%/edit.h
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

pluginconf_DATA += %D%/tool_files.conf

plugin_tests += %D%/files_test
%C%_files_test_SOURCES = %D%/files_test.c %D%/beneath.c %D%/files.c %D%/edit.c
%C%_files_test_CPPFLAGS = $(TESTKIT_CPPFLAGS)
%C%_files_test_LDADD = sdk/support/libsupport.la $(JSONC_LIBS) $(CMOCKA_LIBS)
