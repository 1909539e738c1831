# Clients that break the gateway's rules, for tests/e2e/devices_test.sh and tests/e2e/hostile_test.sh.
gateway_test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
gateway_test_libs = core/libbase.a sdk/support/libsupport.la $(JSONC_LIBS) $(CRYPTO_LIBS)
check_PROGRAMS += tests/gateway/device_client
tests_gateway_device_client_SOURCES = tests/gateway/device_client.c tests/gateway/raw_client.c tests/gateway/raw_client.h
tests_gateway_device_client_CPPFLAGS = $(gateway_test_cppflags)
tests_gateway_device_client_LDADD = $(gateway_test_libs)
check_PROGRAMS += tests/gateway/hostile
tests_gateway_hostile_SOURCES = tests/gateway/hostile.c tests/gateway/raw_client.c tests/gateway/raw_client.h
tests_gateway_hostile_CPPFLAGS = $(gateway_test_cppflags)
tests_gateway_hostile_LDADD = $(gateway_test_libs)
long_tests += tests/gateway/long_test.sh
