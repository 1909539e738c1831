# Sources of core/host, headers included, one a line.
core_libhost_a_SOURCES +=
