/* A nameserver on loopback, scripted by the test and on its loop: UDP and TCP on the same port, one
 * TCP connection at a time. Failures fail the running cmocka test. */
#ifndef TESTS_SUPPORT_SCRIPTED_NAMESERVER_H
#define TESTS_SUPPORT_SCRIPTED_NAMESERVER_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"

enum { SCRIPTED_TRIES_MAX = 256 };

struct scripted_nameserver {
    struct ev_loop *loop;
    ev_io udp;
    ev_io listener;
    ev_io connection; /* the latest; fd -1: none */
    struct addr address;
    unsigned seen;  /* queries over UDP */
    unsigned tries; /* of them, those from another port, or with another id, than any before */
    uint32_t known[SCRIPTED_TRIES_MAX]; /* ports and ids of these; later ones count as new */
    unsigned connections;
    uint8_t message[512]; /* the last query; a script may edit it in place */
    size_t len;
    struct addr client;                               /* its sender over UDP */
    void (*script)(struct scripted_nameserver *);     /* per datagram; NULL: never replies */
    void (*tcp_script)(struct scripted_nameserver *); /* per complete query; NULL: never replies */
};

void scripted_nameserver_start(struct scripted_nameserver *ns, struct ev_loop *loop,
                               void (*script)(struct scripted_nameserver *));
void scripted_nameserver_stop(struct scripted_nameserver *ns);

/* Sends `message` to the client over UDP. */
void scripted_nameserver_send(struct scripted_nameserver *ns);

/* Refuses new connections from now on. */
void scripted_nameserver_stop_listening(struct scripted_nameserver *ns);

void scripted_nameserver_close_connection(struct scripted_nameserver *ns);

/* An address where nobody listens, over UDP or TCP. */
struct addr scripted_nameserver_nowhere(void);

/* A UDP socket bound to such an address; *ret_tcp listens there. The caller closes both. */
int scripted_nameserver_sockets(struct addr *ret_address, int *ret_tcp);

#endif
