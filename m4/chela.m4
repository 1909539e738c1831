dnl Macros of Chela's own configure.ac: compiler flags that are tried before use, and one macro for each plugin.

dnl CHELA_TRY_CFLAG(VARIABLE, FLAG): appends FLAG to VARIABLE when the compiler takes it without a warning.
AC_DEFUN([CHELA_TRY_CFLAG], [
  AS_VAR_PUSHDEF([cache], [chela_cv_cflag_$2])
  AC_CACHE_CHECK([whether $CC takes $2], [cache], [
    chela_saved=$CFLAGS
    CFLAGS="$CFLAGS -Werror $2"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
    CFLAGS=$chela_saved])
  AS_VAR_IF([cache], [yes], [AS_VAR_APPEND([$1], [" $2"])])
  AS_VAR_POPDEF([cache])])

dnl CHELA_TRY_LDFLAG(VARIABLE, FLAG): the same for the linker.
AC_DEFUN([CHELA_TRY_LDFLAG], [
  AS_VAR_PUSHDEF([cache], [chela_cv_ldflag_$2])
  AC_CACHE_CHECK([whether the linker takes $2], [cache], [
    chela_saved=$LDFLAGS
    LDFLAGS="$LDFLAGS $2"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
    LDFLAGS=$chela_saved])
  AS_VAR_IF([cache], [yes], [AS_VAR_APPEND([$1], [" $2"])])
  AS_VAR_POPDEF([cache])])

dnl CHELA_PLUGIN(KIND_NAME, [CHECKS]): the switches of one plugin. Its long name (channel-telegram) is always
dnl understood, its short one (telegram) switches every plugin of that name. CHECKS run only when it is enabled.
AC_DEFUN([CHELA_PLUGIN], [
  m4_pushdef([long], m4_bpatsubst([$1], [_], [-]))
  m4_pushdef([short], m4_bpatsubst(m4_bpatsubst([$1], [^[a-z]*_], []), [_], [-]))
  m4_ifndef([CHELA_SHORT_]short, [
    m4_define([CHELA_SHORT_]short, [])
    AC_ARG_ENABLE([plugin-]short)])
  AC_ARG_ENABLE([plugin-]long, [AS_HELP_STRING([--disable-plugin-]long, [leave out the plugin $1])],
    [chela_use=$enableval], [chela_use=${enable_plugin_[]m4_translit(short, [-], [_]):-$chela_all_plugins}])
  chela_short=m4_translit(short, [-], [_])
  AS_VAR_APPEND([chela_plugin_options], [" plugin_$1 plugin_$chela_short"])
  AM_CONDITIONAL([PLUGIN_$1], [test "x$chela_use" != xno])
  AS_IF([test "x$chela_use" != xno], [
    AS_VAR_APPEND([CHELA_PLUGINS], [" $1"])
    AS_CASE([",$with_builtin,"],
      [,all,|,yes,|*,$1,*|*,]long[,*|*,]short[,*], [AS_VAR_APPEND([CHELA_BUILTINS], [" $1"])])
    $2])
  AS_VAR_APPEND([chela_known], [",$1,]long[,]short[,"])
  m4_popdef([short])
  m4_popdef([long])])
