/* Lists sockets that one process passes to another, each with what it is for: those of a running
 * skydns that a new one takes over (handover/). Main thread.
 *
 * The receiver believes nothing of the list: it asks the kernel for the address and the type of
 * each socket. */
#ifndef SKYDNS_LISTEN_PASSED_SOCKETS_H
#define SKYDNS_LISTEN_PASSED_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/wire/query.h"

enum {
    PASSED_SOCKETS_MAX = 128, /* 64 workers, 16 addresses of TCP and of streams, the pages: 98 */
    /* Codes beside those of the transports (passed_code). Two versions of skydns must agree on
     * them: never change one. */
    PASSED_PAGES = 'p',   /* -http-addr */
    PASSED_METRICS = 'm', /* PROMETHEUS_PORT */
};

struct passed_sockets {
    size_t count;
    struct passed_socket {
        char code;
        int fd;
        struct addr address;
    } items[PASSED_SOCKETS_MAX];
};

/* Returns the code of a transport. */
char passed_code(enum engine_transport transport);

/* Adds a socket; beyond the limit it is left out. */
void passed_sockets_add(struct passed_sockets *sockets, char code, int fd,
                        const struct addr *address);

/* Adds a socket that came from another process, whose descriptor it takes over; closes it if it is
 * not what its code says, or is of a code that this version does not know. */
void passed_sockets_take(struct passed_sockets *sockets, char code, int fd);

/* Returns the nth socket with this code and address; -1: there is none. Borrowed. */
int passed_sockets_find(const struct passed_sockets *sockets, char code, const struct addr *address,
                        size_t nth);

/* Returns how many there are with this code and address. */
size_t passed_sockets_count(const struct passed_sockets *sockets, char code,
                            const struct addr *address);

/* Returns a descriptor of one's own for one of these sockets, or the code of an error. */
int passed_sockets_share(int fd, struct err *err) MUST_CHECK;

void passed_sockets_close(struct passed_sockets *sockets);

#endif
