# The SDK: public headers (found by pattern, so that a new one is installed too), the strict JSON wrapper
# (sdk/support) and the encoder (sdk/wire), both linked by core, the child and the test kit.

noinst_LTLIBRARIES += sdk/support/libsupport.la sdk/wire/libwire.la
sdk_support_libsupport_la_SOURCES =
sdk_support_libsupport_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
sdk_support_libsupport_la_CFLAGS = $(PLUGIN_CFLAGS)
sdk_support_libsupport_la_LIBADD = $(JSONC_LIBS)
sdk_wire_libwire_la_SOURCES =
sdk_wire_libwire_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
sdk_wire_libwire_la_CFLAGS = $(PLUGIN_CFLAGS)

chelainclude_HEADERS += $(wildcard $(top_srcdir)/sdk/include/chela/*.h)
pkgconfig_DATA += sdk/chela-sdk.pc
aclocal_DATA += $(top_srcdir)/sdk/m4/chela-sdk.m4
