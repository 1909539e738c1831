# Sources of core/cli, headers included, one a line.
core_libcli_a_SOURCES +=
