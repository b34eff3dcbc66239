/* One question to one nameserver: a fresh socket (and so a random port) and a random id, over UDP,
 * then over TCP if the reply is truncated; or on a connection that tls_pool.h keeps, if the server
 * is one for TLS, and never otherwise; without EDNS if the server does not know it. Accepts a
 * reply only from the server asked, with the id and the question sent, and ignores anything else.
 * After EXCHANGE_WRONG_IDS_MAX replies that are right but for the id, somebody is guessing: then
 * only TCP counts.
 *
 * Such a reply over UDP that is malformed (response_check.h) may be forged, or cut on the way: TCP
 * is asked, and a right one over UDP still counts.
 *
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
struct parsed_response;
struct tcp_places;
struct tcp_zone;
struct tls_pool;

/* Malformed replies over UDP that are parsed; further ones are ignored, so that a sender that knows
 * the id cannot keep us busy. */
enum { EXCHANGE_MALFORMED_MAX = 8 };

/* Right replies over UDP with a wrong id, before it is closed: whoever knows the port has so many
 * guesses at one of 65,536. No nameserver sends one. */
enum { EXCHANGE_WRONG_IDS_MAX = 3 };

enum exchange_outcome {
    EXCHANGE_REPLIED,
    EXCHANGE_MALFORMED,   /* it replied, but nothing that can be used */
    EXCHANGE_UNREACHABLE, /* or closed the connection */
    EXCHANGE_STARVED,     /* it was not asked: there was no descriptor or place of ours */
};

/* Called once, not from inside exchange_start: with the reply if REPLIED, else NULL; borrowed
 * during the call. Passes a truncated reply only if TCP brought no better one. The owner frees the
 * exchange, in the call or later. */
typedef void (*exchange_cb)(void *data, enum exchange_outcome outcome,
                            struct parsed_response *reply);

struct exchange_config {
    struct ev_loop *loop;
    const struct nameserver *server; /* copied */
    bool random_case;                /* of the name's letters; the reply must repeat them */
    bool without_edns;               /* the server is known to drop queries with it */
    struct tls_pool *tls;            /* borrowed; NULL: servers for TLS cannot be asked */
    struct dnstap *dnstap;           /* borrowed; NULL: none */
    const struct dname *zone;        /* borrowed: whose server it is, for dnstap; NULL: none */
    struct tcp_places *places;       /* borrowed; NULL: no client's question, needs none */
    struct tcp_zone *zone_tcp;       /* of these places, those of its zone; borrowed */
    struct tls_zone *zone_tls; /* the same, of connections over TLS; NULL: zones have no share */
    const struct addr *client; /* whose shares it uses; borrowed */
    exchange_cb done;
    /* Called before `done`, at most once for each: MALFORMED: the reply over UDP is, and there is
     * none over TCP. UNREACHABLE: an ICMP message says so, which anybody can send that guesses the
     * port. A right reply is still waited for, but another server should be asked. Not NULL if
     * `places` is not. */
    void (*doubted)(void *data, enum exchange_outcome outcome);
    void *data;
};

/* NULL: the question could not be sent: *ret_outcome is UNREACHABLE, or STARVED. */
struct exchange *exchange_start(const struct exchange_config *config,
                                const struct upstream_question *question,
                                enum exchange_outcome *ret_outcome);

/* Cancels the callback if it is still due. NULL is fine. */
void exchange_free(struct exchange *exchange);

/* After silence, over UDP: asks again, with EDNS, since the query or the reply may have been lost,
 * and then without, since the server, or a firewall before it, may drop queries with EDNS. True: it
 * did. A reply without OPT then comes from a server that needs this. */
bool exchange_ask_plainly(struct exchange *exchange);

/* Whether the server said something, if only a truncated or malformed reply: it is not silent. */
bool exchange_has_heard(const struct exchange *exchange);

/* Whether it has not been sent yet, and waits for nothing but a place of ours. */
bool exchange_is_starved(const struct exchange *exchange);

/* Whether all that the server said is malformed; TCP may still bring a right reply. */
bool exchange_is_malformed(const struct exchange *exchange);

/* The truncated reply, while TCP is still being tried; empty: none. */
struct slice exchange_truncated(const struct exchange *exchange);

#endif
