/* Indexes the records with external names by owner name, to answer queries for these with
 * -overrides. The owner name is the record's own without its first `targetstrip` labels
 * (OVERRIDE_STRIP_MAX at most). So several keys may have one owner name, and names below an owner
 * name are not among its records. The index is a store of its own, published as part of
 * each version (store_overrides); a record's place in it is
 *
 *     <the stripped labels>.<OVERRIDE_MARK>.<owner>        an initial `_` there is OVERRIDE_SHOWN
 *
 * so that an owner's records are at and below <OVERRIDE_MARK>.<owner>. A record in the index has
 * only a TTL, a host or a text, and `rr`; its text is left out if it has a host, since external-dns
 * writes notes there. Names in our domains, reverse names, and names too long for the mark are not
 * indexed. The index follows the records from one version to the next. Part of store_sync; main
 * thread.
 */
#ifndef SKYDNS_SYNC_OVERRIDE_INDEX_H
#define SKYDNS_SYNC_OVERRIDE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/records/store.h"

struct override_index;

/* The settings that the index depends on. */
struct override_index_rule {
    bool is_on;
    uint32_t ttl_s; /* for records that set none */
    size_t domain_count;
    const struct dname *domains; /* lower case; borrowed for the call */
};

struct override_index *override_index_new(void);        /* off */
void override_index_free(struct override_index *index); /* NULL is fine */

/* Applies settings, from the next version on. */
void override_index_set(struct override_index *index, const struct override_index_rule *rule);

/* Notes that the record with this name may have changed in the next version. */
void override_index_note(struct override_index *index, const struct dname *name);

/* Notes that any record may have changed. */
void override_index_note_all(struct override_index *index);

/* Notes that the TTLs of records with a lease have counted down. */
void override_index_note_leases(struct override_index *index);

/* Returns whether settings have changed, so that the next version differs even if its records do
 * not. */
bool override_index_is_due(const struct override_index *index);

/* Returns the overrides of the version `now`, which follows `before` (NULL: it is the first), or
 * NULL while off. They are valid until the garbage of a later call is freed. *ret_garbage gets what
 * this call replaced; NULL: nothing. */
const struct store *override_index_follow(struct override_index *index, const struct store *before,
                                          const struct store *now,
                                          struct store_garbage **ret_garbage);

/* Returns how many records are indexed. */
size_t override_index_count(const struct override_index *index);

#endif
