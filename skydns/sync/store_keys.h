/* Tells which domains are incomplete. kube2sky writes a domain's store key into etcd once it has
 * written everything else (etcd_store_id.h). If the key is expected and missing, etcd lacks
 * records, and names that are not found may not be denied. It is expected if -require-store-key
 * says so, or if this process or a file of an earlier one has seen it (`was_there`). An etcd data
 * set filled by hand never had one, and none is expected.
 *
 * The records' mirror follows the key of its own domain, and its owner passes that on. Each other
 * domain's key has a mirror of its own here, of that single key: two watches on the connection that
 * exists anyway. Owned by store_sync.c; main thread. */
#ifndef SKYDNS_SYNC_STORE_KEYS_H
#define SKYDNS_SYNC_STORE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

struct buf;
struct err;
struct etcd;
struct store_keys;
struct store_sync;

struct store_keys_config {
    struct etcd *etcd;       /* borrowed */
    struct dname main;       /* the domain whose key the owner passes on; lower case */
    bool is_required;        /* -require-store-key */
    struct store_sync *sync; /* is told of changes */
};

struct store_keys *store_keys_new(const struct store_keys_config *config);
void store_keys_free(struct store_keys *keys); /* NULL is fine */

/* Sets the domains in force, at most ENGINE_ZONES_MAX. Those that stay lose nothing. */
void store_keys_set_domains(struct store_keys *keys, const struct dname *domains, size_t count);
void store_keys_require(struct store_keys *keys, bool is_required);

/* Tells whether the main domain's key is there. */
void store_keys_tell(struct store_keys *keys, bool is_there);

/* Tells that the records now come from another etcd data set: the other domains' keys are unknown
 * until read again. */
void store_keys_other_store(struct store_keys *keys);

/* Returns true if the key is expected, but was not there when the records were last read. For a
 * domain that is not in force, tells whether keys are required. */
bool store_keys_is_missing(const struct store_keys *keys, const struct dname *domain);
bool store_keys_is_any_missing(const struct store_keys *keys);

/* Tells that the records have been read again since store_sync heard of a key that appeared. */
void store_keys_have_read(struct store_keys *keys);

/* Decides which domains are incomplete from now on: those whose key is missing, unless the records
 * of the earlier data set are still held. Logs each that differs. only_worse: none becomes
 * complete. Returns true if some differ. */
bool store_keys_settle(struct store_keys *keys, bool is_holding_old, bool only_worse);

/* Returns whether the domain is incomplete, as last settled. For a domain that is not in force,
 * tells whether keys are required. */
bool store_keys_is_incomplete(const struct store_keys *keys, const struct dname *domain);

/* Appends which domains have had a store key, and have one that counts. Includes those loaded that
 * were not in force yet. */
void store_keys_save(const struct store_keys *keys, struct buf *out);

/* Read what an earlier process knew of domains in force now and later; before the first of them is
 * set. Returns false if the bytes are malformed. */
bool store_keys_is_saved(struct slice saved) MUST_CHECK;
bool store_keys_load(struct store_keys *keys, struct slice saved) MUST_CHECK;

/* Return the number of domains in force, and the i-th. */
size_t store_keys_count(const struct store_keys *keys);
const struct dname *store_keys_domain(const struct store_keys *keys, size_t i);

/* Returns the value of the i-th domain's store key; borrowed. Empty: there is none, it has not been
 * seen yet, or it is the main domain's, which the owner knows. */
struct slice store_keys_id(const struct store_keys *keys, size_t i);

/* Returns why the key is expected: a constant. */
const char *store_keys_reason(const struct store_keys *keys, const struct dname *domain);

#endif
