/* Packs resource records outside a message, as transfers compare and keep them, one behind the
 * other. Records are equal exactly when their bytes are.
 *
 * Each is the owner's wire form in lower case behind its length (u8), type (u16), TTL (u32), and
 * the rdata behind its length (u16), with whole names. Big-endian. Any thread. */
#ifndef SKYDNS_ANSWER_ZONE_RR_H
#define SKYDNS_ANSWER_ZONE_RR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/slice.h"

struct zone_rr {
    struct slice owner;
    uint16_t type;
    uint32_t ttl_s;
    struct slice data; /* empty with type A: the address that the request came to */
};

/* Records without duplicates, in the order of their bytes. */
struct zone_rrs {
    struct buf bytes;
    size_t *starts; /* in `bytes` */
    size_t count, cap;
};

void zone_rrs_init(struct zone_rrs *rrs);
void zone_rrs_fini(struct zone_rrs *rrs);
void zone_rrs_clear(struct zone_rrs *rrs);

/* Add records and sort them. Sort before reading. */
void zone_rrs_add(struct zone_rrs *rrs, const struct zone_rr *rr);
void zone_rrs_sort(struct zone_rrs *rrs);

/* Returns the bytes of the i-th record. */
struct slice zone_rrs_get(const struct zone_rrs *rrs, size_t i);

/* Reads the next of packed records, which it borrows. Returns false at the end. */
bool zone_rr_read(struct reader *r, struct zone_rr *ret_rr) MUST_CHECK;

/* Calls fn with the bytes of each record that only one of the two has, in the order of bytes. */
typedef void (*zone_rrs_diff_fn)(void *data, bool is_added, struct slice bytes);
void zone_rrs_diff(const struct zone_rrs *before, const struct zone_rrs *after, zone_rrs_diff_fn fn,
                   void *data);

#endif
