# Sources of core/net, headers included, one a line.
core_libnet_a_SOURCES +=
