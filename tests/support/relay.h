/* A TCP relay on the test's own loop, between a client and a server on 127.0.0.1, that loses
 * replies, keeps requests back, and cuts connections at the moment that the test chooses. */
#ifndef TESTS_SUPPORT_RELAY_H
#define TESTS_SUPPORT_RELAY_H

#include <ev.h>
#include <stddef.h>

struct relay;

enum relay_mode {
    RELAY_OPEN,
    RELAY_MUTE, /* what the server says is thrown away */
    RELAY_HOLD, /* what the client says is kept back; see relay_deliver */
};

/* Listens on a free port of 127.0.0.1; every connection leads to this port. */
struct relay *relay_new(struct ev_loop *loop, unsigned port);
void relay_free(struct relay *relay);

const char *relay_url(const struct relay *relay); /* "http://127.0.0.1:PORT" */

/* Of the connections there are, and the new ones. */
void relay_set(struct relay *relay, enum relay_mode mode);

/* Bytes kept back so far, those of connections that were cut among them. */
size_t relay_held(const struct relay *relay);

/* Bytes of the server's that found no client any more. */
size_t relay_unheard(const struct relay *relay);

/* Closes every connection of a client. The server does not hear of it where something is kept back
 * for it. */
void relay_cut(struct relay *relay);

/* Hands the server what was kept back for it, also from clients that are gone. */
void relay_deliver(struct relay *relay);

#endif
