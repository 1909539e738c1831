# The thin client.
bin_PROGRAMS += chela
chela_SOURCES = core/main_client.c
chela_LDADD = $(CLIENT_LIBS)
