/* Runs TLS handshakes on threads of their own, so that no thread that answers waits for one. A
 * handshake takes up to a millisecond of CPU. The caller's loop watches the sockets, and has the
 * deadlines; a job is one step of one handshake, run when its socket is ready.
 *
 *     the loop's thread                      threads, at a low priority
 *     tls_handshakes_push(job) ─ queue ─▶    tls_session_handshake, one step
 *     tls_handshakes_pop ◀─ finished ─       config.wake, for several together
 *
 * Clients take turns: one that begins a thousand handshakes a second waits for them, one that
 * begins a single one does not. So a flood costs each of the others' handshakes one step of the
 * flood's, and the threads' share of the CPU, no more. The caller limits how many jobs there are:
 * one for each connection at most. */
#ifndef COMMON_TLS_TLS_HANDSHAKES_H
#define COMMON_TLS_TLS_HANDSHAKES_H

#include <stdbool.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/fair_queue.h"
#include "common/tls/tls_session.h"

struct tls_handshakes;

enum {
    /* Wakes the caller, while jobs wait, for several that have finished, not for each: when there
     * are so many, or one of them would wait so long. */
    TLS_TOGETHER_MAX = 16,
    TLS_TOGETHER_US = 1000, /* little beside a client's round trip */
};

/* Holds one handshake in the caller's memory; the pool has it from push to pop, with the session in
 * it. */
struct tls_handshake_job {
    struct fair_item turn;                /* its client is the caller's; the rest, and the next */
    TAILQ_ENTRY(tls_handshake_job) entry; /* one, are the pool's */
    struct tls_session *session;
    int fd; /* the caller's; not touched here */
    /* Set by the caller's thread while the pool has the job, if the handshake is no longer wanted.
     * Its step is then left out, as if the socket had to be awaited. */
    _Atomic bool is_unwanted;

    /* Result of the last step. */
    enum tls_want want; /* READ or WRITE: push again then; NOTHING: done, or `err` */
    struct err err;     /* code 0: no failure */
};

struct tls_handshakes_config {
    unsigned threads;         /* 1 to 16 */
    void (*wake)(void *data); /* on a thread of the pool: pop until there is nothing */
    void *data;
};

struct tls_handshakes *tls_handshakes_new(const struct tls_handshakes_config *config);
unsigned tls_handshakes_threads(const struct tls_handshakes *pool); /* Returns the config's number;
                                                                       any thread. */

/* Starts the threads, with the privileges of the others (privileges_drop_thread). */
int tls_handshakes_start(struct tls_handshakes *pool, struct err *err) MUST_CHECK;

/* Ends the threads after the step each is at. All jobs can be popped afterwards, complete or not.
 * The pool does not start again. */
void tls_handshakes_stop(struct tls_handshakes *pool);
void tls_handshakes_free(struct tls_handshakes *pool); /* call it after stop, with all jobs popped;
                                                          NULL is fine */

/* Adds a job. The caller's thread only, as tls_handshakes_pop. */
void tls_handshakes_push(struct tls_handshakes *pool, struct tls_handshake_job *job);
struct tls_handshake_job *tls_handshakes_pop(struct tls_handshakes *pool); /* returns NULL if none
                                                                              has finished */

#endif
