# The default store.
plugin_LTLIBRARIES += plugins/store_sqlite.la
plugins_store_sqlite_la_SOURCES = \
	plugins/store_sqlite/blob.c \
	plugins/store_sqlite/catalog.c \
	plugins/store_sqlite/commit.c \
	plugins/store_sqlite/connection.c \
	plugins/store_sqlite/files.c \
	plugins/store_sqlite/internal.h \
	plugins/store_sqlite/job.c \
	plugins/store_sqlite/keeper.c \
	plugins/store_sqlite/migrate.c \
	plugins/store_sqlite/reader.c \
	plugins/store_sqlite/search.c \
	plugins/store_sqlite/store_sqlite.c \
	plugins/store_sqlite/values.c \
	plugins/store_sqlite/writer.c
plugins_store_sqlite_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) $(SQLITE_CFLAGS) $(CRYPTO_CFLAGS)
plugins_store_sqlite_la_CFLAGS = $(PLUGIN_CFLAGS)
plugins_store_sqlite_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
plugins_store_sqlite_la_LIBADD = $(PLUGIN_LIBS) $(SQLITE_LIBS) $(CRYPTO_LIBS) -lpthread
pluginconf_DATA += plugins/store_sqlite/store_sqlite.conf
