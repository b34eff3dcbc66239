/* Connects to a sink of dnstap messages: Frame Streams (libfstrm) over a socket of ours that never
 * blocks for good. libfstrm's own sockets would: on a sink that does not accept, on one that does
 * not read, and at the end on one that does not confirm. On the sender's thread, except
 * dnstap_link_stop. */
#ifndef SKYDNS_DNSTAP_DNSTAP_LINK_INTERNAL_H
#define SKYDNS_DNSTAP_DNSTAP_LINK_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/dnstap/dnstap.h"

enum {
    /* Limits connecting, and the sink's part of the handshake; a healthy one takes milliseconds. */
    DNSTAP_LINK_OPEN_MS = 5000,
    /* Timeout of a sink that has not read a byte: its host may be gone. */
    DNSTAP_LINK_STALL_MS = 10000,
    DNSTAP_LINK_FRAMES_MAX = 64, /* of one dnstap_link_send: twice as many pieces, one sendmsg */
};

struct fstrm_writer;

struct dnstap_link {
    struct dnstap_target target;
    int wake;                    /* eventfd, owned; readable: somebody has work for the sender */
    _Atomic int64_t stop_ms;     /* monotonic; 0: not stopping; then every wait ends by that time */
    int fd;                      /* -1: not connected */
    int64_t until_ms;            /* of the step under way; 0: each write has its own */
    int code;                    /* of what broke the connection */
    struct fstrm_writer *writer; /* NULL: not connected */
};

int dnstap_link_init(struct dnstap_link *link, const struct dnstap_target *target,
                     struct err *err) MUST_CHECK;
/* Tells a connected sink that this is the end, and waits for its confirmation. */
void dnstap_link_fini(struct dnstap_link *link);

/* Sets the time by which everything ends from now on, and wakes the sender. Any thread. */
void dnstap_link_stop(struct dnstap_link *link, int64_t until_ms);
/* Makes dnstap_link_rest return. Any thread. */
void dnstap_link_wake(const struct dnstap_link *link);

/* Connects, once. Fails with a negative code and err if the sink is away or refuses. */
int dnstap_link_open(struct dnstap_link *link, struct err *err) MUST_CHECK;
bool dnstap_link_is_open(const struct dnstap_link *link);
/* Closes the connection after a failure. */
void dnstap_link_close(struct dnstap_link *link);

/* Waits for the sink to take all frames. Fails with a negative code if some of them are lost. */
int dnstap_link_send(struct dnstap_link *link, const struct slice *frames, size_t count,
                     struct err *err) MUST_CHECK;

/* Waits at most that long (-1: for ever) for dnstap_link_stop or dnstap_link_wake. Fails with a
 * negative code if the sink closes the connection meanwhile. */
int dnstap_link_rest(struct dnstap_link *link, int timeout_ms, struct err *err) MUST_CHECK;

static inline bool dnstap_link_is_stopping(const struct dnstap_link *link)
{
    return atomic_load_explicit(&link->stop_ms, memory_order_acquire) != 0;
}

#endif
