/* Owns everything that answers: the sockets, the UDP workers, the streams' thread (TLS, HTTPS,
 * HTTP, gRPC) if there are such addresses, and the resolver, which answers TCP and waits for
 * upstreams. Opened, started, stopped and freed on the main thread.
 *
 * Each address has one UDP socket and thread per worker (answering_sockets.h). */
#ifndef SKYDNS_ANSWERING_H
#define SKYDNS_ANSWERING_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/settings/options.h"
#include "skydns/tap/query_log.h"

struct answering;
struct client_counts;
struct dnstap;
struct namespace_rate;
struct rate_limit;
struct resolver;
struct passed_sockets;
struct publisher;
struct query_tap;
struct tls_server;
struct transfers;
struct worker;

/* Callback for zone transfers: transfers_config.wake. */
struct answering_wake {
    void (*fn)(void *data);
    void *data;
};

/* Opens everything; errors name the address and what to do. Copies the options; the publisher must
 * hold a configuration, and outlives the result, as does `tls`; NULL: there is no certificate.
 * `wake` NULL: no zones are transferred. Shares those of the sockets `passed` by another process
 * that fit, and reads none of them before the start; NULL: none. */
int answering_open(const struct options *options, struct publisher *publisher,
                   struct tls_server *tls, const struct answering_wake *wake,
                   const struct passed_sockets *passed, struct answering **ret_answering,
                   struct err *err) MUST_CHECK;

/* Starts the threads. After a failure, those already started run until the stop. */
int answering_start(struct answering *answering, struct err *err) MUST_CHECK;

/* Returns the sockets for another process to take over; borrowed until the stop. */
const struct passed_sockets *answering_offer(const struct answering *answering);

/* Leaves the sockets to another process that reads them: takes no more queries from them, answers
 * those that it has, and keeps each TCP connection until nothing has come on it for idle_ms. May be
 * called again, with a shorter time. The stop comes later. */
void answering_leave(struct answering *answering, uint32_t idle_ms);

/* Returns the open TCP connections, of all transports. */
uint64_t answering_connections(const struct answering *answering);

/* Answers what has arrived, then ends the threads, closes the UDP sockets, and logs the counts.
 * Does it once. */
void answering_stop(struct answering *answering);

void answering_free(struct answering *answering); /* stopped; NULL is fine */

/* Switches to the upstreams of these options, which are published. */
void answering_set_nameservers(struct answering *answering, const struct options *now);

/* Returns the dnstap, borrowed; NULL: none. */
const struct dnstap *answering_dnstap(const struct answering *answering);

struct query_tap *answering_tap(struct answering *answering); /* for samples; borrowed */

/* Returns the tables of clients of all threads that answer; borrowed. *ret_count 0: they are not
 * read. */
struct client_counts *const *answering_clients(const struct answering *answering,
                                               size_t *ret_count);

/* Sets the domain whose search lists are recognized: client_counts_set_domain. */
void answering_set_domain(struct answering *answering, const struct dname *domain);

/* Sets which queries get a line in the log from now on. */
void answering_set_query_log(struct answering *answering, struct query_log_rule rule);

/* Prints a line for each address and transport on which queries for this domain are answered:
 * people and scripts wait for it. `keys`: the names of those that sign them, or empty. */
void answering_log_ready(const struct answering *answering, const struct dname *domain,
                         const char *keys, uint32_t signatures_max);

/* Appends each address with its transport, "udp://10.0.0.10:53 tcp://10.0.0.10:53". */
void answering_addresses(const struct answering *answering, struct buf *out);

/* Return the parts for metrics; borrowed. */
struct resolver *answering_resolver(const struct answering *answering);
const struct rate_limit *answering_rate_limit(const struct answering *answering);
const struct namespace_rate *answering_namespace_rate(const struct answering *answering);
struct worker *const *answering_workers(const struct answering *answering, unsigned *ret_count);
struct metrics_streams answering_streams(const struct answering *answering);

/* Returns the transfers; NULL: zones cannot be transferred. */
struct transfers *answering_transfers(const struct answering *answering);

#endif
