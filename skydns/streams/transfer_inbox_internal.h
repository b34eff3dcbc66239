/* The messages of zone transfers on their way from the transfers' thread to the connections of a
 * loop: the resolver's for plain TCP, the streams' for TLS. A connection has one at a time in it,
 * so it holds at most as many as there are transfers. */
#ifndef SKYDNS_STREAMS_TRANSFER_INBOX_INTERNAL_H
#define SKYDNS_STREAMS_TRANSFER_INBOX_INTERNAL_H

#include <ev.h>
#include <pthread.h>

#include "skydns/streams/tcp_server.h"
#include "skydns/transfer/transfers.h"

struct transfer_inbox {
    struct ev_loop *loop;
    struct tcp_server *tcp;
    struct transfers *transfers;
    ev_async filled;
    pthread_mutex_t lock;
    struct transfer_parts parts;
};

/* Before the loop runs; transfers NULL: nothing comes. */
void transfer_inbox_init(struct transfer_inbox *inbox, struct ev_loop *loop, struct tcp_server *tcp,
                         struct transfers *transfers);
void transfer_inbox_fini(struct transfer_inbox *inbox); /* the loop does not run any more */

/* Any thread: takes it over. */
void transfer_inbox_put(struct transfer_inbox *inbox, struct transfer_part *part);

/* The loop's thread: passes a connection's query on. False: no room. */
bool transfer_inbox_ask(const struct transfer_inbox *inbox, const struct tcp_query *tcp,
                        const struct engine_query *query, struct tsig_keys *keys) MUST_CHECK;

#endif
