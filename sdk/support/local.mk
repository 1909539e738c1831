# Sources of sdk/support, headers included, one a line.
sdk_support_libsupport_la_SOURCES += \
	sdk/support/json.c \
	sdk/support/json.h \
	sdk/support/json_carry.c \
	sdk/support/json_parse.c \
	sdk/support/json_scan.c \
	sdk/support/json_scan.h \
	sdk/support/json_utf8.h
