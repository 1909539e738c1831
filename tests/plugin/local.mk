# Plugins that only tests load; each has one exported symbol and no more libraries than a real one.
check_LTLIBRARIES += tests/plugin/contract.la tests/plugin/sketch.la
tests_plugin_contract_la_SOURCES = tests/plugin/contract/contract.c
tests_plugin_contract_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugin_contract_la_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugin_contract_la_LDFLAGS = $(PLUGIN_LINKFLAGS) -rpath $(plugindir)
tests_plugin_sketch_la_SOURCES = tests/plugin/sketch/asking.c tests/plugin/sketch/changing.c \
	tests/plugin/sketch/gateway.c tests/plugin/sketch/netstore.c tests/plugin/sketch/poller.c \
	tests/plugin/sketch/sketch.c tests/plugin/sketch/sketch.h tests/plugin/sketch/webhook.c
tests_plugin_sketch_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugin_sketch_la_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugin_sketch_la_LDFLAGS = $(PLUGIN_LINKFLAGS) -rpath $(plugindir)

check_LTLIBRARIES += tests/plugin/tool_weather.la
tests_plugin_tool_weather_la_SOURCES = tests/plugin/weather/tool_weather.c
tests_plugin_tool_weather_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugin_tool_weather_la_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugin_tool_weather_la_LDFLAGS = $(PLUGIN_LINKFLAGS) -rpath $(plugindir)

check_LTLIBRARIES += tests/plugin/channel_spool.la
tests_plugin_channel_spool_la_SOURCES = tests/plugin/spool/channel_spool.c
tests_plugin_channel_spool_la_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugin_channel_spool_la_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugin_channel_spool_la_LDFLAGS = $(PLUGIN_LINKFLAGS) -rpath $(plugindir)
