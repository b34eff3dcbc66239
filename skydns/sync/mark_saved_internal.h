/* Packs kube2sky's keys about clients for a snapshot (snapshot.h): nothing, or how many domains,
 * then of each its name and both kinds of keys. A kind is the mirror (empty: etcd denied reading
 * it), whether its keys are known, and the keys. Client records are packed likewise, in a section
 * of their own. Bytes from outside. Owned by client_marks.c. */
#ifndef SKYDNS_SYNC_MARK_SAVED_INTERNAL_H
#define SKYDNS_SYNC_MARK_SAVED_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/sync/mark_keys_internal.h"

struct record_keys;

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

/* Appends a domain's client records (NULL: they are not known); the caller appends the count of
 * domains. */
void mark_saved_append_records(const struct dname *domain, const struct record_keys *records,
                               struct slice mirror, struct buf *out);

/* Puts a domain's records out of bytes that client_marks_are_records_saved accepts, for the caller
 * to commit. Returns false if they were not known; true, putting nothing, if it had none. */
bool mark_saved_recall_records(struct slice saved, const struct dname *domain,
                               struct record_keys *records, struct slice *ret_mirror) MUST_CHECK;

#endif
