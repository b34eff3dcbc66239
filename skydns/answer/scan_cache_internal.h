/* Caches the results of finished subtree scans for their store version. A question whose scan took
 * fifty milliseconds takes none when it comes again before the records change. Part of a walker's
 * lookup (lookup.h), on that engine's thread.
 *
 * The records belong to the version. They are given out only for the same version, whose reader
 * holds it. As long as it is the newest, nothing of it is freed. */
#ifndef SKYDNS_ANSWER_SCAN_CACHE_INTERNAL_H
#define SKYDNS_ANSWER_SCAN_CACHE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/clients/client_index.h"
#include "skydns/records/store.h"

enum {
    SCAN_CACHE_ENTRIES = 16,      /* names scanned in turn; few clients need even one */
    SCAN_CACHE_RECORDS = 1 << 20, /* records in all: 8 MiB. A longer scan is not cached */
};

/* Identifies a scan: the version's serial, the name, how its labels were read, and the client's
 * space unless every client may see all of it. */
struct scan_key {
    uint64_t serial;
    struct dname name;
    unsigned domain_labels;
    bool no_wildcards;
    bool is_ports;
    bool is_whole; /* the rest is not set */
    bool has_space;
    uint64_t config_serial;
    struct client_space space;
};

struct scan_cache;

struct scan_cache *scan_cache_new(void);
void scan_cache_free(struct scan_cache *cache); /* NULL is fine */

/* Returns the cached records, borrowed until the next scan_cache_keep. NULL: there are none. */
const struct store_record *const *scan_cache_find(const struct scan_cache *cache,
                                                  const struct scan_key *key, size_t *ret_count);

/* Copies the array. Evicts scans of other versions, and the oldest ones when there is no room. */
void scan_cache_keep(struct scan_cache *cache, const struct scan_key *key,
                     const struct store_record *const *records, size_t count);

#endif
