/* Asks the nameservers one after another until one answers. Identical questions share one in
 * flight: a later asker waits for the same reply.
 *
 *     forwarder_ask -- new question --> try 1 --(silence)--> try 2 --> ... first server again
 *                  \ same question --> waits with it          |  the first good reply, from
 *                                                             v  whichever try, ends it
 *
 * Makes one try more than there are servers, spread over twice the timeout; a try keeps listening
 * when the next one starts, so that a slow server's reply still counts, unless half of all sockets
 * are open. Moves on at once from an
 * unreachable server, and avoids one that failed twice in a row as long as another lives
 * (upstreams.h), until it answers a probe. Accepts SERVFAIL and REFUSED as an answer if no other
 * server has a better one. If all servers are dead, tries them anyway.
 *
 * On the resolver's loop and thread. */
#ifndef SKYDNS_UPSTREAM_FORWARDER_H
#define SKYDNS_UPSTREAM_FORWARDER_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "skydns/upstream/upstream_message.h"
#include "skydns/upstream/upstreams.h"

struct forwarder;
struct forwarder_counts;

struct forwarder_config {
    struct ev_loop *loop;
    bool random_case;   /* of the names sent: 0x20 */
    size_t sockets_max; /* open at once; one per try */
    /* Something looks like a loop: a question that waits for a nameserver is asked again, or a dead
     * nameserver answers, maybe not as before. Often called, and for nothing as a rule. May be
     * NULL. */
    void (*suspect_loop)(void *data);
    void *data;
};

/* Ten thousand questions a second to a server that takes a second each; 2 KB and a socket per
 * question. */
enum { FORWARDER_SOCKETS_MAX = 10000 };

/* Has no servers until forwarder_set_servers. */
struct forwarder *forwarder_new(const struct forwarder_config *config);

struct forwarder_servers {
    const struct addr *items; /* copied */
    size_t count;             /* at most UPSTREAMS_MAX */
    bool rotate;              /* the asker chooses the first server; else always items[0] */
    uint32_t timeout_ms;      /* per try; after twice that, the question fails */
};

/* Applies to later questions. */
void forwarder_set_servers(struct forwarder *forwarder, const struct forwarder_servers *servers);

/* What a loop check says of the server: whether it is used from now on. */
void forwarder_judge_server(struct forwarder *forwarder, const struct addr *server,
                            enum upstream_verdict verdict);

/* Ends the questions in flight without their callbacks, including those whose end is already
 * pending in the loop. Not from inside a callback. */
void forwarder_drop_all(struct forwarder *forwarder);

/* The same; NULL is fine. */
void forwarder_free(struct forwarder *forwarder);

/* The reply with the server's id, borrowed during the call; NULL: none. Called once, never from
 * inside forwarder_ask. May ask further questions. */
typedef void (*forwarder_cb)(void *data, const uint8_t *reply, size_t len);

/* `rotation` chooses the first server. False, and no callback, if there are no servers or too many
 * sockets are open. */
bool forwarder_ask(struct forwarder *forwarder, const struct upstream_question *question,
                   unsigned rotation, forwarder_cb cb, void *data) MUST_CHECK;

/* During a forwarder_cb: a number for what it passes on, the same for all who share it. */
uint64_t forwarder_reply_number(const struct forwarder *forwarder);

/* Any thread; borrowed. */
const struct forwarder_counts *forwarder_counts(const struct forwarder *forwarder);

#endif
