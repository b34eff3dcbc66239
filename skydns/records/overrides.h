/* Finds the override of a name in a version, as skydns/sync/override_index.h puts them
 * there. By RFC 4592, that is the owner name itself; or, if the name does not exist, the owner `*`
 * below its closest encloser. Pure; any thread with the version. */
#ifndef SKYDNS_RECORDS_OVERRIDES_H
#define SKYDNS_RECORDS_OVERRIDES_H

#include <stdbool.h>

#include "common/dns/dname.h"
#include "skydns/records/store.h"

/* OVERRIDE_MARK is the label between an owner name and its records; no key that people write has
 * it. OVERRIDE_SHOWN stands for the initial `_` of a stripped label, which lookups would hide. */
#define OVERRIDE_MARK "\1"
enum { OVERRIDE_SHOWN = 2 };

/* Bounds `targetstrip`: external-dns writes 1. */
enum { OVERRIDE_STRIP_MAX = 10 };

struct override_found {
    const struct store_node *node; /* the mark: the owner's records are at and below it */
    bool is_wildcard;
    unsigned labels; /* the owner name's */
};

/* Finds the override of a lower-cased external name. Returns false if there is none. An empty
 * non-terminal, a name above owners that is none itself, has no override and no wildcard. */
bool overrides_find(const struct store *overrides, const struct dname *name,
                    struct override_found *ret_found) MUST_CHECK;

/* Makes the node's name in the version's overrides from the name that it was found for. False: it
 * would be too long, so that the index has no such record. */
bool overrides_place(const struct override_found *found, const struct dname *name,
                     struct dname *ret_place) MUST_CHECK;

#endif
