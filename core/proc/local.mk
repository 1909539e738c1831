# Sources of core/proc, headers included, one a line.
core_libproc_a_SOURCES +=
