/* Decides the name of an address that several owners may claim: a table address -> claims. Also
 * converts addresses to keys and back. An address has one name, and each namespace may claim any
 * address. So the decision must not depend on anything that claiming namespaces control:
 *
 *     1. A cluster IP: the API server allocates each once, to a Service.
 *     2. Pods that have the address: then only claims of their namespaces count, and if none of
 *        them claims it, the address has no name. A kubelet writes a pod's addresses; users who
 *        edit a namespace cannot. Pods on the host network share their node's address, so there
 *        may be several such namespaces.
 *     3. Otherwise the namespace that has the name in etcd keeps it. So it outlives restarts and
 *        changes of the leader. Without one, the namespace that won the last time.
 *
 * Imports come after all others, and among themselves by rules 2 and 3: the API server allocates
 * none of their addresses.
 *
 * Among the claims that are left, and within a namespace, the best claim wins (claims.h). When the
 * winner goes, the next one takes over.
 *
 * Nothing else is trusted. Endpoints and slices, with their hostnames and the pods that they name
 * (targetRef), are written by a namespace's editors as well as by controllers, and nothing tells
 * the two apart. externalIPs and addresses of load balancers, which editors write, are never
 * claimed.
 *
 * With --pods=disabled, or while pods cannot be listed, rule 2 does not apply. With --namespaces or
 * --label-selector only the listed pods count, and a name that etcd has for a Service of another
 * namespace is another writer's, never taken.
 *
 * Pure data, no I/O; single-threaded, owned by the planner. */
#ifndef KUBE2SKY_NAMING_REVERSE_H
#define KUBE2SKY_NAMING_REVERSE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/slice.h"
#include "kube2sky/naming/claims.h"
#include "kube2sky/naming/contract.h"

struct inventory;
struct reverse;

struct reverse_config {
    const struct inventory *inventory; /* outlives it; NULL: no pods are known */
    /* Returns the Service that etcd's key of the address names, "svc/default/web"; empty: none of
     * ours. Called only if several owners claim the address; borrowed until the next call. NULL: no
     * such key exists. */
    struct slice (*holder)(void *data, const struct ip *ip);
    void *data;
};

struct reverse *reverse_new(const struct reverse_config *config);
void reverse_free(struct reverse *reverse); /* NULL is fine */

/* Called for each address whose name changed, appeared or disappeared. It may call reverse_winner,
 * and must not change the table. */
typedef void (*reverse_changed_fn)(void *data, const struct ip *ip);

/* Replaces the claims of the owner ("svc/default/web") by these (sealed). */
void reverse_set(struct reverse *reverse, struct slice owner, const struct claims *claims,
                 reverse_changed_fn changed, void *data);

/* Replaces the claims `gone` of the owner by `come`, both sealed, and leaves its others alone. */
void reverse_change(struct reverse *reverse, struct slice owner, const struct claims *gone,
                    const struct claims *come, reverse_changed_fn changed, void *data);

/* Decides again: call it when pods got or lost the address, or etcd's key of it changed. Returns
 * true if the address's name changed. */
bool reverse_decide(struct reverse *reverse, const struct ip *ip);

struct reverse_winner {
    struct slice host;
    struct slice owner;
    bool is_allocated; /* a cluster IP */
    bool is_import;    /* an import's address */
};

/* Sets the address's name and its owner object, borrowed until the next reverse_set. Returns false
 * if it has none. */
bool reverse_winner(const struct reverse *reverse, const struct ip *ip,
                    struct reverse_winner *ret_winner);

/* Returns whether an unknown claim of this owner could win: neither a cluster IP nor pods rule that
 * out. */
bool reverse_may_win(const struct reverse *reverse, const struct ip *ip, struct slice owner);

/* Returns whether the owner's namespace claims the address. */
bool reverse_is_claimed_beside(const struct reverse *reverse, const struct ip *ip,
                               struct slice owner);

bool reverse_is_same_namespace(struct slice owner, struct slice other);

/* Return the number of addresses that have a name, and of those that are claimed and have none. */
size_t reverse_count(const struct reverse *reverse);
size_t reverse_refused_count(const struct reverse *reverse);

/* ---- Keys ---- */

/* Longest key: the prefix and 32 nibbles. */
enum { REVERSE_KEY_MAX = sizeof(REVERSE_V6_TREE) + 64 };

/* Appends "/skydns/arpa/in-addr/10/0/0/1", "/skydns/arpa/ip6/f/d/0/0/...". */
void reverse_key(const struct ip *ip, struct buf *out);

/* Parses such a key. Returns false if it is none, or not in reverse_key's form, so that we cannot
 * have written it. */
bool reverse_parse_key(struct slice key, struct ip *ret_ip) MUST_CHECK;

#endif
