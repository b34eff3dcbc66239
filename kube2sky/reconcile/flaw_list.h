/* Holds the latest objects, and parts of objects, that cannot be understood or be part of a key.
 * They have no keys; pages list them. The reflectors and the planner add to it. Plain data, zeroed
 * at first; on the main loop. */
#ifndef KUBE2SKY_RECONCILE_FLAW_LIST_H
#define KUBE2SKY_RECONCILE_FLAW_LIST_H

#include <stddef.h>
#include <stdint.h>

/* Limits for one page, 10 KB in all: the number of flaws, and the bytes of a text, which is cut. */
enum { FLAWS_KEPT = 20, FLAW_TEXT_MAX = 255 };

struct flaw {
    int64_t time_ms;              /* Unix time */
    char what[FLAW_TEXT_MAX + 1]; /* "services default/web" */
    char reason[FLAW_TEXT_MAX + 1];
};

struct flaw_list {
    struct flaw items[FLAWS_KEPT]; /* the latest first, no two alike */
    size_t count;
};

/* Puts the flaw first, also if it is listed already: a Service is named again with each change of
 * its endpoints. The oldest is dropped when the list is full. */
void flaw_list_add(struct flaw_list *list, const char *what, const char *reason);

#endif
