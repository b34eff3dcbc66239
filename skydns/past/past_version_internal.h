/* Makes a version of the record store as it was at an earlier revision, for one question. It has
 * the records that the answer depends on; the engine then answers from it as from any other.
 *
 * Only these are read, since all records of 100,000 Services are 30 MB for each question. An answer
 * about a name depends on the records at and below that name alone (lookup.h: the name that is
 * listed), and on those of the names that it leads to: hosts of its records that are names,
 * aliases, the name servers below the domain's apex. So for each such name all keys at and below it
 * are read, and for each host found there the same again, up to PAST_NAMES_MAX names. If nothing is
 * there, one key below each ancestor shows which of them existed. An external name has its
 * overrides: keys at and below it, and if it does not exist, `*` below its closest encloser
 * (RFC 4592).
 *
 * Everything else is of today: settings, aliases, clients and what they may see. A key with a lease
 * has the TTL of its value, since etcd does not say what the lease had left.
 *
 * Main loop, in pages (past_range_internal.h); bounded by PAST_KEYS_MAX and PAST_BYTES_MAX. */
#ifndef SKYDNS_PAST_PAST_VERSION_INTERNAL_H
#define SKYDNS_PAST_PAST_VERSION_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"

struct broken_table;
struct err;
struct etcd;
struct past_explain;
struct past_version;
struct publisher;
struct store;
struct store_sync;

/* Bounds the names whose records are read: those of a search list, and what they lead to. */
enum { PAST_NAMES_MAX = 64 };

struct past_version_config {
    struct etcd *etcd;
    const struct store_sync *sync;     /* says how keys become records */
    const struct publisher *publisher; /* has the settings */
    int64_t revision;
    const struct dname *names;  /* that the question is about, lower case; copied */
    size_t count;               /* at most PAST_NAMES_MAX */
    uint16_t type;              /* of the question */
    struct past_explain *owner; /* is told when it is there: past_explain_take_version */
};

/* Takes the version, once, from the loop. err NULL: it is there. ERR_COMPACTED, ERR_FUTURE: etcd
 * does not have the revision any more, or yet; ERR_TOO_LARGE: over a limit; others: try again. In
 * past_desk.c. */
void past_explain_take_version(struct past_explain *owner, const struct err *err);

struct past_version *past_version_read(const struct past_version_config *config);

/* At any time; after that, the owner is not told. NULL is fine. */
void past_version_free(struct past_version *version);

/* Once done: the version, and the unusable keys found. Borrowed. */
const struct store *past_version_store(const struct past_version *version);
const struct broken_table *past_version_broken(const struct past_version *version);

#endif
