# A plugin's own process, for isolated instances and for looking into a file without trusting it.
chelaexec_PROGRAMS += chela-child
chela_child_SOURCES = core/main_child.c
chela_child_LDADD = $(CHILD_LIBS) $(BUILTIN_LIBS)
EXTRA_chela_child_DEPENDENCIES = $(BUILTIN_ARCHIVES)
