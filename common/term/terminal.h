/* The terminal that a program runs in, taken over for a whole-screen view and given back as it was.
 *
 * It uses the escape sequences that xterm, screen, tmux and the Linux console share, without a
 * terminal database, which images do not have. One thread; one at a time. */
#ifndef COMMON_TERM_TERMINAL_H
#define COMMON_TERM_TERMINAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/term/screen.h"

struct terminal;

/* Takes the terminal over. Fails if stdin or stdout is no terminal, or one without a cursor
 * (TERM=dumb), before anything was changed. From here on the signals that end or stop a program are
 * read with terminal_take_signal. */
int terminal_open(struct terminal **ret_terminal, struct err *err) MUST_CHECK;

/* Gives the terminal back. NULL is fine. */
void terminal_close(struct terminal *terminal);

/* Returns the descriptor to poll for a signal; keys are on stdin. */
int terminal_signal_fd(const struct terminal *terminal);

/* Handles a signal: stops like any program on Ctrl-Z, and redraws when it goes on. Returns true
 * if the program should end. */
bool terminal_take_signal(struct terminal *terminal);

/* Reads the keys pressed. Returns true if one of them was q, or there is no terminal any more. */
bool terminal_take_keys(struct terminal *terminal);

/* Returns a blank screen as large as the terminal. */
void terminal_screen(const struct terminal *terminal, struct screen *ret_screen);

/* Takes ownership of the screen and shows it. Returns false if the terminal is gone. */
bool terminal_show(struct terminal *terminal, struct screen *screen) MUST_CHECK;

#endif
