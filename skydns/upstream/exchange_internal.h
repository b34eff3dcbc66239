/* One question to one nameserver: a fresh socket (and so a random port) and a random id, over UDP,
 * then over TCP if the reply is truncated; or on a connection that tls_pool.h keeps, if the server
 * is one for TLS, and never otherwise; without EDNS if the server does not know it. Accepts a
 * reply only from the server asked, with the id and the question sent, and ignores anything else.
 * No time limit of its own: its owner frees it. On the resolver's loop and thread. */
#ifndef SKYDNS_UPSTREAM_EXCHANGE_INTERNAL_H
#define SKYDNS_UPSTREAM_EXCHANGE_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "skydns/external/nameserver.h"
#include "skydns/upstream/upstream_message.h"

struct dname;
struct dnstap;
struct exchange;
struct forwarder_counts;
struct tls_pool;

/* Exchanges over TCP at once, of those that are counted: 64 KiB each while a slow server sends, so
 * 16 MiB; enough for 256 long replies a second of servers that take a second. Beyond that, the
 * truncated reply must do. */
enum { EXCHANGE_TCP_MAX = 256 };

/* Called once, not from inside exchange_start: with the reply, borrowed during the call; or NULL if
 * the server is unreachable or closed the connection. Passes a truncated reply only if TCP brought
 * no better one. The owner frees the exchange, in the call or later. */
typedef void (*exchange_cb)(void *data, const uint8_t *reply, size_t len);

struct exchange_config {
    struct ev_loop *loop;
    const struct nameserver *server; /* copied */
    bool random_case;                /* of the name's letters; the reply must repeat them */
    struct tls_pool *tls;            /* borrowed; NULL: servers for TLS cannot be asked */
    struct dnstap *dnstap;           /* borrowed; NULL: none */
    const struct dname *zone;        /* borrowed: whose server it is, for dnstap; NULL: none */
    struct forwarder_counts *counts; /* borrowed; NULL: not a client's question, do not count */
    exchange_cb done;
    void *data;
};

/* NULL: the question could not be sent (no route, no descriptor). */
struct exchange *exchange_start(const struct exchange_config *config,
                                const struct upstream_question *question);

/* Cancels the callback if it is still due. NULL is fine. */
void exchange_free(struct exchange *exchange);

/* The truncated reply, while TCP is still being tried; empty: none. */
struct slice exchange_truncated(const struct exchange *exchange);

#endif
