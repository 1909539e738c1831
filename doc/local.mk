# Documentation and man pages.

dist_man_MANS += doc/man/chela.1 doc/man/chela.conf.5 doc/man/chelad.8
# of the plugins; made by doc/man/plugin-page
dist_man7_MANS = $(wildcard $(top_srcdir)/doc/man/chela-*.7)
EXTRA_DIST += doc/man/plugin-page
