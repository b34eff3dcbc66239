/* Makes names and bitmaps of minimally covering NSEC records (RFC 4034 4, RFC 4470): the names just
 * before and just behind another one in canonical order (RFC 4034 6.1), such that nothing that
 * exists lies between. All names are lower case; all functions are pure, for any thread. */
#ifndef SKYDNS_DNSSEC_NSEC_H
#define SKYDNS_DNSSEC_NSEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"

/* Types of a bitmap; at worst, each is in a window of its own. */
enum { NSEC_TYPES_MAX = 64, NSEC_BITMAP_MAX = NSEC_TYPES_MAX * (2 + 256 / 8) };

enum nsec_before {
    NSEC_BEFORE_SIBLING, /* ret is a name with the same parent: if neither it nor anything below it
                          * exists, nothing exists between it and `name` */
    NSEC_BEFORE_BELOW,   /* the same; ret is below an earlier sibling, which may exist: the label
                          * ended in \000 */
    NSEC_BEFORE_PARENT,  /* ret is the parent, which may exist: the label was \000 */
};

/* Returns the greatest name that is less than `name`, if possible not below its earlier siblings.
 * It is the leftmost label with its last byte one less (never an upper-case letter) and then as
 * many \255 as fit. If nothing fits below the sibling that lacks a final \000, that is ret, as a
 * SIBLING. `name` is not the root. */
enum nsec_before nsec_before(const struct dname *name, struct dname *ret);

/* Returns the greatest name directly below ret of nsec_before, if that exists after all: \255... in
 * front. Returns false if there is no room for a label, so that nothing exists below it. */
bool nsec_last_below(const struct dname *name, struct dname *ret);

/* Returns the first name of the zone behind `name` and all that is below it: \000 appended to its
 * leftmost label; where that does not fit, its last byte one more; where that cannot be, likewise
 * for its parent. If nothing of the zone can follow, returns the zone's own name, as in its last
 * NSEC (RFC 4034 4.1.1). `name` is the zone's or below it. */
void nsec_after(const struct dname *name, const struct dname *zone, struct dname *ret);

/* Returns the first name of the zone behind `name` itself: \000 below it; where that does not fit,
 * nsec_after's. */
void nsec_next(const struct dname *name, const struct dname *zone, struct dname *ret);

/* Names that an NSEC covers: from nsec_before's name, perhaps with nsec_last_below, to
 * nsec_after's. */
struct nsec_gap {
    struct dname owner, next;
};

/* Joins two overlapping gaps of one proof: `gap` becomes both. Returns false if they do not
 * overlap. Left apart, the owner of one is a name that the other denies: as for a query for
 * `)\255...`, which is just before the wildcard. */
bool nsec_join(struct nsec_gap *gap, const struct nsec_gap *other, const struct dname *zone);

/* Writes a type bitmap: RFC 4034 4.1.2. Takes the types in any order, perhaps repeated,
 * NSEC_TYPES_MAX at most. Returns its length: 0 without types. */
size_t nsec_bitmap(const uint16_t *types, size_t count, uint8_t out[NSEC_BITMAP_MAX]);

/* Compares in canonical order: less than, equal to or greater than 0. */
int nsec_compare(const struct dname *a, const struct dname *b);

#endif
