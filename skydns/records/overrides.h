/* Overrides in a version, as skydns/sync/override_index_internal.h puts them there: which owner
 * answers a name. RFC 4592: the name itself if it is an owner, or above one; else the owner `*`
 * right below the closest name that is. Pure; any thread with the version. */
#ifndef SKYDNS_RECORDS_OVERRIDES_H
#define SKYDNS_RECORDS_OVERRIDES_H

#include <stdbool.h>

#include "common/dns/dname.h"
#include "skydns/records/store.h"

/* The label above which an owner's records are; none of a key read by people. And what stands for
 * an initial `_` of a stripped label, which a listing would hide. */
#define OVERRIDE_MARK "\1"
enum { OVERRIDE_SHOWN = 2 };

/* The largest `targetstrip`: external-dns writes 1. */
enum { OVERRIDE_STRIP_MAX = 10 };

struct override_found {
    const struct store_node *node; /* what the owner has: at and below it */
    struct dname place;            /* the node's name in the version's overrides */
    bool is_wildcard;
    unsigned labels; /* of the owner */
};

/* Finds the override of a lower-cased external name. False: there is none. A name above owners that
 * is none is no override, though no wildcard answers for it. */
bool overrides_find(const struct store *overrides, const struct dname *name,
                    struct override_found *ret_found) MUST_CHECK;

#endif
