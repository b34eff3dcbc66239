/* Learns from etcd who clients are: the pods' keys (client_pods_internal.h) and what kube2sky keeps
 * beside the records (client_marks_internal.h) fill the index. Nobody is identified by a domain's
 * pods before it is known which of them share their address with a node. Off, it costs nothing.
 * Owned by store_sync.c; main thread.
 *
 *     store, version by version --> client_pods  --\
 *     etcd, node-address/       --> client_marks ---+--> client_index --> every answering thread
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
    struct slice saved; /* of clients_save, checked; copied; for the first clients_set alone */
    bool is_from_snapshot;
    /* store_sync.h; may be NULL. */
    void (*on_visible)(void *data, const struct visible_namespace *listed, size_t count);
    void *on_visible_data;
    /* clients_is_known says something else of a domain, or clients_are_settled at all. */
    void (*known)(void *data);
    /* Something changed that no version did: what was replaced may wait to be reclaimed. */
    void (*changed)(void *data);
    void *data;
};

/* The records that are followed are a snapshot's until clients_confirm: nobody is identified by
 * them, since an address may have passed to another pod. */
struct clients *clients_new(const struct clients_config *config);
void clients_free(struct clients *clients); /* no reader is left; NULL is fine */

/* Lower case. Nothing happens if they are the same as before. */
void clients_set(struct clients *clients, bool is_on, const struct dname *domains, size_t count);

/* The records are what etcd has. Nothing happens the second time. */
void clients_confirm(struct clients *clients);

/* A name's record was put or deleted. */
void clients_note(struct clients *clients, const struct dname *name);

/* Names need not be noted until the next version: all is read again. */
void clients_read_again(struct clients *clients);

/* Before the version is published: its readers find its clients. */
void clients_follow(struct clients *clients, const struct store *store);

/* The broken keys were forgotten with a full read of the records. */
void clients_remember_broken(struct clients *clients);

/* Appends what kube2sky keeps; nothing when off. False: something is not known yet. */
bool clients_save(const struct clients *clients, struct buf *out) MUST_CHECK;

/* client_marks_explain_trouble; false when off. */
bool clients_explain_trouble(const struct clients *clients, struct buf *out);

const struct client_index *clients_index(const struct clients *clients);

/* Whether it is known who the domain's clients are and what they may see; false when off. */
bool clients_is_known(const struct clients *clients, const struct dname *domain);

/* client_marks_are_settled; true when off. */
bool clients_are_settled(const struct clients *clients);

#endif
