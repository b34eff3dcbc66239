/* Counts which names that do not exist are asked for most within an hour, from samples.
 *
 * By the namespace of the client, in a fixed 1.0 MiB. Names that are asked once each, however many,
 * push out none that is asked for again and again.
 *
 *     sample --> entry with the name: MISSING_ENTRIES_MAX of them, exact counts for each 5 minutes
 *           `--> else trace: 8 bytes of hash, no name; MISSING_TRACES_MAX counts in sets of 8 ways
 *                  `--> has a place among the entries once it counts more than the least one
 *
 * Error, in samples (query_tap.h says how many queries one stands for):
 *
 *   - An entry never counts more than there were, but for equal hashes: one new name in 2^29 takes
 *     another one's trace.
 *   - It counts less by what its trace had counted each time that it was lost before the name
 *     became an entry. While an hour's other names fill a quarter of the traces, none is lost, but
 *     with a chance below 0.1 % (of more than 8 in a set that has 2 on average). When more come,
 *     a set loses its least counted trace, of several the oldest. So a name that is sampled again
 *     before half of MISSING_TRACES_MAX others were becomes an entry.
 *   - Samples of a trace are spread evenly over the time since its first: within 5 minutes of an
 *     hour, as are entries.
 *
 * Shares: of the ways of a set, a namespace takes half from others; of the entries, an equal part
 * of them all. Beyond its share it replaces its own least counted ones. So a flood of one
 * namespace, of one client or of many, costs the others nothing. Main thread. */
#ifndef SKYDNS_PAGES_MISSING_SKETCH_H
#define SKYDNS_PAGES_MISSING_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"

enum {
    MISSING_ENTRIES_MAX = 512, /* five times what is shown: other candidates of a search list */
    MISSING_PERIODS = 12,      /* of an hour, */
    MISSING_PERIOD_S = 300,
    MISSING_WAYS = 8,
    MISSING_SETS = 8192,
    MISSING_TRACES_MAX = MISSING_WAYS * MISSING_SETS,
    MISSING_SPACE_MAX = 63, /* a label */
};

/* Name and the namespace that asks for it; empty: the client's is not known. Both in lower case. */
struct missing_key {
    const struct dname *name;
    struct slice space;
};

struct missing_entry {
    struct dname name;
    uint8_t space_len;
    char space[MISSING_SPACE_MAX];
    uint16_t type; /* of the latest sample */
    uint32_t count;
    uint32_t periods[MISSING_PERIODS]; /* by period number modulo; their sum is `count` */
};

struct missing_sketch;

struct missing_sketch *missing_sketch_new(void);
void missing_sketch_free(struct missing_sketch *sketch); /* NULL is fine */

/* Moves on to this time (any clock in seconds that does not go back): forgets what is older than an
 * hour. The functions below count at the time set last. */
void missing_sketch_set_time(struct missing_sketch *sketch, int64_t now_s);

/* Adds a sample. Returns true if the name is no entry and may become one: the caller looks whether
 * it is worth a place, and says so with missing_sketch_admit or missing_sketch_decline. */
bool missing_sketch_add(struct missing_sketch *sketch, struct missing_key key, uint16_t type);

/* Makes the name an entry, with what its trace has counted. */
void missing_sketch_admit(struct missing_sketch *sketch, struct missing_key key, uint16_t type);

/* Leaves the name out until it has been counted twice as often. */
void missing_sketch_decline(struct missing_sketch *sketch, struct missing_key key);

/* Returns how many samples of the name there are, of an entry or a trace; 0: neither. */
uint32_t missing_sketch_count(const struct missing_sketch *sketch, struct missing_key key);

/* Fills in the entries, the most asked for first; returns how many. Borrowed until the sketch
 * changes. */
size_t missing_sketch_entries(const struct missing_sketch *sketch,
                              const struct missing_entry *ret_entries[MISSING_ENTRIES_MAX]);

static inline struct slice missing_entry_space(const struct missing_entry *entry)
{
    return slice_of(entry->space, entry->space_len);
}

#endif
