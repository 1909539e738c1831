# Sources of core/gateway, headers included, one a line.
core_libgateway_a_SOURCES +=
