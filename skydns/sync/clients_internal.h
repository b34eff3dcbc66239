/* Learns from etcd who clients are. The pods' keys (client_pods_internal.h) and what kube2sky
 * writes beside the records (client_marks_internal.h) fill the index. A domain's pods identify
 * clients only once it is known which of them share their address with a node. Off, it costs
 * nothing. Owned by store_sync.c; main thread.
 *
 *     store, version by version --> client_pods  --\
 *     etcd, node-address/       --> client_marks ---+--> client_index --> every answering thread
 *     etcd, client/             --> client_marks ---/
 *     etcd, topology/           --> client_marks --> the index's topology
 *     etcd, visible/            --> client_marks --> on_visible --> configuration */
#ifndef SKYDNS_SYNC_CLIENTS_INTERNAL_H
#define SKYDNS_SYNC_CLIENTS_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

struct broken_table;
struct buf;
struct client_index;
struct clients;
struct etcd;
struct publisher;
struct store;
struct visible_namespace;

struct clients_config {
    struct ev_loop *loop;
    struct etcd *etcd;           /* borrowed */
    struct publisher *publisher; /* borrowed */
    struct broken_table *broken; /* borrowed */
    int64_t stale_max_ms;
    struct slice saved; /* of clients_save, checked; borrowed until the first clients_set ends */
    struct slice saved_records;  /* likewise, of clients_save_records, */
    struct slice saved_topology; /* and of clients_save_topology */
    bool is_from_snapshot;
    /* Receives the lists (store_sync.h); may be NULL. */
    void (*on_visible)(void *data, const struct visible_namespace *listed, size_t count);
    void *on_visible_data;
    /* Called when clients_is_known has changed for a domain, or clients_are_settled. */
    void (*known)(void *data);
    /* Called after a change without a version: what was replaced may wait to be reclaimed. */
    void (*changed)(void *data);
    void *data;
};

/* Makes it for records that are a snapshot's until clients_confirm: they identify no client, since
 * an address may have passed to another pod. */
struct clients *clients_new(const struct clients_config *config);
void clients_free(struct clients *clients); /* no reader is left; NULL is fine */

/* Sets whether only metrics depend on clients: then it is no warning that etcd denies reading their
 * keys. Before clients_set. */
void clients_set_optional(struct clients *clients, bool is_optional);

/* Sets whether the zones of headless Services' addresses are wanted, too. Before clients_set. */
void clients_set_topology(struct clients *clients, bool wants_topology);

/* Turns it on or off, for domains in lower case. Does nothing if all is as before. */
void clients_set(struct clients *clients, bool is_on, const struct dname *domains, size_t count);

/* Confirms that the records are what etcd has. Does nothing the second time. */
void clients_confirm(struct clients *clients);

/* Notes that a name's record was put or deleted. */
void clients_note(struct clients *clients, const struct dname *name);

/* Makes the next version be read in full: until then, names need not be noted. */
void clients_read_again(struct clients *clients);

/* Follows a version. Call before it is published: its readers find its clients. */
void clients_follow(struct clients *clients, const struct store *store);

/* Remembers its broken keys again, after a full read of the records made the table forget them. */
void clients_remember_broken(struct clients *clients);

/* Appends what kube2sky writes of clients; nothing when off. Returns false if something is not
 * known yet. */
bool clients_save(const struct clients *clients, struct buf *out) MUST_CHECK;

/* Do the same for client records and topology keys (client_marks_internal.h). */
void clients_save_records(const struct clients *clients, struct buf *out);
void clients_save_topology(const struct clients *clients, struct buf *out);

/* Returns client_marks_explain_trouble; false when off. */
bool clients_explain_trouble(const struct clients *clients, struct buf *out);

const struct client_index *clients_index(const struct clients *clients);

/* Returns true if it is known who the domain's clients are and what they may see; false when off.
 */
bool clients_is_known(const struct clients *clients, const struct dname *domain);

/* Returns client_marks_are_settled; true when off. */
bool clients_are_settled(const struct clients *clients);

#endif
