# Sources of core/agent, headers included, one a line.
core_libagent_a_SOURCES +=
