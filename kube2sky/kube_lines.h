/* Cuts the body of a watch into lines, however the network cut it. A line that came whole is handed
 * out where it lies; only what is cut is copied. Pure; owned by one request of kube_client.c.
 *
 *     kube_lines_push(&lines, bytes);
 *     while (kube_lines_next(&lines, &line)) { ... }
 *     if (lines.failed) { ... }
 */
#ifndef KUBE2SKY_KUBE_LINES_H
#define KUBE2SKY_KUBE_LINES_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/slice.h"

/* etcd takes 1.5 MiB a request, so no object is longer there. As JSON it can be: HTML-safe escapes
 * make 6 bytes of one, but only of <, > and &. Five times the object is beyond what real ones do.
 */
enum { KUBE_LINE_MAX = 8 * 1024 * 1024 };

struct kube_lines {
    struct buf partial;  /* the beginning of a line whose end has not come */
    struct slice input;  /* pushed and not yet looked at */
    bool is_partial_out; /* the line last handed out was put together in partial */
    bool failed;         /* a line over KUBE_LINE_MAX; sticky */
};

void kube_lines_init(struct kube_lines *lines);
void kube_lines_fini(struct kube_lines *lines);

/* bytes stay the caller's, and must stay until kube_lines_next has returned false. */
void kube_lines_push(struct kube_lines *lines, struct slice bytes);

/* The next line, without its newline; empty ones are left out. Borrowed until the next call. False:
 * the input is used up, or failed. */
bool kube_lines_next(struct kube_lines *lines, struct slice *ret_line);

#endif
