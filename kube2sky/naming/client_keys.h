/* The keys beside the records that tell readers about their clients:
 *
 *     /kube2sky/<domain>/node-address/10-1-0-1   {"host":"10.1.0.1"}   an address that a pod shares
 *                                                with its node: it identifies no client
 *     /kube2sky/<domain>/visible/<namespace>     the text of the namespace's annotation
 *                                                dns.kube2sky/visible-to, byte for byte: whoever
 *                                                shows it to people escapes it
 *
 *     /kube2sky/<domain>/node-address/0-0-0-0    {"host":"0.0.0.0"}    every address: the pods are
 *                                                not known any more
 *
 * One node-address key stands for all pods on that node's network, of whatever namespace; pods that
 * have ended do not count. A namespace whose name is no label has no key. If all texts together are
 * more than readers take, the longest have none: whoever may annotate some namespaces takes nothing
 * away from others whose text is shorter.
 *
 * Learns of pods and namespaces from the feed, as the inventory does; the reconciler writes what it
 * wants (reconcile/reconciler_clients). A part whose kind has been listed completely, in every
 * namespace, may lose keys; before, keys are only added. A list without any object is not believed
 * (inventory.h). Holds nothing of other pods, so a change of one costs a search. Single-threaded.
 */
#ifndef KUBE2SKY_NAMING_CLIENT_KEYS_H
#define KUBE2SKY_NAMING_CLIENT_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"

struct client_keys;

enum client_keys_part { CLIENT_KEYS_NODE_ADDRESS, CLIENT_KEYS_VISIBLE, CLIENT_KEYS_PARTS };

/* skydns' limits of one list, and of all of a domain (skydns/sync/client_marks_internal.h). */
enum { CLIENT_KEYS_TEXT_MAX = KUBE_VISIBLE_TO_MAX, CLIENT_KEYS_TEXTS_MAX = 4 * 1024 * 1024 };

struct client_keys_config {
    const char *domain;                  /* "cluster.local.", borrowed for good */
    bool is_wanted[CLIENT_KEYS_PARTS];   /* of one that is not, all keys are to go */
    bool is_narrowed[CLIENT_KEYS_PARTS]; /* only some are listed, perhaps none: that is believed */
    const char *const *namespaces;       /* each with its own lists of pods; borrowed for good */
    size_t namespace_count;              /* none: all in one list */
};

struct client_keys *client_keys_new(const struct client_keys_config *config);
void client_keys_free(struct client_keys *keys); /* NULL is fine */

/* ---- The feed's side: of KUBE_POD and KUBE_NAMESPACE; other kinds are ignored. See reflector.h.
 * ns: the list's, "" of all namespaces or of a kind without one. */

void client_keys_list_begin(struct client_keys *keys, enum kube_kind kind, const char *ns);
void client_keys_upsert(struct client_keys *keys, const struct kube_object *object); /* borrowed */
void client_keys_remove(struct client_keys *keys, enum kube_kind kind, const char *ns,
                        const char *name);
void client_keys_list_end(struct client_keys *keys, enum kube_kind kind, const char *ns);

/* Whether the server has refused the kind for so long that what it said can no longer be trusted,
 * be it of this life or what etcd has. Without Namespaces, none has a key, which hides it; without
 * pods, whose records stay, an address may be another pod's now, so none identifies a client. That
 * key is not written for some namespaces only, where nobody could remove it. */
void client_keys_lose(struct client_keys *keys, enum kube_kind kind, bool is_lost);

/* ---- The reconciler's side ---- */

/* "/kube2sky/<domain>/visible/", below which the part's keys are, each one segment. Borrowed. */
struct slice client_keys_tree(const struct client_keys *keys, enum client_keys_part part);

/* Whether the part could have a key with this last segment: a label of an address, or of a
 * namespace. Others there are not kube2sky's. */
bool client_keys_is_name(enum client_keys_part part, struct slice segment);

/* The value that the key should have, borrowed until the next change; ptr NULL: none. */
struct slice client_keys_value(const struct client_keys *keys, struct slice key);

/* A key of the part whose value has changed since it was last returned; ptr NULL: none. Borrowed
 * until the next call. */
struct slice client_keys_next_change(struct client_keys *keys, enum client_keys_part part);

/* Calls fn for each key wanted, in no order. */
void client_keys_each(const struct client_keys *keys,
                      void (*fn)(void *data, struct slice key, struct slice value), void *data);

/* How many namespaces' texts are too long for all to have a key. */
size_t client_keys_left_out(const struct client_keys *keys);

/* Keys of the part that are not wanted may be deleted. */
bool client_keys_may_delete(const struct client_keys *keys, enum client_keys_part part);

#endif
