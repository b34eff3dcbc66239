/* Follows the documents that kube2sky writes beside the records: `/kube2sky/<domain>/config`, with
 * the upstreams of a ConfigMap; and `/kube2sky/<domain>/serial`, the base of zones' serials. Each
 * domain's is a mirror of one key: two watches on the connection that exists anyway. Like the
 * records, a document survives an etcd that came back without its data until kube2sky has written
 * everything again. An etcd whose user may not read it is asked every 10 s, with one warning, and
 * is not strictly ready. Main thread. */
#ifndef SKYDNS_SYNC_WRITER_DOCUMENTS_H
#define SKYDNS_SYNC_WRITER_DOCUMENTS_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

struct buf;
struct etcd;
struct writer_documents;

struct writer_documents_config {
    struct ev_loop *loop;
    struct etcd *etcd;    /* borrowed */
    const char *name;     /* of the documents: "config" or "serial"; borrowed */
    int64_t stale_max_ms; /* as of the records */
    /* Bytes that writer_documents_save appended in an earlier process, checked; copied; empty:
     * nothing is known. The first writer_documents_set_domains passes the documents of its domains
     * to `changed`. They hold until etcd says otherwise. */
    struct slice saved;
    /* Receives a domain's document as of a commit, if it changed; ptr NULL: there is none.
     * Borrowed. The revision is that at which etcd got it; 0: not known, or there is none. */
    void (*changed)(void *data, const struct dname *domain, struct slice value, int64_t revision);
    void *data;
};

/* Returns true if writer_documents_save can have appended the bytes. */
bool writer_documents_is_saved(struct slice saved) MUST_CHECK;

struct writer_documents *writer_documents_new(const struct writer_documents_config *config);
void writer_documents_free(struct writer_documents *documents); /* NULL is fine */

/* Appends the documents as last told. Returns false, and appends nothing, if one is not known yet.
 */
bool writer_documents_save(const struct writer_documents *documents, struct buf *out);

/* Sets the domains in force, at most ENGINE_ZONES_MAX. Tells nothing of domains that leave. May be
 * called from `changed` only with the same domains. */
void writer_documents_set_domains(struct writer_documents *documents, const struct dname *domains,
                                  size_t count);

/* Returns true if all that was told is of the etcd data set that etcd's connection leads to now, or
 * cannot be read. */
bool writer_documents_is_caught_up(const struct writer_documents *documents);

/* Appends the keys and the reason and returns true if etcd denies reading some. documents NULL:
 * there are none. */
bool writer_documents_explain_denied(const struct writer_documents *documents, struct buf *out);

#endif
