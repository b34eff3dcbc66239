/* -top: shows a running program's figures in this terminal until somebody presses q or Ctrl-C.
 * main() calls it instead of everything else; blocks. */
#ifndef COMMON_LIVE_LIVE_VIEW_H
#define COMMON_LIVE_LIVE_VIEW_H

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/live/live_model.h"
#include "common/term/screen.h"

struct live_view {
    const char *flag;                               /* whose, for errors: "-top" */
    struct addr server;                             /* a wildcard: this machine */
    double (*total)(const struct live_node *event); /* live_model.h */
    void (*draw)(const struct live_model *model, struct screen *screen); /* on a blank one; pure */
};

/* Fails if there is no terminal to draw on. */
int live_view_run(const struct live_view *view, struct err *err) MUST_CHECK;

/* What both programs' views begin with: the program and its time, and on the second row whether
 * it is ready, or that it is gone, with the reason on the fourth. */
void live_view_frame(const struct live_model *model, const char *program, const char *domain,
                     struct screen *screen);

/* "3d 4h", "12s"; Returns out. */
enum { LIVE_TIME_MAX = 32 };
const char *live_view_age(double seconds, char out[LIVE_TIME_MAX]);

/* "12:34:56" in UTC. Returns out. */
const char *live_view_clock(double time_ms, char out[LIVE_TIME_MAX]);

/* "1234.5", or "-" for a negative one: not known. Returns out. */
const char *live_view_rate(double rate, char out[LIVE_TIME_MAX]);

/* "850us", "1.6ms", "2.0s", "-" for a negative one. Returns out. */
const char *live_view_micros(double us, char out[LIVE_TIME_MAX]);

#endif
