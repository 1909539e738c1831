# Documentation and man pages.

dist_man_MANS += doc/man/chela.1 doc/man/chela.conf.5
