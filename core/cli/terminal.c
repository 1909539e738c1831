/* Terminal: see terminal.h. Output post-processing stays on, so that whatever prints a bare line
 * feed still looks right; Ctrl-C, Ctrl-Z and Ctrl-\ come as bytes. The signal handlers use only
 * what may be used in one (write, tcsetattr, sigaction, raise). */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"

#define PASTE_ON  "\x1b[?2004h"
#define PASTE_OFF "\x1b[?2004l\x1b[?25h\x1b[0m"

static struct termios cooked;
static volatile sig_atomic_t is_raw;
static volatile sig_atomic_t interrupted;
static int wake[2] = {-1, -1};

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV,
                             SIGBUS, SIGFPE,  SIGILL, SIGABRT};

void terminal_size(unsigned *columns, unsigned *rows)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
        size.ws_col = 0;
        size.ws_row = 0;
    }
    *columns = size.ws_col == 0 ? 80 : size.ws_col;
    *rows = size.ws_row == 0 ? 24 : size.ws_row;
}

unsigned terminal_columns(void)
{
    unsigned columns, rows;
    terminal_size(&columns, &rows);
    return columns;
}

/* May be called from a signal handler. */
static void put_back(void)
{
    if (is_raw) {
        is_raw = 0;
        ssize_t n = write(STDOUT_FILENO, PASTE_OFF, sizeof PASTE_OFF - 1);
        (void)n;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
    }
}

static void go_raw(void)
{
    struct termios raw = cooked;
    raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
    raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0) {
        is_raw = 1;
        ssize_t n = write(STDOUT_FILENO, PASTE_ON, sizeof PASTE_ON - 1);
        (void)n;
    }
}

static void on_ending(int number)
{
    int saved = errno;
    put_back();
    errno = saved;
    raise(number); /* the handler was reset: this ends the program as the signal does */
}

static void on_wake(int number)
{
    int saved = errno;
    if (number == SIGCONT && !is_raw) {
        go_raw();
    }
    ssize_t n = write(wake[1], "w", 1);
    (void)n;
    errno = saved;
}

/* The stop that others ask for (kill -TSTP). */
static void on_stop(int number)
{
    int saved = errno;
    put_back();
    struct sigaction plain = {.sa_handler = SIG_DFL}, ours;
    sigset_t mask, before;
    sigaction(number, &plain, &ours);
    sigemptyset(&mask);
    sigaddset(&mask, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &mask, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    sigaction(number, &ours, NULL);
    errno = saved;
}

static void install(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static void install_all(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(ending); i++) {
        install(ending[i], on_ending, (int)SA_RESETHAND);
    }
    install(SIGWINCH, on_wake, SA_RESTART);
    install(SIGCONT, on_wake, SA_RESTART);
    install(SIGTSTP, on_stop, SA_RESTART);
    atexit(put_back);
}

bool terminal_raw(void)
{
    if (is_raw) {
        return true;
    }
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &cooked) != 0) {
        return false;
    }
    if (wake[0] < 0) {
        if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) {
            return false;
        }
        install_all();
    }
    go_raw();
    return is_raw != 0;
}

static void on_interrupt(int number)
{
    int saved = errno;
    (void)number;
    interrupted = 1;
    ssize_t n = write(wake[1], "i", 1);
    (void)n;
    errno = saved;
}

bool terminal_catch_interrupt(void)
{
    if (wake[0] < 0 && pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    install(SIGINT, on_interrupt, (int)SA_RESETHAND);
    return true;
}

bool terminal_interrupted(void)
{
    return interrupted != 0;
}

bool terminal_is_raw(void)
{
    return is_raw != 0;
}

void terminal_restore(void)
{
    put_back();
}

int terminal_wake_fd(void)
{
    return wake[0];
}

void terminal_woken(void)
{
    char bytes[64];
    while (read(wake[0], bytes, sizeof bytes) > 0) {
    }
}

bool terminal_read_line(bool hidden, struct buf *line)
{
    struct termios before, silent;
    bool changed = hidden && tcgetattr(STDIN_FILENO, &before) == 0;
    if (changed) {
        silent = before;
        silent.c_lflag &= (tcflag_t)~ECHO;
        silent.c_lflag |= ECHONL;
        changed = tcsetattr(STDIN_FILENO, TCSADRAIN, &silent) == 0;
    }
    char c = '\0';
    ssize_t n;
    while ((n = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n')
        if (line->n < 65536)
            buf_char(line, c);
    if (changed)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    while (line->n && strchr(" \t\r", line->p[line->n - 1]))
        line->p[--line->n] = '\0';
    return n == 1 || line->n > 0;
}

void terminal_suspend(void)
{
    raise(SIGTSTP);
}

void terminal_write(struct buf *out)
{
    for (size_t at = 0; at < out->n;) {
        ssize_t n = write(STDOUT_FILENO, out->p + at, out->n - at);
        if (n >= 0) {
            at += (size_t)n;
        } else if (errno == EAGAIN) {
            struct pollfd fd = {STDOUT_FILENO, POLLOUT, 0};
            poll(&fd, 1, 1000);
        } else if (errno != EINTR) {
            break; /* nobody reads any longer */
        }
    }
    buf_clear(out);
}
