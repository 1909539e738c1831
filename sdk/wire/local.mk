# Sources of sdk/wire, headers included, one a line.
sdk_wire_libwire_la_SOURCES +=
