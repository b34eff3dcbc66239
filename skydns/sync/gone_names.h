/* Remembers names of our domains that went with a version of the records, for /missing: a Service
 * that was deleted is the likeliest reason for a name that does not exist. A ring: the latest
 * GONE_NAMES_MAX of the last hour.
 *
 *     version before, version after --store_diff--> records removed --> names that nothing is below
 *
 * A name counts as gone with its last record. The keys of a Service or an endpoint end in a label
 * of their own, and those of its ports have two more, with underscores: without those labels, the
 * name is that of the object. Names below pod.<domain> are left out: each pod has one, and people
 * do not type them. Main thread. */
#ifndef SKYDNS_SYNC_GONE_NAMES_H
#define SKYDNS_SYNC_GONE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"

struct store;

enum {
    GONE_NAMES_MAX = 1024, /* 330 KB */
    GONE_NAMES_AGE_MS = 60 * 60 * 1000,
};

struct gone_name {
    struct dname name; /* lower case */
    struct ip host;    /* of its last record; none if that was a name */
    int64_t time_ms;   /* Unix time */
};

/* Makes an empty ring. */
struct gone_names *gone_names_new(void);
void gone_names_free(struct gone_names *gone); /* NULL is fine */

/* Notes what the version `after` lacks in these domains, in lower case. `before` NULL: nothing. */
void gone_names_follow(struct gone_names *gone, const struct store *before,
                       const struct store *after, const struct dname *domains, size_t count);

/* Returns the latest that went within the hour and is this name (lower case), or below or above it;
 * NULL: none. Borrowed until the next call of gone_names_follow. */
const struct gone_name *gone_names_find(const struct gone_names *gone, const struct dname *name);

#endif
