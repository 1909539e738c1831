# Sources of core/base, headers included, one a line.
core_libbase_a_SOURCES +=
