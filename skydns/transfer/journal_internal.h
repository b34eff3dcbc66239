/* Keeps what changed in zones, step by step, for IXFR. Each zone has a chain of steps, the newest
 * of which leads to its current serial. All chains together stay within a number of bytes, by
 * dropping the oldest steps of all zones first. A reader holds a step and all that follow it, even
 * if they are dropped meanwhile. Such bytes are counted, so that their owner can end the readers.
 *
 * Knows only serials at which a step begins. Another replica may have had serials in between, but
 * what it had then is not known here.
 *
 * One thread: that of the transfers. */
#ifndef SKYDNS_TRANSFER_JOURNAL_INTERNAL_H
#define SKYDNS_TRANSFER_JOURNAL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

/* Limits the steps of one zone. Finding one among them takes 50 us. */
enum { JOURNAL_STEPS_MAX = 10000 };

struct journal_step {
    unsigned references;       /* of the journal or the step before, and of readers */
    uint32_t from, to;         /* serials */
    struct journal_step *next; /* NULL: the newest */
    struct journal_bytes *account;
    uint64_t number;             /* over all zones: the older, the smaller */
    struct slice removed, added; /* packed (zone_rr.h); in the same block */
};

/* Bytes of all journals. */
struct journal_bytes {
    size_t limit;
    size_t kept; /* steps in journals */
    size_t all;  /* and those that only readers have */
    uint64_t newest_number;
    struct journal *journals;
};

struct journal {
    struct journal_bytes *account;
    struct journal *next_journal;
    struct journal_step *oldest, *newest;
    size_t count;
    uint32_t serial; /* the current one */
};

/* Makes the empty journal of a zone at this serial. The account outlives it. */
void journal_init(struct journal *journal, struct journal_bytes *account, uint32_t serial);
void journal_fini(struct journal *journal);

/* Appends the changes from the current serial to this later one; there may be none. Acts as
 * journal_reset if they exceed the limit. */
void journal_append(struct journal *journal, uint32_t serial, struct slice removed,
                    struct slice added);

/* Moves the zone to this serial without a step: nobody knows how it got there. */
void journal_reset(struct journal *journal, uint32_t serial);

enum journal_result {
    JOURNAL_FOUND,
    JOURNAL_UP_TO_DATE, /* the client has it, or claims to be ahead */
    JOURNAL_UNKNOWN,    /* too old, or of another replica: the whole zone */
};

/* Finds the steps from a client's serial. FOUND: *ret_step is the first step, held for the
 * caller. */
enum journal_result journal_find(const struct journal *journal, uint32_t serial,
                                 struct journal_step **ret_step);

/* Returns the following step, held instead of this one; NULL after the newest. */
struct journal_step *journal_next(struct journal_step *step);

/* Releases a step and those that only it holds. NULL is fine. */
void journal_release(struct journal_step *step);

#endif
