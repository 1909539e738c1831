# Plugins that only tests load; each has one exported symbol and no more libraries than a real one.
check_LTLIBRARIES += tests/plugin/contract.la
tests_plugin_contract_la_SOURCES = tests/plugin/contract/contract.c
tests_plugin_contract_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugin_contract_la_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugin_contract_la_LDFLAGS = $(PLUGIN_LINKFLAGS) -rpath $(plugindir)
