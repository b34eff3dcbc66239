/* Serves plain DNS over TCP (RFC 1035 4.2.2): a tcp_server on the resolver's loop. Queries are
 * answered in the resolver's turns and wait there, too. Created and freed on the main thread while
 * the resolver's thread does not run; all else on that thread, except as noted. */
#ifndef SKYDNS_STREAMS_PLAIN_TCP_H
#define SKYDNS_STREAMS_PLAIN_TCP_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

struct listen_socket;
struct plain_tcp;
struct namespace_rate;
struct resolver;
struct transfer_part;
struct transfers;

/* Parts of the program, all borrowed until plain_tcp_free. */
struct plain_tcp_config {
    const struct listen_socket *sockets; /* a successful plain_tcp_new takes them over */
    size_t socket_count;
    size_t connections_max; /* at most TCP_CONNECTIONS_MAX: process_limits.h */
    struct resolver *resolver;
    struct transfers *transfers; /* NULL: none */
    struct namespace_rate *namespace_rate;
};

/* Makes it; call before resolver_start. Fails if no descriptor is left. */
int plain_tcp_new(const struct plain_tcp_config *config, struct plain_tcp **ret_tcp,
                  struct err *err) MUST_CHECK;

/* Sends a message of a zone transfer; takes it over. Any thread. */
void plain_tcp_send_part(struct plain_tcp *tcp, struct transfer_part *part);

/* Leaves the sockets to another process: accepts no more connections, and closes each once it is
 * quiet for idle_ms (tcp_server_leave). Main thread. */
void plain_tcp_leave(struct plain_tcp *tcp, uint32_t idle_ms);

/* Makes the server accept no more connections, and end each once it has its answers. Main thread,
 * before resolver_stop, which waits for that. */
void plain_tcp_stop(struct plain_tcp *tcp);

void plain_tcp_free(struct plain_tcp *tcp); /* before the resolver; NULL is fine */

#endif
