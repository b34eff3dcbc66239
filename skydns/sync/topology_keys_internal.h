/* Holds a domain's topology keys, which kube2sky writes with --topology, as a mirror tells them:
 *
 *     /kube2sky/<domain>/topology/prod/web  {"10.1.0.5":"eu-1a","10.1.0.6":"eu-1b"}
 *
 * and shows them to readers (topology.h) at once: no key depends on another. Owned by
 * client_marks.c; main thread. */
#ifndef SKYDNS_SYNC_TOPOLOGY_KEYS_INTERNAL_H
#define SKYDNS_SYNC_TOPOLOGY_KEYS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/key_table.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

struct buf;
struct client_index;
struct reader;

enum {
    /* Limits the blocks of one domain: a million addresses of Services with many each. */
    TOPOLOGY_BYTES_MAX = 64 * 1024 * 1024,
    /* Limits those of one namespace, so that it leaves room for the others. */
    TOPOLOGY_NAMESPACE_BYTES_MAX = TOPOLOGY_BYTES_MAX / 8,
};

struct topology_keys {
    struct client_index *index; /* borrowed; shows the zones */
    struct dname base;          /* svc.<domain> */
    struct key_table keys;
    struct key_table spaces; /* how many bytes each namespace has */
    size_t bytes;
    bool has_changed; /* since the last commit */
    bool keeps_old;
};

void topology_keys_init(struct topology_keys *keys, struct client_index *index,
                        const struct dname *domain);
void topology_keys_fini(struct topology_keys *keys); /* readers lose what it showed */

/* Take the events of etcd_mirror.h; keys without their prefix. Put returns NULL, or why the key or
 * value is unusable: then it counts as absent. */
void topology_keys_begin(struct topology_keys *keys, bool keeps_old);
const char *topology_keys_put(struct topology_keys *keys, struct slice label, struct slice value);
void topology_keys_del(struct topology_keys *keys, struct slice label);

/* Ends a batch; returns whether anything differs. */
bool topology_keys_commit(struct topology_keys *keys, bool full);

/* Append the keys; put saved ones. Loading returns false if the bytes are malformed; keys NULL:
 * only looks. */
void topology_keys_save(const struct topology_keys *keys, struct buf *out);
bool topology_keys_load(struct topology_keys *keys, struct reader *reader) MUST_CHECK;

#endif
