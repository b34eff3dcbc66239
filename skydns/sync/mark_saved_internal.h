/* Packs kube2sky's keys about clients for a snapshot (snapshot.h): nothing, or how many domains,
 * then of each its name and both kinds of keys. A kind is the mirror (empty: etcd denied reading
 * it), whether its keys are known, and the keys. Client records, and topology keys, are packed
 * likewise, in a section of their own. Bytes from outside. Owned by client_marks.c. */
#ifndef SKYDNS_SYNC_MARK_SAVED_INTERNAL_H
#define SKYDNS_SYNC_MARK_SAVED_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/sync/mark_keys_internal.h"

struct mark_saved {
    struct mark_keys keys; /* owned */
    struct slice mirror;   /* etcd_mirror_save; borrowed */
    bool is_known;
};

/* Appends one kind (NULL: it is not known); the caller appends the count and names of domains. */
void mark_saved_append(const struct mark_keys *keys, struct slice mirror, struct buf *out);

/* Reads a domain's part of bytes that client_marks_is_saved accepts. Returns false if there is
 * nothing, and the caller has nothing to free. */
bool mark_saved_recall(struct slice saved, const struct dname *domain,
                       struct mark_saved ret_saved[MARK_KINDS]) MUST_CHECK;

/* The kinds of keys that have a section of the snapshot each. */
enum mark_saved_section {
    MARK_SAVED_RECORDS,  /* of struct record_keys */
    MARK_SAVED_TOPOLOGY, /* of struct topology_keys */
};

/* Appends a domain's part of such a section, but its keys, which the caller appends if the mirror
 * is not NULL: with NULL they are not known. The caller appends the count of domains. */
void mark_saved_append_head(const struct dname *domain, const struct slice *mirror,
                            struct buf *out);

/* Puts a domain's keys out of bytes that client_marks_are_records_saved, or is_topology_saved,
 * accepts, for the caller to commit. Returns false if they were not known; true, putting nothing,
 * if it had none. */
bool mark_saved_recall_keys(enum mark_saved_section section, struct slice saved,
                            const struct dname *domain, void *keys,
                            struct slice *ret_mirror) MUST_CHECK;

#endif
