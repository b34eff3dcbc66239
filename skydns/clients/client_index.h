/* Finds which namespace a client's address belongs to: that of the pod with this address; and the
 * pod, its node and its zone where kube2sky says so. An address that pods of several namespaces
 * have, or that a pod shares with its node (hostNetwork), identifies nobody; nor does one whose
 * record names another namespace than the pods' keys.
 *
 *     pod/<namespace>/<address>, node-address/<address>, client/<address> --main thread--> index
 *     --> every answering thread, for each query: one look into a table, no lock, no wait
 *
 * Filled by the main thread from etcd's events (skydns/sync), read by any number of threads at the
 * same time. Readers see each change at once, or not yet, never half. A replaced block goes to
 * `retire`, which frees it when no reader can hold it (publisher_retire); readers look between
 * publisher_enter and publisher_leave. */
#ifndef SKYDNS_CLIENTS_CLIENT_INDEX_H
#define SKYDNS_CLIENTS_CLIENT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/slice.h"
#include "skydns/clients/client_record.h"

struct topology;
struct topology_service;

/* Index; has no limit of its own. An address has a pod's key in the record store, which takes
 * several times the 32 to 48 bytes that it takes here, or a node's or client's key
 * (client_marks_internal.h bounds those). */
struct client_index;

struct client_index_config {
    /* Takes over a block that readers may hold, and calls fn(block) once none can. */
    void (*retire)(void *data, void *block, void (*fn)(void *block));
    void *data;
};

struct client_index *client_index_new(const struct client_index_config *config);
void client_index_free(struct client_index *index); /* no reader is left; NULL is fine */

/* ---- Main thread ---- */

/* Add and remove a pod of this namespace (lower case, 1 to 63 bytes) that has the address: remove
 * as often as added. Readers see it at once, but for client_index_clear. Costs a few looks into
 * tables, however many pods have the address or the namespace. */
void client_index_add(struct client_index *index, const struct ip *ip, struct slice label);
void client_index_remove(struct client_index *index, const struct ip *ip, struct slice label);

/* Make an address identify nobody, and undo that as often as it was done. */
void client_index_bar(struct client_index *index, const struct ip *ip);
void client_index_unbar(struct client_index *index, const struct ip *ip);

/* Make a record, interning its texts (namespace as above; each other at most CLIENT_NAME_MAX
 * bytes); and drop it, once it is unset or the index cleared: it goes with the next commit. */
struct client_record *client_index_new_record(struct client_index *index, const struct ip *ip,
                                              const struct client_description *description);
void client_index_drop_record(struct client_index *index, struct client_record *record);

/* Set and unset the record of its address; and set one in place of another that is set: if both
 * have one namespace, no reader finds the address without it. A record counts as a pod of its
 * namespace. Of several records of one address, from several domains, the first one describes the
 * client. */
void client_index_set_record(struct client_index *index, struct client_record *record);
void client_index_unset_record(struct client_index *index, const struct client_record *record);
void client_index_replace_record(struct client_index *index, const struct client_record *old,
                                 struct client_record *record);

/* Forgets everything but the existence of records; readers see this, and what is added or set from
 * now on, with client_index_commit. Another call before that starts over. */
void client_index_clear(struct client_index *index);

/* Commits a batch of changes: retires what they replaced, in one block. */
void client_index_commit(struct client_index *index);

/* Counts for tests and measurements. */
struct client_index_counts {
    size_t addresses; /* of which anything is known */
    size_t shared;    /* of them, those that more than one pod has, or a node */
    size_t spaces;    /* namespaces */
    size_t records;   /* set or not */
    size_t bytes;     /* of memory, about */
};

struct client_index_counts client_index_counts(const struct client_index *index);

/* Everything known of an address: why it identifies nobody. Main thread. */
struct client_index_entry {
    size_t pods;   /* that have it */
    size_t spaces; /* of these pods */
    size_t bars;   /* 0: it is not a node's */
};

struct client_index_entry client_index_entry(const struct client_index *index, const struct ip *ip);

/* Returns the namespace of an address; NULL: it identifies nobody. Valid until publisher_leave. Any
 * thread. */
const struct client_space *client_index_find(const struct client_index *index, const struct ip *ip);

/* Does the same, and sets *ret_zone to the client's zone; NULL: it is not known. */
const struct client_space *client_index_find_zone(const struct client_index *index,
                                                  const struct ip *ip,
                                                  const struct client_name **ret_zone);

/* Returns the zones of headless Services' addresses, which come and go with the index. */
struct topology *client_index_topology(const struct client_index *index);

/* Set and remove a Service's zones, as topology_put and topology_remove do. Main thread. */
void client_index_put_topology(struct client_index *index, struct topology_service *service);
void client_index_remove_topology(struct client_index *index, struct slice name);

/* Describes the client with the address. Returns false, with all empty, if it identifies nobody.
 * Borrowed until publisher_leave; on the main thread until the loop turns. Any thread. */
bool client_index_describe(const struct client_index *index, const struct ip *ip,
                           struct client_description *ret_description);

#endif
