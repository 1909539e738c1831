# The sources are found by m4/fragments.sh, but for those of the supervisor, a program of its own.
chelaexec_PROGRAMS += chela-supervise
chela_supervise_SOURCES = core/proc/confine.c core/proc/confine.h core/proc/supervise.h \
	core/proc/supervise_child.c core/proc/supervise_child.h core/proc/supervise_main.c \
	core/proc/supervise_tree.c core/proc/supervise_tree.h
chela_supervise_LDADD =
