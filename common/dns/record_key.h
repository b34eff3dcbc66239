/* DNS name <-> etcd key: `/<prefix>/` and the labels reversed, joined with `/`.
 *     web.default.svc.cluster.local.  <->  /skydns/local/cluster/svc/default/web
 * Pure; any thread. */
#ifndef COMMON_DNS_RECORD_KEY_H
#define COMMON_DNS_RECORD_KEY_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

/* In both calls `prefix` is "/skydns/", with both slashes. */

/* Appends the key of a name (text, trailing dot optional), in lower case. No escaping: names come
 * from flags and Kubernetes objects. */
void record_key_from_name(struct slice prefix, struct slice name, struct buf *out);

/* Appends the key of a stored name; the inverse of record_key_to_name. */
void record_key_of(struct slice prefix, const struct dname *name, struct buf *out);

/* The name of a key. False when the key is not below the prefix, has an empty label, a label over
 * 63 bytes or a name over 255, so that no query can ask for it. Case is kept: no (folded) query
 * matches a key with upper-case letters. */
bool record_key_to_name(struct slice prefix, struct slice key, struct dname *ret_name) MUST_CHECK;

#endif
