/* Sends queries on to the nameservers and brings their replies back, unchanged: one server after
 * another until one answers, each try with a fresh random id from a fresh socket (and so a random
 * port). What arrives is taken only from the server asked, with the id and the question sent;
 * anything else is passed over and the wait goes on. On the resolver's loop and thread. */
#ifndef SKYDNS_FORWARDER_H
#define SKYDNS_FORWARDER_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/addr.h"
#include "common/attributes.h"
#include "skydns/engine.h"

struct forwarder;

struct forwarder_config {
    struct ev_loop *loop;
    const struct addr *servers; /* borrowed; may be none */
    size_t server_count;
    bool rotate;            /* the query's id chooses the first server; else always servers[0] */
    uint32_t timeout_ms;    /* of one try; there are server_count + 1 */
    size_t outstanding_max; /* queries under way at once; each has a descriptor */
};

/* Ten thousand queries a second to a server that takes a second each; 0.5 KB and a socket a query.
 */
enum { FORWARDER_OUTSTANDING_MAX = 10000 };

struct forwarder *forwarder_new(const struct forwarder_config *config);

/* Queries under way end without their callbacks, those included whose end is already waiting in the
 * loop. Not from inside a callback. */
void forwarder_drop_all(struct forwarder *forwarder);

/* The same; NULL is fine. */
void forwarder_free(struct forwarder *forwarder);

/* The reply with the server's id, borrowed during the call; NULL when every try failed. Called
 * once, never from inside forwarder_send. May send further queries. */
typedef void (*forwarder_cb)(void *data, const uint8_t *reply, size_t len);

/* Copies the query: one question, its id chooses the server. False, and no callback, when there
 * are no servers, too many queries under way, or the query has no readable question. */
bool forwarder_send(struct forwarder *forwarder, const uint8_t *query, size_t len,
                    enum engine_transport transport, forwarder_cb cb, void *data) MUST_CHECK;

size_t forwarder_outstanding(const struct forwarder *forwarder);

#endif
