#include "common/term/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/xalloc.h"

/* Has room for every cell with its own position and style, some 30 bytes. */
enum { OUTPUT_MAX = SCREEN_WIDTH_MAX * SCREEN_HEIGHT_MAX * 32 };

/* Stand for the size of a terminal that tells none. */
enum { WIDTH_DEFAULT = 80, HEIGHT_DEFAULT = 24 };

/* Switch to the alternate screen, without cursor and without wrap at the right edge; and back. */
static const char enter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l";
static const char leave[] = "\x1b[0m\x1b[2J\x1b[H\x1b[?7h\x1b[?25h\x1b[?1049l";

struct terminal {
    struct termios before;
    sigset_t signals_before;
    int signal_fd;
    bool is_utf8, has_colours;
    bool is_shown; /* `shown` is what the terminal shows */
    struct screen shown;
};

static bool write_all(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, len);
        if (n >= 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) { /* another process made it non-blocking */
            struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
            (void)poll(&out, 1, -1); /* a failure comes again from write */
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* ---- Opening and closing ---- */

static int terminal_check(struct err *err)
{
    const char *name = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        return err_set(err, -ENOTTY,
                       "%s is no terminal: expected one, to draw on and read keys from",
                       isatty(STDIN_FILENO) ? "stdout" : "stdin");
    }
    if (!name || !*name || strcmp(name, "dumb") == 0) {
        return err_set(err, -ENOTTY,
                       "TERM=%s: expected a terminal with a cursor, like xterm, screen or linux",
                       name ? name : "");
    }
    return 0;
}

/* Takes keys at once and without echo; Ctrl-C and Ctrl-Z stay signals. */
static void terminal_take_over(struct terminal *terminal)
{
    struct termios raw = terminal->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw); /* else keys need Return */
    (void)write_all(enter, sizeof(enter) - 1);      /* terminal_show notices */
    if (terminal->is_shown) {
        screen_fini(&terminal->shown);
    }
    terminal->is_shown = false;
}

static void terminal_give_back(const struct terminal *terminal)
{
    (void)write_all(leave, sizeof(leave) - 1); /* the terminal may be gone */
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
}

static void view_signals(sigset_t *ret_signals)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    sigemptyset(ret_signals);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        sigaddset(ret_signals, numbers[i]);
    }
}

int terminal_open(struct terminal **ret_terminal, struct err *err)
{
    struct terminal *terminal = xcalloc(1, sizeof(*terminal));
    sigset_t signals;
    int r = terminal_check(err);
    view_signals(&signals);
    terminal->signal_fd = r == 0 ? signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
    if (r == 0 && (terminal->signal_fd < 0 || tcgetattr(STDIN_FILENO, &terminal->before) != 0 ||
                   sigprocmask(SIG_BLOCK, &signals, &terminal->signals_before) != 0)) {
        r = err_set(err, -errno, "use the terminal: %s", err_code_text(-errno));
    }
    if (r < 0) {
        if (terminal->signal_fd >= 0) {
            (void)close(terminal->signal_fd);
        }
        free(terminal);
        return r;
    }
    const char *no_color = getenv("NO_COLOR");
    terminal->has_colours = !no_color || !*no_color; /* https://no-color.org */
    terminal->is_utf8 = setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    terminal_take_over(terminal);
    *ret_terminal = terminal;
    return 0;
}

void terminal_close(struct terminal *terminal)
{
    if (terminal) {
        terminal_give_back(terminal);
        (void)close(terminal->signal_fd);
        if (terminal->is_shown) {
            screen_fini(&terminal->shown);
        }
        (void)sigprocmask(SIG_SETMASK, &terminal->signals_before, NULL); /* cannot fail */
        free(terminal);
    }
}

/* ---- Signals and keys ---- */

int terminal_signal_fd(const struct terminal *terminal)
{
    return terminal->signal_fd;
}

bool terminal_take_signal(struct terminal *terminal)
{
    struct signalfd_siginfo info;
    if (read(terminal->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return false;
    }
    if (info.ssi_signo == SIGTSTP) {
        terminal_give_back(terminal);
        (void)raise(SIGSTOP); /* returns when the shell continues it, with SIGCONT */
    } else if (info.ssi_signo == SIGCONT) {
        terminal_take_over(terminal);
    }
    return info.ssi_signo != SIGTSTP && info.ssi_signo != SIGCONT && info.ssi_signo != SIGWINCH;
}

bool terminal_take_keys(struct terminal *terminal UNUSED)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
    if (n < 0) {
        return errno != EINTR && errno != EAGAIN;
    }
    return n == 0 || memchr(keys, 'q', (size_t)n) || memchr(keys, 'Q', (size_t)n);
}

/* ---- Drawing ---- */

void terminal_screen(const struct terminal *terminal, struct screen *ret_screen)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
        size = (struct winsize){.ws_col = WIDTH_DEFAULT, .ws_row = HEIGHT_DEFAULT};
    }
    screen_init(ret_screen, size.ws_col, size.ws_row, terminal->is_utf8);
}

bool terminal_show(struct terminal *terminal, struct screen *screen)
{
    CLEANUP_BUF struct buf out = buf_of(OUTPUT_MAX);
    screen_changes(terminal->is_shown ? &terminal->shown : NULL, screen, terminal->has_colours,
                   &out);
    bool is_written = write_all((const char *)out.data, out.len);
    if (terminal->is_shown) {
        screen_fini(&terminal->shown);
    }
    terminal->shown = *screen;
    terminal->is_shown = true;
    *screen = (struct screen){0};
    return is_written;
}
