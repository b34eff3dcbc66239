/* Remembers which objects caused the latest changes of each owner's keys, for people: the object of
 * the last event before a transaction, and what the transaction then did.
 *
 *     event of an object --note--> pending --board--> in a transaction --confirm--> a change
 *
 * Events of the first list are left out: what a list shows is no news. There are places for
 * CAUSES_MAX owners, with CAUSES_KEPT changes each, about 1.5 MB in all. If none is free, the owner
 * that was not noted for longest goes, of the namespace that has most: one with many changes pushes
 * out its own. Plain data; on the main loop. */
#ifndef KUBE2SKY_NAMING_CAUSES_H
#define KUBE2SKY_NAMING_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct causes;

enum { CAUSES_MAX = 1024, CAUSES_KEPT = 4, CAUSE_TEXT_MAX = 320 };

/* An object as an event shows it. */
struct cause_object {
    const char *kind; /* "endpointslices"; constant */
    const char *ns, *name;
    const char *version; /* resourceVersion; "": not known */
    bool is_deleted;
};

/* A change of an owner's keys. */
struct cause {
    const char *kind;
    char object[CAUSE_TEXT_MAX]; /* "default/web-x7k2p"; a longer one is cut */
    char version[64];
    bool is_deleted;
    uint32_t objects; /* events that it answers, this one being the last */
    int64_t time_ms;  /* Unix time of etcd's confirmation */
    int64_t revision; /* in etcd */
    size_t puts, deletes;
};

struct causes *causes_new(void);
void causes_free(struct causes *causes); /* NULL is fine */

/* Notes that the object's event changed what the owner, "svc/default/web", wants. */
void causes_note(struct causes *causes, struct slice owner, const struct cause_object *object);

/* Notes that a transaction has taken the owner's plan: later events belong to the next one. */
void causes_board(struct causes *causes, struct slice owner);

/* Notes that etcd confirmed it. Returns the change, borrowed; NULL: no event caused it. */
const struct cause *causes_confirm(struct causes *causes, struct slice owner, int64_t revision,
                                   size_t puts, size_t deletes);

/* Returns the owner's changes, the latest first; NULL past the oldest. Borrowed. */
const struct cause *causes_get(const struct causes *causes, struct slice owner, size_t back);

#endif
