# The daemon; `chela gateway` executes it.
chelaexec_PROGRAMS += chelad
chelad_SOURCES = core/main_gateway.c
chelad_LDADD = $(DAEMON_LIBS) $(BUILTIN_LIBS)
EXTRA_chelad_DEPENDENCIES = $(BUILTIN_ARCHIVES)
