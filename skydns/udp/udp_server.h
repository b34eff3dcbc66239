/* Serves one worker's UDP socket and its current batch of packets: recvmmsg, then sendmmsg, and
 * nothing else. Several sockets share the address (SO_REUSEPORT), and the kernel spreads the
 * clients over them; all workers receive from the same socket if systemd passed it. The socket
 * blocks and is in no epoll set: registration alone costs a tenth of the time of an answer. Handles
 * bytes and addresses, no DNS.
 *
 *     main thread                  worker's thread                     resolver's thread
 *     udp_server_new
 *                                  n = udp_server_receive -> packets
 *                                  ... fills in the packets' replies   udp_server_send_one
 *                                  udp_server_send, perhaps again
 *     udp_server_stop ........... receive: what is queued, then 0
 *     udp_server_free (threads gone) */
#ifndef SKYDNS_UDP_UDP_SERVER_H
#define SKYDNS_UDP_UDP_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/wire/response.h"

struct reply_to;
struct udp_server;

enum {
    /* Limits packets per system call; 8, 32 and 64 measured 3, 2 and 0 % above the best. */
    UDP_BATCH = 64,
    /* Limits a query: it has at most 12 + 255 + 4 bytes plus its EDNS options; anything larger than
     * an Ethernet frame is not a query. */
    UDP_QUERY_MAX = 1472,

    /* Takes the kernel's times for the packets of one batch in so many: they cost a copy for each
     * packet, and two system calls for the batch. */
    UDP_TIMED_BATCHES = 64,
};

struct udp_server_config {
    const struct listen_socket *socket; /* taken over; the server closes its descriptor */
    size_t reply_max;                   /* bytes of the reply buffers: 512 to 65,507 */
};

/* Packet of the batch. The worker fills in the response; the rest is read-only. */
struct udp_packet {
    const uint8_t *query;
    size_t query_len; /* 0: longer than UDP_QUERY_MAX */
    const struct addr *client;
    const struct addr *local; /* the address it was sent to, also on a wildcard socket */
    int64_t received_ns;      /* Unix time at which the kernel had it; 0: not asked for */
    struct response response; /* of reply_max bytes */
};

/* Makes the server. Fails, and closes the socket, if a required socket option is missing. */
int udp_server_new(const struct udp_server_config *config, struct udp_server **ret_server,
                   struct err *err) MUST_CHECK;
void udp_server_free(struct udp_server *server); /* NULL is fine */

/* Returns the size the kernel granted; less than UDP_RECEIVE_BUFFER if it allowed no more. */
enum { UDP_RECEIVE_BUFFER = 4 << 20 }; /* the default holds 277 small packets: loss at half load */
size_t udp_server_receive_buffer(const struct udp_server *server);

/* Blocks until a packet arrives; returns the number of packets (1 to UDP_BATCH), or 0 once the
 * server is stopped and has returned everything that had arrived before. The packets are the
 * server's, valid until the next call. */
size_t udp_server_receive(struct udp_server *server, struct udp_packet **ret_packets);

/* Sends the responses of the batch, and sets their length to 0: the next call sends only what the
 * worker fills in later. Returns how many failed. */
size_t udp_server_send(struct udp_server *server);

/* Sends one response from the address that was asked. Any thread; never waits: a response that does
 * not fit the socket's buffer is lost, as on any network. Returns false if it was not sent. */
bool udp_server_send_one(const struct udp_server *server, const struct addr *client,
                         const struct addr *local, const uint8_t *reply, size_t len);

/* Returns the same for queries deferred to the resolver; borrowed. */
const struct reply_to *udp_server_reply_to(const struct udp_server *server);

/* Closes the socket of a stopped server whose worker has ended, if no response is to be sent:
 * another process has it, and would not be its only one. */
void udp_server_close(struct udp_server *server);

/* Returns the socket, borrowed. */
int udp_server_fd(const struct udp_server *server);

/* Stops the server and wakes the worker; sending remains possible. Any thread. */
void udp_server_stop(struct udp_server *server);

#endif
