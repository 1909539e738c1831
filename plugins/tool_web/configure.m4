PKG_CHECK_MODULES([XML], [libxml-2.0 >= 2.9])
# Opened at run time by the name that a program linked with it would ask for (xml.h says why).
AC_CHECK_TOOL([OBJDUMP], [objdump], [false])
AC_CACHE_CHECK([how libxml2 is called], [chela_cv_libxml2], [
chela_saved_libs=$LIBS
chela_saved_cflags=$CFLAGS
LIBS="$XML_LIBS"
CFLAGS="$CFLAGS $XML_CFLAGS"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <libxml/HTMLparser.h>]], [[xmlInitParser();]])],
    [chela_cv_libxml2=`$OBJDUMP -p conftest$ac_exeext | sed -n 's/^ *NEEDED *\(libxml2.*\)/\1/p'`])
LIBS=$chela_saved_libs
CFLAGS=$chela_saved_cflags])
AS_IF([test "x$chela_cv_libxml2" = x], [AC_MSG_ERROR([libxml2 can not be linked, or objdump is missing])])
AC_SUBST([XML_NAME], ["-DCHELA_LIBXML2='\"$chela_cv_libxml2\"'"])
