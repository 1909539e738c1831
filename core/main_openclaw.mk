# Reads an OpenClaw state folder for `chela import openclaw`; a program of its own, so that `chela` links no SQLite.
chelaexec_PROGRAMS += chela-openclaw
chela_openclaw_SOURCES = core/main_openclaw.c core/openclaw/conversation.c core/openclaw/database.c core/openclaw/files.c \
	core/openclaw/openclaw.h core/openclaw/say.c
chela_openclaw_LDADD = core/libbase.a sdk/support/libsupport.la $(JSONC_LIBS) $(CRYPTO_LIBS) $(SQLITE_LIBS) $(ZSTD_LIBS)
chela_openclaw_CPPFLAGS = $(AM_CPPFLAGS) $(OPENCLAW_SQLITE) $(ZSTD_DEFINE) $(ZSTD_CFLAGS)
if PLUGIN_store_sqlite
OPENCLAW_SQLITE = -DWITH_SQLITE $(SQLITE_CFLAGS)
endif
