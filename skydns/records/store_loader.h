/* Fills an empty record store in one pass from records in tree order (store_each_record): a
 * snapshot's content. It makes each node and branch once, in its final size, instead of once for
 * each change: 300,000 records take a fifth of store_writer's time.
 *
 *     store_loader_new, _put ..., _end --store_writer--> its first commit publishes them
 *
 * The records come from a file: whatever they say, the result is a valid store, or none. Main
 * thread. */
#ifndef SKYDNS_RECORDS_STORE_LOADER_H
#define SKYDNS_RECORDS_STORE_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/records/store.h"

/* A record without its name, with the fields of store_record; slices borrowed. The loader refuses
 * what cannot be in a store_record: a host whose bytes are no address or name, a text longer than
 * its length can say. */
struct store_saved {
    int64_t mod_revision;
    uint32_t known_s;        /* clock_monotonic_ms of this process, in seconds */
    uint8_t host;            /* enum store_host */
    struct slice host_bytes; /* 4 or 16 of an address, the wire name; else empty */
    struct record record;    /* its host if the printed form differs from what was written */
};

/* Returns the record's fields, borrowed from it. */
struct store_saved store_record_saved(const struct store_record *record);

struct store_loader;

struct store_loader *store_loader_new(void);

/* Tells how many records will come, if the caller knows; before the first. The loader believes it
 * only as far as it costs nothing if wrong: a large store gets huge pages at once, which are filled
 * in a fifth of the time. */
void store_loader_expect(struct store_loader *loader, size_t records);
void store_loader_free(struct store_loader *loader); /* NULL is fine */

/* Adds the next name and its record, and checks both. `shared` is how many bytes at the name's end,
 * the root's included, are those of the name before: at least 1, and a label begins there in both.
 *
 * Returns false, and the loader is only good for being freed, when the record or the name cannot
 * be, or `shared` is wrong. Also when the name is the one before or above it, or names below one
 * did not come together, which shows once that one is complete. */
bool store_loader_put(struct store_loader *loader, const struct dname *name, size_t shared,
                      const struct store_saved *record) MUST_CHECK;

/* Frees the loader, and returns a writer that has the records and no version yet. It may change
 * them before its first commit, which takes no time for the rest. NULL: names below one did not
 * come together. */
struct store_writer *store_loader_end(struct store_loader *loader) MUST_CHECK;

#endif
