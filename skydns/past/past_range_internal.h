/* Reads one range of keys out of etcd's history, page by page, all at one revision.
 *
 * A page has as many keys as fill about PAST_PAGE_BYTES, by the size of those before, so that the
 * main loop handles it within a few milliseconds; other threads answer queries meanwhile. A page
 * too large for a message is asked for again in smaller ones. All ranges of one question share a
 * budget. Main loop. */
#ifndef SKYDNS_PAST_PAST_RANGE_INTERNAL_H
#define SKYDNS_PAST_PAST_RANGE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"

struct err;
struct etcd;
struct etcd_call;

enum { PAST_KEY_MAX = 4096 }; /* bytes, far more than of a name's key */

/* Keys of the first page, and of any. */
enum { PAST_FIRST_KEYS = 100, PAST_PAGE_KEYS = 1000, PAST_PAGE_BYTES = 256 * 1024 };

/* Bounds what one question may still read: as much as an explanation looks at (50,000 records), in
 * 32 MiB of keys and values, which take at most about twice that in a record store. */
enum { PAST_KEYS_MAX = 50000, PAST_BYTES_MAX = 32 << 20 };
struct past_budget {
    size_t keys, bytes;
};

struct past_range_config {
    struct etcd *etcd;
    struct past_budget *budget;
    int64_t revision;
    bool is_keys_only;
    /* Delivers a page, borrowed during the call, and etcd's revision when it was read. Returns
     * false if no further page is wanted. */
    bool (*page)(void *data, const struct etcd_kv *kvs, size_t count, int64_t newest);
    /* Ends the reading, once; err NULL: all pages came, or no more were wanted. ERR_COMPACTED and
     * ERR_FUTURE as of etcd_range; ERR_TOO_LARGE: the budget is used up. May start the next range,
     * and call past_range_fini. */
    void (*done)(void *data, const struct err *err);
    void *data;
};

struct past_range {
    struct past_range_config config;
    struct etcd_call *call;     /* NULL: none in flight */
    struct buf from, end;       /* the rest of the range */
    int64_t limit, fixed_limit; /* of the page; of each, 0: none */
};

void past_range_init(struct past_range *range, const struct past_range_config *config);
void past_range_fini(struct past_range *range); /* no callback runs afterwards */

/* Starts to read the key alone, or all keys below it ("<key>/..."); at most page_keys at once, 0:
 * as the pages above. The callbacks run from the loop. */
void past_range_read(struct past_range *range, struct slice key, bool is_below, int64_t page_keys);

#endif
