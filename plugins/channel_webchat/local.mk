# The page on the gateway's port, and the channel of its messages. The assembler puts www/ into the module.
plugin_LTLIBRARIES += %D%.la
%C%_la_SOURCES = %D%/channel_webchat.c %D%/channel_webchat.h %D%/files.c
%C%_la_CPPFLAGS = $(PLUGIN_CPPFLAGS) -DWWW_DIR='"$(abs_top_srcdir)/%D%/www"'
%C%_la_CFLAGS = $(PLUGIN_CFLAGS)
%C%_la_LDFLAGS = $(PLUGIN_LINKFLAGS)
%C%_la_LIBADD = $(PLUGIN_LIBS)

webchat_www = %D%/www/index.html %D%/www/style.css %D%/www/app.js %D%/www/transport.js %D%/www/identity.js \
	%D%/www/store.js %D%/www/transcript.js %D%/www/cards.js %D%/www/composer.js %D%/www/sessions.js \
	%D%/www/settings.js %D%/www/trace.js %D%/www/palette.js %D%/www/text.js %D%/www/dom.js %D%/www/icon.svg
EXTRA_DIST += $(webchat_www)
# by a variable, so that automake doesn't take this for the object's own rule
webchat_object = %D%/la-files.lo
$(webchat_object): $(webchat_www)

pluginconf_DATA += %D%/channel_webchat.conf
