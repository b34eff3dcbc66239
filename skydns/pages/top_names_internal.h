/* Counts the most asked names, from samples, in a fixed table. The algorithm is space-saving
 * (Metwally, Agrawal and El Abbadi, 2005). A name that is new to a full table takes the slot, and
 * the count, of the least asked one. So every name with more than one part in TOP_NAMES_MAX of all
 * samples is in it. Main thread. (live.c) */
#ifndef SKYDNS_PAGES_TOP_NAMES_INTERNAL_H
#define SKYDNS_PAGES_TOP_NAMES_INTERNAL_H

#include "common/base/buf.h"
#include "common/dns/dname.h"

enum {
    TOP_NAMES_MAX = 128,  /* 35 KB; each sample looks at all of them, 256 times a second */
    TOP_NAMES_SHOWN = 20, /* a screen of them */
};

struct top_names {
    size_t count;
    struct top_name {
        struct dname name; /* lower case */
        uint16_t type;
        uint64_t count;
    } items[TOP_NAMES_MAX];
};

/* Adds a sample; a zero-initialized table is empty. */
void top_names_add(struct top_names *top, const struct dname *name, uint16_t type);

/* Appends the JSON field "top": the most asked first. */
void top_names_write(const struct top_names *top, struct buf *out);

#endif
