dnl For plugins of Chela that are built outside its tree.
dnl
dnl CHELA_PLUGIN_INIT([MINIMUM = 0.9])
dnl   finds the SDK by pkg-config and sets, for Makefile.am:
dnl     CHELA_CFLAGS          where <chela/chela.h> is, with what a module needs (hidden symbols)
dnl     CHELA_PLUGIN_LDFLAGS  for libtool: a module of one exported symbol, all its own symbols resolved at once
dnl     plugindir, pluginconfdir   where the gateway looks for the .so and the admin for the .conf
dnl   Call it after LT_INIT([disable-static]); then Makefile.am says, for a plugin tool_clock:
dnl     plugin_LTLIBRARIES = tool_clock.la
dnl     tool_clock_la_SOURCES = tool_clock.c
dnl     tool_clock_la_CFLAGS = $(CHELA_CFLAGS)
dnl     tool_clock_la_LDFLAGS = $(CHELA_PLUGIN_LDFLAGS)
AC_DEFUN([CHELA_PLUGIN_INIT], [
  AC_REQUIRE([AC_PROG_CC])
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])
  PKG_CHECK_MODULES([CHELA_SDK], [chela-sdk >= m4_default([$1], [0.9])])
  AC_ARG_VAR([plugindir], [folder of Chela's plugins])
  AC_ARG_VAR([pluginconfdir], [folder of their configuration fragments])
  AS_VAR_SET_IF([plugindir], [], [plugindir=`$PKG_CONFIG --variable=plugindir chela-sdk`])
  AS_VAR_SET_IF([pluginconfdir], [], [pluginconfdir=`$PKG_CONFIG --variable=pluginconfdir chela-sdk`])
  CHELA_CFLAGS="$CHELA_SDK_CFLAGS -std=c11 -fvisibility=hidden"
  CHELA_PLUGIN_LDFLAGS="-module -avoid-version -shared -no-undefined -Wl,-z,defs -Wl,-z,now -Wl,-z,relro"
  CHELA_PLUGIN_LDFLAGS="$CHELA_PLUGIN_LDFLAGS -export-symbols-regex _LTX_chela_plugin\$\$"
  AC_SUBST([CHELA_CFLAGS])
  AC_SUBST([CHELA_PLUGIN_LDFLAGS])])
