/* The records with external names by their owners: what answers queries for these names with
 * -overrides. The owner is the key's name without its first `targetstrip` labels
 * (OVERRIDE_STRIP_MAX at most), so that many keys may have one owner, and a name's records are
 * found without a look at what is below it. The index is a store of its own, published as part of
 * each version (store_overrides); a record's place in it is
 *
 *     <the stripped labels>.<OVERRIDE_MARK>.<owner>        an initial `_` there is OVERRIDE_SHOWN
 *
 * so that what is at and below <OVERRIDE_MARK>.<owner> is what the owner has. Its TTL is set;
 * beside a host, there is no text (external-dns keeps notes there); other fields are those of an
 * address, a name or `rr`. Names in our domains, reverse names, and names too long for the mark are
 * not in it. It follows the records from one version to the next. Part of store_sync; main thread.
 */
#ifndef SKYDNS_SYNC_OVERRIDE_INDEX_INTERNAL_H
#define SKYDNS_SYNC_OVERRIDE_INDEX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/records/store.h"

struct override_index;

/* Applies a document's setting. ttl_s: of records that set none. */
struct override_index_rule {
    bool is_on;
    uint32_t ttl_s;
    size_t domain_count;
    const struct dname *domains; /* lower case; borrowed for the call */
};

struct override_index *override_index_new(void);        /* off */
void override_index_free(struct override_index *index); /* NULL is fine */

void override_index_set(struct override_index *index, const struct override_index_rule *rule);

/* The record of this name may be another one in the next version. */
void override_index_note(struct override_index *index, const struct dname *name);

/* So may any. */
void override_index_note_all(struct override_index *index);

/* TTLs count down with their leases. */
void override_index_note_leases(struct override_index *index);

/* Whether the next version differs even if its records do not. */
bool override_index_is_due(const struct override_index *index);

/* Returns the overrides of the version `now`, which follows `before` (NULL: it is the first), or
 * NULL; *ret_garbage: what they replaced, NULL for nothing. Valid until that is freed. */
const struct store *override_index_follow(struct override_index *index, const struct store *before,
                                          const struct store *now,
                                          struct store_garbage **ret_garbage);

/* How many records it has. */
size_t override_index_count(const struct override_index *index);

#endif
