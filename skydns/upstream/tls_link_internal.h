/* Runs one TLS connection to an upstream for tls_pool.c: connects, shakes hands, sends and receives
 * messages. It knows nothing of questions. On the resolver's loop and thread, but for the steps of
 * the handshake, which tls_handshakes.h runs.
 *
 *     connecting ─▶ shaking hands (on the other thread, or waiting for the socket) ─▶ open ─▶ ended
 */
#ifndef SKYDNS_UPSTREAM_TLS_LINK_INTERNAL_H
#define SKYDNS_UPSTREAM_TLS_LINK_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/tls/tls_handshakes.h"
#include "skydns/external/nameserver.h"
#include "skydns/upstream/frame_reader_internal.h"

struct ssl_session_st;
struct tls_client;

enum {
    /* From the first packet to the end of the handshake: a question's default deadline, so that one
     * to a distant server can still be answered. */
    TLS_LINK_CONNECT_MS = 4000,
    /* Bounds the unsent bytes: 256 padded questions. Then the connection takes no more. */
    TLS_LINK_UNSENT_MAX = 256 * (2 + 384),
};

enum tls_link_state {
    TLS_LINK_CONNECTING,
    TLS_LINK_SHAKING,     /* waits for the socket */
    TLS_LINK_SHAKING_OUT, /* the other thread has the session */
    TLS_LINK_OPEN,
};

struct tls_link_user;

struct tls_link_config {
    struct ev_loop *loop;
    const struct nameserver *server; /* borrowed while the link lives */
    const struct tls_client *client; /* likewise */
    struct tls_handshakes *handshakes;
    struct ssl_session_st *const *ticket; /* the latest, to resume from; likewise */
    struct tls_link_user *user;           /* the owner */
};

struct tls_link {
    struct tls_link_config config;
    enum tls_link_state state;
    bool is_ending;
    struct err err; /* the reason for its end; code 0: nothing is wrong */
    ev_io io;
    ev_timer timer; /* the handshake's deadline; when open, that of being idle */
    struct tls_session *session;
    struct tls_handshake_job job;
    struct frame_reader reader;
    struct buf unsent;
};

/* Starts a connection. It does not fail: tls_pool_on_ended reports a failure later. */
void tls_link_init(struct tls_link *link, const struct tls_link_config *config);

/* Frees the connection. Call it in tls_pool_on_ended, or after tls_handshakes_stop: not while the
 * other thread has it. */
void tls_link_fini(struct tls_link *link);

/* Takes back a link's job. */
void tls_link_shaken(struct tls_handshake_job *job);

/* Ends the connection soon, from the loop. Code 0 (or err NULL): nothing is wrong. The first reason
 * counts. */
void tls_link_end(struct tls_link *link, const struct err *err);

/* Returns whether the connection is open, not ending, and takes another message. */
bool tls_link_has_room(const struct tls_link *link);

/* Sends a message at the end of this turn of the loop. */
void tls_link_send(struct tls_link *link, const uint8_t *message, size_t len);

/* Ends the connection if it stays idle for so long; negative: it is not idle. */
void tls_link_set_idle(struct tls_link *link, double idle_s);

/* ---- tls_pool.c ---- */

void tls_pool_on_opened(struct tls_link_user *user);
void tls_pool_on_message(struct tls_link_user *user, const uint8_t *message, size_t len);

/* Called once, from the loop; frees the link. Code 0: it was asked to end, or was idle. */
void tls_pool_on_ended(struct tls_link_user *user, const struct err *err);

#endif
