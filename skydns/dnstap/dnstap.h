/* Shows queries and responses to a sink, as dnstap defines (dnstap.info): Frame Streams over a Unix
 * socket or TCP. Threads that answer copy each message into a queue of their own and never wait; a
 * thread sends what is in the queues. While the sink is away or slow they fill up, and messages
 * that find no room are dropped. Connects again and again, with growing delays up to
 * DNSTAP_AWAY_MAX_MS. */
#ifndef SKYDNS_DNSTAP_DNSTAP_H
#define SKYDNS_DNSTAP_DNSTAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/dnstap/dnstap_event.h"

enum {
    DNSTAP_STOP_MS = 1000, /* an exit waits for the sink no longer; a pod has 30 s in all */
    DNSTAP_AWAY_MAX_MS = 5000,
    /* Limits the threads that answer, each with a queue: workers, streams, the resolver and its
     * pool. */
    DNSTAP_THREADS_MAX = 80,
};

/* Sink of the messages: the value of -dnstap. All zero: nowhere. */
struct dnstap_target {
    bool is_set;
    bool is_unix;
    struct sockaddr_un unix_path; /* if is_unix */
    struct addr address;          /* else */
};

enum { DNSTAP_TARGET_TEXT_MAX = sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof("unix:") };

/* Parses `unix:PATH` or `tcp://IP:port`; "" is nowhere. A path has at most 107 bytes, as the kernel
 * has it, and is absolute, as nobody knows where a service runs. ERR_USAGE. Pure. */
int dnstap_target_parse(const char *text, struct dnstap_target *ret_target,
                        struct err *err) MUST_CHECK;

/* Writes the target in the same form. Returns out. */
const char *dnstap_target_format(const struct dnstap_target *target,
                                 char out[DNSTAP_TARGET_TEXT_MAX]);

struct dnstap;

struct dnstap_counts {
    bool is_connected;
    uint64_t written; /* messages that the sink has been sent */
    uint64_t dropped; /* for lack of room, or lost with a connection */
};

/* Makes it; does nothing yet. */
int dnstap_new(const struct dnstap_target *target, struct dnstap **ret_dnstap,
               struct err *err) MUST_CHECK;
void dnstap_free(struct dnstap *dnstap); /* stopped; NULL is fine */

/* Starts the thread that sends, with the caller's mask of signals. Main thread. */
int dnstap_start(struct dnstap *dnstap, struct err *err) MUST_CHECK;

/* Sends what is queued, and drops what is left after timeout_ms. Call after the threads that answer
 * have ended. Without effect if not started. */
void dnstap_stop(struct dnstap *dnstap, int64_t timeout_ms);

/* Shows a message. Any thread that answers, at most DNSTAP_THREADS_MAX of them. A thread's first
 * message allocates its queue. */
void dnstap_show(struct dnstap *dnstap, const struct dnstap_event *event);

/* Returns the counts. Any thread. NULL is none. */
struct dnstap_counts dnstap_counts(const struct dnstap *dnstap);

/* Returns the Unix time for events. */
int64_t dnstap_now_ns(void);

#endif
