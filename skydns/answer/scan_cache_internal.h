/* The results of finished walks, kept for their store version: the question that took fifty
 * milliseconds takes none when it is asked again before the records change. Part of a walker's
 * lookup (lookup.h); that engine's thread only.
 *
 * The records belong to the version. They are given out only for the same version, whose reader
 * holds it, and for as long as it is the newest nothing of it is freed. */
#ifndef SKYDNS_ANSWER_SCAN_CACHE_INTERNAL_H
#define SKYDNS_ANSWER_SCAN_CACHE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/clients/client_index.h"
#include "skydns/records/store.h"

enum {
    SCAN_CACHE_ENTRIES = 16,      /* names walked in turn; few clients ask for even one */
    SCAN_CACHE_RECORDS = 1 << 20, /* in all: 8 MiB. A longer walk is not kept */
};

/* What was walked: the store's serial, the name, how its labels were read, and, unless all of it is
 * everybody's to see, for whom. */
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

/* The records kept, borrowed until the next scan_cache_keep; NULL: none. */
const struct store_record *const *scan_cache_find(const struct scan_cache *cache,
                                                  const struct scan_key *key, size_t *ret_count);

/* Copies the array. Forgets walks of other versions, and the oldest ones when there is no room. */
void scan_cache_keep(struct scan_cache *cache, const struct scan_key *key,
                     const struct store_record *const *records, size_t count);

#endif
