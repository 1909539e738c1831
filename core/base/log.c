/*
 * The log (see log.h). A line is built whole and written with one write(2), so lines of threads and
 * processes never mix.
 */
#include "base/log.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/redact.h"
#include "base/utf8.h"

static struct {
    enum log_level level;
    enum log_format format;
    void (*tail)(enum log_level, const char *);
} setup = {LOG_INFO, LOG_PLAIN, NULL};

static void (*divert)(enum log_level, const char *who, const char *text);

void log_divert(void (*to)(enum log_level, const char *who, const char *text))
{
    divert = to;
}

void log_setup(enum log_level level, enum log_format format,
               void (*tail)(enum log_level, const char *))
{
    setup.level = level;
    setup.format = format;
    setup.tail = tail;
}

bool log_enabled(enum log_level level)
{
    return level <= setup.level;
}

static const char *level_name(enum log_level level)
{
    switch (level) {
    case LOG_ERROR: return "error";
    case LOG_WARNING: return "warn";
    case LOG_INFO: return "info";
    case LOG_DEBUG: return "debug";
    }
    return "info";
}

/* Control characters become spaces or escapes, so that no text can forge a line or steer a
 * terminal. */
static void add_clean(struct buf *out, const struct buf *text, bool json)
{
    for (size_t i = 0; i < text->n; i++) {
        unsigned char c = (unsigned char)text->p[i];
        if (json && (c == '"' || c == '\\'))
            buf_printf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_puts(out, json ? (c == '\n' ? "\\n" : " ") : (c == '\n' ? " | " : " "));
        else
            buf_char(out, (char)c);
    }
}

static void format_line(struct buf *out, enum log_level level, const char *who,
                        const struct buf *text)
{
    char at[32];
    clock_format(clock_now_ms(), at, sizeof at);
    if (setup.format == LOG_JSON) {
        buf_printf(out, "{\"time\":\"%s\",\"level\":\"%s\",\"who\":\"%s\",\"text\":\"", at,
                   level_name(level), who);
        add_clean(out, text, true);
        buf_puts(out, "\"}");
        return;
    }
    if (setup.format == LOG_JOURNAL)
        buf_printf(out, "<%d>%s: ", (int)level, who);
    else
        buf_printf(out, "%s %-5s %s: ", at, level_name(level), who);
    add_clean(out, text, false);
}

static void write_line(enum log_level level, const char *who, const struct buf *text,
                       struct buf *line)
{
    format_line(line, level, who, text);
    if (setup.tail)
        setup.tail(level, buf_text(line));
    buf_char(line, '\n');
    ssize_t ignored = write(STDERR_FILENO, line->p, line->n);
    (void)ignored; /* nobody could be told */
}

void log_vline(enum log_level level, const char *who, const char *format, va_list ap)
{
    if (!log_enabled(level))
        return;
    struct buf raw = {0}, whole = {0}, clean = {0}, line = {0};
    buf_vprintf(&raw, format, ap);
    utf8_repair(&whole, raw.p ? raw.p : "", raw.n);
    redact(&clean, buf_text(&whole), whole.n);
    if (divert)
        divert(level, who, buf_text(&clean));
    else
        write_line(level, who, &clean, &line);
    buf_free(&raw);
    buf_free(&whole);
    buf_free(&clean);
    buf_free(&line);
}

void log_line(enum log_level level, const char *who, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    log_vline(level, who, format, ap);
    va_end(ap);
}
