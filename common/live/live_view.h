/* -top: shows a running program's figures in this terminal until q or Ctrl-C is pressed.
 *
 * main() calls it instead of everything else; blocks. */
#ifndef COMMON_LIVE_LIVE_VIEW_H
#define COMMON_LIVE_LIVE_VIEW_H

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/live/live_screen.h"

struct live_view {
    const char *flag;   /* the flag, for errors: "-top" */
    struct addr server; /* a wildcard: this machine */
    const struct live_screen *screen;
};

/* Returns an error if there is no terminal to draw on. */
int live_view_run(const struct live_view *view, struct err *err) MUST_CHECK;

#endif
