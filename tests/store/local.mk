# The store's conformance suite and what belongs to it. `conformance PLUGIN.so OPTION=VALUE ...` runs it on any store.
store_fake = tests/store/fake.c tests/store/fake.h
store_libs = core/libbase.a sdk/support/libsupport.la $(JSONC_LIBS) $(CMOCKA_LIBS) $(CRYPTO_LIBS) -lpthread -ldl

if PLUGIN_store_sqlite
plugin_tests += tests/store/conformance
tsan_tests += tests/store/conformance
endif
tests_store_conformance_SOURCES = $(store_fake) tests/store/suite.c tests/store/suite.h \
	tests/store/conformance.c tests/store/conformance_values.c tests/store/conformance_blobs.c \
	tests/store/conformance_crash.c
tests_store_conformance_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
tests_store_conformance_LDADD = $(store_libs)
