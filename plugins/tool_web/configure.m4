PKG_CHECK_MODULES([XML], [libxml-2.0 >= 2.9])
