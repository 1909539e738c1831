/*
 * The log: one line per event on standard error, redacted; plain, with journald's "<n>" prefix, or
 * JSON. [any thread]
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

enum log_level { LOG_ERROR = 3, LOG_WARNING = 4, LOG_INFO = 6, LOG_DEBUG = 7 };
enum log_format { LOG_PLAIN, LOG_JOURNAL, LOG_JSON };

/* `tail`: also given each finished line (without its newline), e.g. for logs.tail; may be NULL. */
void log_setup(enum log_level level, enum log_format format,
               void (*tail)(enum log_level, const char *line));
/* From now on lines go, redacted but not yet formatted, to `to` instead of standard error (a
 * plugin's process hands them to the daemon); NULL: no longer. */
void log_divert(void (*to)(enum log_level, const char *who, const char *text));
bool log_enabled(enum log_level level);
/* `who`: the component ("gateway", "provider/groq"), never NULL. */
void log_line(enum log_level level, const char *who, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void log_vline(enum log_level level, const char *who, const char *format, va_list ap)
    __attribute__((format(printf, 3, 0)));

#define log_error(who, ...)   log_line(LOG_ERROR, who, __VA_ARGS__)
#define log_warning(who, ...) log_line(LOG_WARNING, who, __VA_ARGS__)
#define log_info(who, ...)    log_line(LOG_INFO, who, __VA_ARGS__)
#define log_debug(who, ...)                                                                        \
    do {                                                                                           \
        if (log_enabled(LOG_DEBUG))                                                                \
            log_line(LOG_DEBUG, who, __VA_ARGS__);                                                 \
    } while (0)

#endif
