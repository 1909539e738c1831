# Unit tests of core/net and core/proc.
net_test_libs = core/libnet.a core/libhost.a core/libbase.a sdk/wire/libwire.la sdk/support/libsupport.la \
	$(UV_LIBS) $(MICROHTTPD_LIBS) $(WSLAY_LIBS) $(CURL_LIBS) $(CRYPTO_LIBS) $(JSONC_LIBS) $(CONFIG_LIBS) \
	$(LTDL_LIBS) $(CMOCKA_LIBS)
unit_tests += tests/unit/net_server_test
tests_unit_net_server_test_SOURCES = tests/unit/net_server_test.c tests/unit/net_peer.h
tests_unit_net_server_test_LDADD = $(net_test_libs)
unit_tests += tests/unit/net_server_ws_test
tests_unit_net_server_ws_test_SOURCES = tests/unit/net_server_ws_test.c tests/unit/net_peer.h tests/unit/net_ws_frames.h
tests_unit_net_server_ws_test_LDADD = $(net_test_libs)
unit_tests += tests/unit/net_decode_test
tests_unit_net_decode_test_LDADD = $(net_test_libs)
unit_tests += tests/unit/net_http_test
tests_unit_net_http_test_SOURCES = tests/unit/net_http_test.c tests/unit/net_http_kit.h tests/unit/net_fake.h
tests_unit_net_http_test_LDADD = $(net_test_libs)
unit_tests += tests/unit/net_ws_client_test
tests_unit_net_ws_client_test_SOURCES = tests/unit/net_ws_client_test.c tests/unit/net_fake.h tests/unit/net_ws_frames.h
tests_unit_net_ws_client_test_LDADD = $(net_test_libs)
unit_tests += tests/unit/proc_test
tests_unit_proc_test_SOURCES = tests/unit/proc_test.c tests/unit/net_peer.h
tests_unit_proc_test_LDADD = core/libproc.a $(net_test_libs)
EXTRA_tests_unit_proc_test_DEPENDENCIES = chela-supervise
unit_tests += tests/unit/confine_test
tests_unit_confine_test_SOURCES = tests/unit/confine_test.c tests/unit/net_peer.h
tests_unit_confine_test_LDADD = core/libproc.a $(net_test_libs)
EXTRA_tests_unit_confine_test_DEPENDENCIES = chela-supervise
unit_tests += tests/unit/net_tls_test
tests_unit_net_tls_test_SOURCES = tests/unit/net_tls_test.c tests/unit/net_fake.h tests/unit/net_ws_frames.h
tests_unit_net_tls_test_LDADD = $(net_test_libs) -lssl -lcrypto
unit_tests += tests/unit/net_http_faults_test
tests_unit_net_http_faults_test_SOURCES = tests/unit/net_http_faults_test.c tests/unit/net_http_kit.h
tests_unit_net_http_faults_test_LDADD = $(net_test_libs)
unit_tests += tests/unit/net_group_test
tests_unit_net_group_test_SOURCES = tests/unit/net_group_test.c tests/unit/net_fake.h
EXTRA_tests_unit_net_group_test_DEPENDENCIES = chela-supervise
check_PROGRAMS += tests/fakes/bad_server
tests_fakes_bad_server_SOURCES = tests/fakes/bad_server.c
tests_fakes_bad_server_LDADD =
