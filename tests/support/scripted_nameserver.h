/* A nameserver on loopback that does what a test says, on the test's own loop: over UDP and TCP on
 * the same port, one connection at a time. Failures end the running cmocka test. */
#ifndef TESTS_SUPPORT_SCRIPTED_NAMESERVER_H
#define TESTS_SUPPORT_SCRIPTED_NAMESERVER_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"

struct scripted_nameserver {
    struct ev_loop *loop;
    ev_io udp;
    ev_io listener;
    ev_io connection; /* the last one; fd -1: none */
    struct addr address;
    unsigned seen; /* queries over UDP */
    unsigned connections;
    uint8_t message[512]; /* the last query, a script's to change */
    size_t len;
    struct addr client;                               /* who sent it over UDP */
    void (*script)(struct scripted_nameserver *);     /* for each datagram; NULL: silence */
    void (*tcp_script)(struct scripted_nameserver *); /* for each whole query; NULL: silence */
};

void scripted_nameserver_start(struct scripted_nameserver *ns, struct ev_loop *loop,
                               void (*script)(struct scripted_nameserver *));
void scripted_nameserver_stop(struct scripted_nameserver *ns);

/* The message, as it is now, to the client over UDP. */
void scripted_nameserver_send(struct scripted_nameserver *ns);

/* New connections are refused from now on. */
void scripted_nameserver_stop_listening(struct scripted_nameserver *ns);

void scripted_nameserver_close_connection(struct scripted_nameserver *ns);

/* An address where nobody is, over UDP nor TCP. */
struct addr scripted_nameserver_nowhere(void);

/* A UDP socket at such an address; *ret_tcp listens there. The caller closes both. */
int scripted_nameserver_sockets(struct addr *ret_address, int *ret_tcp);

#endif
