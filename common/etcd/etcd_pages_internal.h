/* Reads a key range page by page, all at one revision, for the mirror. On the main loop.
 *
 * For each page etcd 3.4 walks the index of all that is left, so that with pages of one size the
 * time would grow with the square of what there is. The first page says how much there is and how
 * long the keys are; each further one takes half of what is left, as far as a message holds it.
 * Each is asked for, and the asking sent, before the one that came is given, so that etcd is at
 * work meanwhile; the last, which nothing is at work beside, is a small one. A page too large for a
 * message is halved, and stays so until etcd_pages_reset. */
#ifndef COMMON_ETCD_ETCD_PAGES_INTERNAL_H
#define COMMON_ETCD_ETCD_PAGES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/etcd/etcd_messages.h"

struct err;
struct etcd;
struct etcd_pages;

struct etcd_pages_config {
    struct etcd *etcd;
    struct slice first_key; /* borrowed for good, like the end */
    struct slice range_end;
    int64_t page_size; /* of all pages; 0: as there is more or less */

    /* A page, borrowed during the call; the last one has `more` unset, and the reading is over when
     * it is given. Everything here may be called inside, and etcd_pages_free as the last act. */
    void (*page)(void *data, const struct etcd_range_reply *reply);
    /* The reading failed. ERR_TOO_LARGE: etcd_pages_shrink says whether to begin again. */
    void (*failed)(void *data, const struct err *err);
    void *data;
};

struct etcd_pages *etcd_pages_new(const struct etcd_pages_config *config);
void etcd_pages_free(struct etcd_pages *pages); /* NULL is fine */

/* From the first key on; at this revision, 0: at that of the first page. */
void etcd_pages_read(struct etcd_pages *pages, int64_t revision);

/* No more calls. Fine when nothing is being read. */
void etcd_pages_cancel(struct etcd_pages *pages);

/* How many keys to ask for behind this page, of at least one key, where there is no reason for less
 * than `least`. Pure. */
int64_t etcd_pages_next_size(int64_t least, const struct etcd_range_reply *page);

/* Pages of half the size from now on. False: they are as small as it makes sense. */
bool etcd_pages_shrink(struct etcd_pages *pages);

/* Somebody else may send larger ones. */
void etcd_pages_reset(struct etcd_pages *pages);

#endif
