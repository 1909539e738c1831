# Sources of sdk/support, headers included, one a line.
sdk_support_libsupport_la_SOURCES +=
