/* Builds the keys beside the records that tell readers about their clients:
 *
 *     /kube2sky/<domain>/node-address/10-1-0-1   {"host":"10.1.0.1"}   an address that a pod shares
 *                                                with its node: it identifies no client
 *     /kube2sky/<domain>/visible/<namespace>     the text of the namespace's annotation
 *                                                dns.kube2sky/visible-to, byte for byte: code that
 *                                                shows it to people escapes it
 *
 *     /kube2sky/<domain>/node-address/0-0-0-0    {"host":"0.0.0.0"}    every address: the pods are
 *                                                not known any more
 *
 *     /kube2sky/<domain>/client/10-1-0-5         which pod has the address:
 * client_records_internal.h
 *
 * One node-address key stands for all pods on that node's network, of any namespace; pods that have
 * ended do not count. A namespace whose name is no label has no key. If all texts together exceed
 * the readers' limit, the longest have none. So a user who may annotate some namespaces takes
 * nothing away from namespaces with shorter texts.
 *
 * It learns of pods and namespaces from the reflectors, like the inventory; the reconciler writes
 * the wanted keys (reconcile/reconciler_clients). A part may lose keys once its kind has been
 * listed completely in every namespace; before that, keys are only added. A list without any object
 * is not believed (inventory.h). Without client records it holds only pods on the host network, so
 * a change of another pod costs a search. Single-threaded. */
#ifndef KUBE2SKY_NAMING_CLIENT_KEYS_H
#define KUBE2SKY_NAMING_CLIENT_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"

struct client_keys;

enum client_keys_part {
    CLIENT_KEYS_NODE_ADDRESS,
    CLIENT_KEYS_VISIBLE,
    CLIENT_KEYS_RECORD,
    CLIENT_KEYS_PARTS,
};

/* Repeat skydns's limits of one list, and of all of a domain
 * (skydns/sync/client_marks_internal.h). */
enum { CLIENT_KEYS_TEXT_MAX = KUBE_VISIBLE_TO_MAX, CLIENT_KEYS_TEXTS_MAX = 4 * 1024 * 1024 };

struct client_keys_config {
    const char *domain;                /* "cluster.local.", borrowed for its lifetime */
    bool is_wanted[CLIENT_KEYS_PARTS]; /* all keys of an unwanted part are to be deleted */
    /* Only some objects are listed, perhaps none: an empty list is believed. */
    bool are_pods_narrowed;
    bool are_namespaces_narrowed;
    const char *const *namespaces; /* each has its own lists of pods; borrowed for its lifetime */
    size_t namespace_count;        /* 0: one list has all pods */
};

struct client_keys *client_keys_new(const struct client_keys_config *config);
void client_keys_free(struct client_keys *keys); /* NULL is fine */

/* ---- For the reflectors: KUBE_POD, KUBE_NODE and KUBE_NAMESPACE; other kinds are ignored. See
 * reflector.h. ns: the list's, "" of all namespaces or of a kind without one. */

void client_keys_list_begin(struct client_keys *keys, enum kube_kind kind, const char *ns);
void client_keys_upsert(struct client_keys *keys, const struct kube_object *object); /* borrowed */
void client_keys_remove(struct client_keys *keys, enum kube_kind kind, const char *ns,
                        const char *name);
void client_keys_list_end(struct client_keys *keys, enum kube_kind kind, const char *ns);

/* Notes that the server refuses to list the kind: client records do not wait for it. */
void client_keys_lack(struct client_keys *keys, enum kube_kind kind, const char *ns);

/* Notes whether the server has refused the kind for so long that neither earlier lists nor etcd's
 * keys can be trusted. Without Namespaces, no namespace has a key, which hides it. Without pods,
 * their records stay, but an address may belong to another pod: no address identifies a client, and
 * none has a client record. With --namespaces the key that says so is not written: no process could
 * remove it. */
void client_keys_lose(struct client_keys *keys, enum kube_kind kind, bool is_lost);

/* ---- The reconciler's side ---- */

/* Returns "/kube2sky/<domain>/visible/", the prefix of the part's keys, each one segment longer.
 * Borrowed. */
struct slice client_keys_tree(const struct client_keys *keys, enum client_keys_part part);

/* Returns whether the part could have a key with this last segment: a label of an address, or of a
 * namespace. Other keys there are not kube2sky's. */
bool client_keys_is_name(enum client_keys_part part, struct slice segment);

/* Returns the value that the key should have, borrowed until the next call or change; ptr NULL:
 * none. */
struct slice client_keys_value(const struct client_keys *keys, struct slice key);

/* Returns a key of the part whose value has changed since it was last returned; ptr NULL: none.
 * Borrowed until the next call. */
struct slice client_keys_next_change(struct client_keys *keys, enum client_keys_part part);

/* Returns how many namespaces have no key, since all texts together are too long. */
size_t client_keys_left_out(const struct client_keys *keys);

/* Returns whether unwanted keys of the part may be deleted. */
bool client_keys_may_delete(const struct client_keys *keys, enum client_keys_part part);

/* Returns whether all wanted keys are known: client records wait for pods and Nodes. */
bool client_keys_are_known(const struct client_keys *keys);

/* Returns the number of pods or Nodes that client records are made of. */
size_t client_keys_count(const struct client_keys *keys, enum kube_kind kind);

#endif
