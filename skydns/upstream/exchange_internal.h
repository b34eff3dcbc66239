/* Sends one question to one upstream. Over UDP it uses a fresh socket (and so a random port) and a
 * random id, then TCP if the response is truncated; a server for TCP alone is asked over TCP at
 * once. It uses a connection of tls_pool.h if, and only if, the server is one for TLS. It omits
 * EDNS if the server does not know it.
 *
 * It accepts a response only from the server asked, with the id and the question sent, and ignores
 * anything else. After EXCHANGE_WRONG_IDS_MAX responses that are right but for the id, somebody is
 * guessing: then only TCP counts.
 *
 * A malformed response over UDP (response_check.h) may be forged, or cut on the way. The exchange
 * then tries TCP, and a right one over UDP still counts. It has no deadline of its own: its owner
 * frees it. On the resolver's loop and thread. */
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

/* Bounds the malformed responses over UDP that are parsed. Further ones are ignored, so that a
 * sender that knows the id cannot keep us busy. */
enum { EXCHANGE_MALFORMED_MAX = 8 };

/* Bounds the responses over UDP that are right but for the id, before UDP is closed: a sender that
 * knows the port has so many guesses at one of 65,536. No upstream sends one. */
enum { EXCHANGE_WRONG_IDS_MAX = 3 };

enum exchange_outcome {
    EXCHANGE_REPLIED,
    EXCHANGE_MALFORMED,   /* it responded, but with nothing usable */
    EXCHANGE_UNREACHABLE, /* or it closed the connection */
    EXCHANGE_STARVED,     /* not sent: we lacked a descriptor or a place */
};

/* Called once, not from inside exchange_start: with the response if REPLIED, borrowed during the
 * call, else NULL. Passes a truncated response only if TCP brought no better one. The owner frees
 * the exchange, in the call or later. */
typedef void (*exchange_cb)(void *data, enum exchange_outcome outcome,
                            struct parsed_response *reply);

struct exchange_config {
    struct ev_loop *loop;
    const struct nameserver *server; /* copied */
    bool random_case;                /* in the name's letters; the response must repeat it */
    bool without_edns;               /* the server is known to drop queries with it */
    struct tls_pool *tls;            /* borrowed; NULL: servers for TLS cannot be asked */
    struct dnstap *dnstap;           /* borrowed; NULL: none */
    const struct dname *zone;        /* borrowed: the server's zone, for dnstap; NULL: none */
    struct tcp_places *places;       /* borrowed; NULL: no client's question, which needs none */
    struct tcp_zone *zone_tcp;       /* the zone's use of these places; borrowed */
    struct tls_zone *zone_tls; /* the zone's use of TLS connections; NULL: zones have no share */
    const struct addr *client; /* the client whose shares it uses; borrowed */
    exchange_cb done;
    /* Called before `done`, at most once for each outcome. MALFORMED: the response over UDP is, and
     * there is none over TCP. UNREACHABLE: an ICMP message says so, which anybody can send that
     * guesses the port. A right response still counts, but another server should be asked. Not NULL
     * if `places` is not. */
    void (*doubted)(void *data, enum exchange_outcome outcome);
    void *data;
};

/* Starts an exchange. Returns NULL when the question could not be sent: *ret_outcome is
 * UNREACHABLE, or STARVED. */
struct exchange *exchange_start(const struct exchange_config *config,
                                const struct upstream_question *question,
                                enum exchange_outcome *ret_outcome);

/* Cancels the callback if it is still due. NULL is fine. */
void exchange_free(struct exchange *exchange);

/* Asks again over UDP after silence: with EDNS, since the query or the response may have been lost,
 * and without. The server, or a firewall before it, may drop queries with EDNS. Returns true when
 * it asked. A response without OPT then means that the server needs this. */
bool exchange_ask_plainly(struct exchange *exchange);

/* Returns whether the server is not silent: it sent something, if only a truncated or malformed
 * response. */
bool exchange_has_heard(const struct exchange *exchange);

/* Returns whether the question is unsent, and waits for nothing but a place of ours. */
bool exchange_is_starved(const struct exchange *exchange);

/* Returns whether all responses so far are malformed. TCP may still bring a right one. */
bool exchange_is_malformed(const struct exchange *exchange);

/* Returns the truncated response, while TCP is still being tried; empty: none. */
struct slice exchange_truncated(const struct exchange *exchange);

#endif
