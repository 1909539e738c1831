# Plugins to begin with, as source: they are built outside of the tree, against the installed SDK (see the guide,
# doc/plugin-guide.md, and tests/e2e/sdk_template_test.sh).
templatedir = $(pkgdatadir)/template
dist_template_DATA = %D%/Makefile %D%/plugin.map %D%/channel_pipe.c %D%/provider_lines.c %D%/router_hours.c \
	%D%/tool_dice.c %D%/tool_clock.cc
