/* A TCP relay on the test's own loop, between a client and a server on 127.0.0.1, that drops
 * replies, holds requests back, and cuts connections when the test says. */
#ifndef TESTS_SUPPORT_RELAY_H
#define TESTS_SUPPORT_RELAY_H

#include <ev.h>
#include <stddef.h>

struct relay;

enum relay_mode {
    RELAY_OPEN,
    RELAY_MUTE, /* drops the server's bytes */
    RELAY_HOLD, /* holds the client's bytes back; see relay_deliver */
};

/* Listens on a free port of 127.0.0.1; forwards every connection to this port. */
struct relay *relay_new(struct ev_loop *loop, unsigned port);
void relay_free(struct relay *relay);

const char *relay_url(const struct relay *relay); /* "http://127.0.0.1:PORT" */

/* For existing and new connections. */
void relay_set(struct relay *relay, enum relay_mode mode);

/* Bytes held back, including those of connections that were cut. */
size_t relay_held(const struct relay *relay);

/* Bytes from the server whose client was gone. */
size_t relay_unheard(const struct relay *relay);

/* Closes every client's connection. The server's side stays open if bytes are held back for it. */
void relay_cut(struct relay *relay);

/* Sends the server all bytes held back for it, even those of clients that are gone. */
void relay_deliver(struct relay *relay);

#endif
