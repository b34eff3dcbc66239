/* The keys beside the records that tell readers about their clients:
 *
 *     /kube2sky/<domain>/node-address/10-1-0-1   {"host":"10.1.0.1"}   an address that a pod shares
 *                                                with its node: it identifies no client
 *     /kube2sky/<domain>/visible/<namespace>     the text of the namespace's annotation
 *                                                dns.kube2sky/visible-to
 *
 * Learns of pods and namespaces from the feed, as the inventory does; the reconciler writes what it
 * wants (reconcile). A part whose kind has been listed completely may lose keys; before, keys are
 * only added. Single-threaded. */
#ifndef KUBE2SKY_NAMING_CLIENT_KEYS_H
#define KUBE2SKY_NAMING_CLIENT_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"

struct client_keys;

enum client_keys_part { CLIENT_KEYS_NODE_ADDRESS, CLIENT_KEYS_VISIBLE, CLIENT_KEYS_PARTS };

struct client_keys_config {
    const char *domain;                /* "cluster.local.", borrowed for good */
    bool is_wanted[CLIENT_KEYS_PARTS]; /* of one that is not, all keys are to go */
    /* A key was added, changed or is not wanted any more; or a part may now lose keys. Called from
     * inside the functions below; must not call back. */
    void (*changed)(void *data);
    void *data;
};

struct client_keys *client_keys_new(const struct client_keys_config *config);
void client_keys_free(struct client_keys *keys); /* NULL is fine */

/* ---- The feed's side: of KUBE_POD and KUBE_NAMESPACE; other kinds are ignored. See reflector.h.
 */

void client_keys_list_begin(struct client_keys *keys, enum kube_kind kind);
void client_keys_upsert(struct client_keys *keys, const struct kube_object *object); /* borrowed */
void client_keys_remove(struct client_keys *keys, enum kube_kind kind, const char *ns,
                        const char *name);
void client_keys_list_end(struct client_keys *keys, enum kube_kind kind);

/* ---- The reconciler's side ---- */

/* The value that the key should have, borrowed until the next change; ptr NULL: none. */
struct slice client_keys_value(const struct client_keys *keys, struct slice key);

/* Calls fn for each key wanted, in no order. */
void client_keys_each(const struct client_keys *keys,
                      void (*fn)(void *data, struct slice key, struct slice value), void *data);

/* Keys of the part that are not wanted may be deleted. */
bool client_keys_may_delete(const struct client_keys *keys, enum client_keys_part part);

#endif
