/* Reads a key range page by page, all at one revision, for the mirror. Main loop.
 *
 * For each page etcd 3.4 scans the index of all keys from the page's start to its end, whatever the
 * limit. With pages of equal size the time would grow with the square of the key count. So the
 * first page tells the number of keys and their length; each further page requests half of the
 * rest, or as much as fits a message.
 *
 * If more than a few pages remain, a page also has an end of its own: where about twice its limit
 * is reached if keys stay as dense as on the page before. A page that ended in a gap is no measure.
 * Behind it, the next end is four times as far, and so on until keys come: a few empty pages cost
 * etcd less than one scan of the rest.
 *
 * The next request is sent before the current page is delivered, so etcd and the owner work in
 * parallel. The last page, which has nothing to overlap with, is small. A page too large for a
 * message is halved; the page size then stays fixed until etcd_pages_reset.
 *
 * A page has the timeout of any call. After one that took longer, the pages of the next read have
 * twice as long. So a busy etcd with millions of keys is read in the end, and one that hangs is
 * left soon. */
#ifndef COMMON_ETCD_ETCD_PAGES_INTERNAL_H
#define COMMON_ETCD_ETCD_PAGES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/etcd/etcd_messages.h"

struct buf;
struct err;
struct etcd;
struct etcd_pages;

struct etcd_pages_config {
    struct etcd *etcd;
    struct slice first_key; /* borrowed until etcd_pages_free, like the end */
    struct slice range_end;
    int64_t page_size; /* of every page; 0: adaptive */

    /* Delivers a page, borrowed during the call. The last one has `more` unset; the read has ended
     * when it is delivered. May call everything here, etcd_pages_free only as the last act. */
    void (*page)(void *data, const struct etcd_range_reply *reply);
    /* Reports that the read failed. ERR_TOO_LARGE: etcd_pages_shrink tells whether to start
     * over. */
    void (*failed)(void *data, const struct err *err);
    void *data;
};

struct etcd_pages *etcd_pages_new(const struct etcd_pages_config *config);
void etcd_pages_free(struct etcd_pages *pages); /* NULL is fine */

/* Starts at the first key. Reads at this revision; 0: at the first page's. */
void etcd_pages_read(struct etcd_pages *pages, int64_t revision);

/* Ends the read in flight, if any; no callback runs afterwards. */
void etcd_pages_cancel(struct etcd_pages *pages);

/* Returns the number of keys to request after this page (of at least one key): `least` or more if
 * they fit a message. Pure. */
int64_t etcd_pages_next_size(int64_t least, const struct etcd_range_reply *page);

/* Says how densely keys lie: from one to the next, the number in their eight bytes at `at` rises by
 * `step` on average. Without a page to measure: step 0. */
struct etcd_density {
    size_t at;
    double step;
};

/* Returns the density of a page's keys, of which there are two at least. Pure. */
struct etcd_density etcd_pages_density(const struct etcd_range_reply *page);

/* Writes a key behind `start` with about `want` keys between them, if those are that dense. Returns
 * false, with an empty buffer, if there is none. Pure. */
bool etcd_pages_bound(const struct etcd_density *density, struct slice start, double want,
                      struct buf *bound);

/* Halves the page size from now on. Returns false at the minimum. */
bool etcd_pages_shrink(struct etcd_pages *pages);

/* Restores the initial page size: another member may send larger pages. */
void etcd_pages_reset(struct etcd_pages *pages);

#endif
