/* Tells who owns a key. The writer owns keys below /skydns/ because of objects:
 *
 *     /skydns/<domain reversed>/svc/...    everything
 *     /skydns/<domain reversed>/pod/...    everything
 *     /skydns/<domain reversed>/node/...   everything, with --nodes; without, what it could have
 *                                          written when it had that flag
 *     /skydns/arpa/...                     keys whose host ends in ".svc.<domain>"
 *     /skydns/<multicluster domain reversed>/svc/...   everything, with --multicluster; and then
 *                                          keys in arpa/ with such hosts, too
 *
 * With --namespaces it owns only svc/<ns>/, pod/<ns>/ and hosts in ".<ns>.svc.<domain>"; node/ only
 * with --nodes, since another writer may have it. With --own-only-written it owns only keys that it
 * could have written itself, judging by label and value. It deletes only keys that it owns and does
 * not want.
 *
 * It owns keys about clients (client_keys.h) because of pods and namespaces:
 *
 *     /kube2sky/<domain>/node-address/<address>   with --namespaces never deleted: another writer
 *                                                 may have put it there, for a pod whose key
 *                                                 follows
 *     /kube2sky/<domain>/visible/<namespace>      with --namespaces only theirs; also below the
 *                                                 multicluster domain
 *     /kube2sky/<domain>/client/<address>         with --namespaces only those whose value names
 *                                                 one of these; others are left alone
 *
 * and because of headless Services (topology_value.h)
 *
 *     /kube2sky/<domain>/topology/<namespace>/<service>   with --namespaces only theirs
 *
 * and because of Services, in the zone of --external-zone,
 *
 *     /skydns/<zone reversed>/<namespace>/<service>/...   keys that it could have written itself,
 *                                                         judging by label and value
 *
 * Elsewhere below the domain are keys of people and other programs, and keys of the ConfigMap,
 * which a list of their own tells from the others (config_keys_internal.h). PURE. */
#ifndef KUBE2SKY_RECONCILE_OWNERSHIP_INTERNAL_H
#define KUBE2SKY_RECONCILE_OWNERSHIP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/slice.h"

struct ownership_config {
    const char *domain;            /* "cluster.local.", lower case, with the dot */
    const char *import_domain;     /* "clusterset.local.", likewise; NULL: there are no imports */
    const char *const *namespaces; /* lower case */
    size_t namespace_count;        /* 0 = all */
    bool only_written;
    bool has_nodes;            /* --nodes */
    const char *external_zone; /* "lb.example.com.", as domain; NULL: none */
};

struct ownership {
    struct ownership_config config; /* strings are borrowed for its lifetime */
    struct buf tree;                /* "/skydns/local/cluster/" */
    char *beside;                   /* "/kube2sky/cluster.local/" */
    char *host_end;                 /* ".svc.cluster.local." */
    struct buf external_tree;       /* "/skydns/com/example/lb/"; empty: none */
    /* The same of the multicluster domain; empty and NULL without one */
    struct buf import_tree;
    char *import_visible; /* "/kube2sky/clusterset.local/visible/" */
    char *import_host_end;
    struct buf *import_owner; /* scratch buffer of ownership_part */
};

void ownership_init(struct ownership *ownership, const struct ownership_config *config);
void ownership_fini(struct ownership *ownership);

enum key_place {
    KEY_ELSEWHERE, /* not the writer's, whatever the value */
    KEY_OBJECT,    /* below svc/, pod/ or node/ */
    KEY_REVERSE,   /* below /skydns/arpa/ */
    KEY_CLIENT,    /* about clients, or zones of addresses */
    KEY_BESIDE,    /* below the domain, but neither svc, pod nor node, nor below them */
    KEY_EXTERNAL,  /* below /skydns/, outside the domain and arpa */
};

enum key_place ownership_place(const struct ownership *ownership, struct slice key);

/* Splits a KEY_OBJECT into its owner's id, up to three segments below the domain,
 * "svc/default/web", and the rest, "/_tcp/_http/c88f1059". Below node/ the rest is the last
 * segment, unless there is only one. A KEY_CLIENT has an owner of its own, "visible/default", and
 * no rest. The id of an import's owner, "mcs/default/web" or "mcs-visible/default", is borrowed
 * until the next call. */
struct object_key {
    struct slice owner;
    struct slice suffix;
};
struct object_key ownership_part(const struct ownership *ownership, struct slice key);

/* Returns whether the path is that of a topology key which the writer owns, "topology/default/web".
 */
bool ownership_is_topology(const struct ownership *ownership, struct slice path);

/* Appends the prefix that all keys of the owner have. */
void ownership_base(const struct ownership *ownership, struct slice owner, struct buf *out);

/* Appends the id of the Service or import that the value of a reverse key of ours names,
 * "svc/default/web"; nothing for other values. */
void ownership_owner_object(const struct ownership *ownership, struct slice value, struct buf *out);

/* Appends the id of the owner of a KEY_EXTERNAL: "alias/default/web", or "ext/default/web" for any
 * other key in the external zone where its keys are; nothing if the key is not ours. */
void ownership_external(const struct ownership *ownership, struct slice key, struct slice value,
                        struct buf *out);

/* Returns whether the writer may delete a KEY_OBJECT, KEY_REVERSE or KEY_CLIENT with this value, or
 * a KEY_EXTERNAL that is in the external zone. */
bool ownership_has(const struct ownership *ownership, enum key_place place, struct slice key,
                   struct slice value);

/* Returns whether a key that the writer has is another writer's copy if its value is also desired
 * under another key of the owner. Applies only with --own-only-written. */
bool ownership_may_be_copy(const struct ownership *ownership, struct slice key, struct slice value);

/* Returns whether a kube2sky, this or another, could have written the key, judging by its form
 * (key_style.h). */
bool ownership_is_written(const struct ownership *ownership, struct slice key, struct slice value);

#endif
