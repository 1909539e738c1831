# Documentation and man pages.

dist_man_MANS += doc/man/chela.1
