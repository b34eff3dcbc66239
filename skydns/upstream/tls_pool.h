/* Keeps and shares TLS connections to upstreams (RFC 7858). Questions are sent one behind the
 * other; responses come in any order and are told apart by id and question.
 *
 *     tls_pool_ask ─▶ the connection with the fewest questions ─▶ response
 *           ╰ none yet: waits for the next one; an upstream has at most eight
 *
 * One connection does for an upstream that answers each question when it can. While all have
 * TLS_POOL_BUSY questions unanswered, another is opened, for upstreams that answer one after the
 * other. An idle one is closed after ten seconds, or when the upstream says so (RFC 7828), within
 * half a minute.
 *
 * Questions of a lost connection are asked again on another, once, and further while connections
 * answer anything at all before they end. A connection that answered nothing counts as a failure,
 * like one that could not be made. The next one waits 0.1 s, then twice as long and so on up to 10
 * s. Meanwhile questions are refused at once, so that the forwarder asks another upstream. Probes
 * and loop checks, which come once in a second or less, do not wait.
 *
 * The certificate must have the upstream's name (or address), by the CAs of a file or else the
 * system's; we present one of ours if there is one. A failure is logged once, and again when it
 * ends. Changed files are in force within TLS_POOL_REFRESH_S, for all connections: those made with
 * the old ones take no more questions.
 *
 * The expensive steps of handshakes run on a thread of their own, which starts with the first
 * connection. Without upstreams over TLS, nothing here costs anything. On the resolver's loop and
 * thread. */
#ifndef SKYDNS_UPSTREAM_TLS_POOL_H
#define SKYDNS_UPSTREAM_TLS_POOL_H

#include <ev.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/metrics.h"
#include "common/tls/tls_client.h"
#include "skydns/external/nameserver.h"

struct tls_pool;
struct tls_link_user;
struct tls_peer;

enum {
    TLS_POOL_LINKS_MAX = 8, /* connections to one upstream */
    /* Bounds all connections: 32 upstreams with as many as they may have. A connection takes some
     * 30 KB, so all take 8 MB. At the bound, one that no question holds makes room, or the question
     * waits.
     *
     * A connection is held by the question that waits longest on it. The question's client and zone
     * get no further one to hold when they have as many as are free. The question is then sent on
     * one that another's holds, or refused. So neither one client nor one zone, whose upstreams are
     * slow, has all. */
    TLS_POOL_CONNECTIONS_MAX = 256,
    /* Bounds the unanswered questions on one connection: an upstream that answers all at once has
     * 16 KiB to read, and few allow more. */
    TLS_POOL_ASKED_MAX = 256,
    TLS_POOL_BUSY = 32,
    /* Bounds the questions that wait for a connection to one upstream: ten thousand a second while
     * it takes 0.1 s to connect. Further ones are refused. */
    TLS_POOL_WAITING_MAX = 1024,
    /* Bounds the questions that are sent to one upstream or wait for it. A client gets no further
     * one when it has as many as are free; one that would wait gets none when it has as many as are
     * free of those that may wait. So names that an upstream is slow to answer leave room for
     * others'. */
    TLS_POOL_TAKEN_MAX = TLS_POOL_LINKS_MAX * TLS_POOL_ASKED_MAX + TLS_POOL_WAITING_MAX,
    /* Bounds the upstreams whose state is remembered: those that were asked last. A kilobyte each,
     * and a ticket of two or three. */
    TLS_POOL_PEERS_MAX = 1024,
    TLS_POOL_IDLE_S = 10,
    TLS_POOL_IDLE_MAX_S = 30,
    TLS_POOL_REFRESH_S = 3,
    TLS_POOL_BACKOFF_FIRST_MS = 100,
    TLS_POOL_BACKOFF_MAX_MS = 10000,
};

struct tls_pool_counts {
    /* Since the start: */
    alignas(COUNTERS_ALIGN) struct counter full, resumed; /* handshakes */
    struct counter failed;  /* connections that could not be made, or answered nothing */
    struct counter refused; /* questions without a place */
    /* Now: */
    struct counter connections;
};

/* How many connections the questions of one zone hold. */
struct tls_zone {
    size_t connections;
};

struct tls_pool_config {
    struct ev_loop *loop;
    size_t connections_max; /* to all upstreams; at most TLS_POOL_CONNECTIONS_MAX */
    struct tls_files files; /* their names are copied; without any, the system's CAs are read when
                             * they are first needed */
    double refresh_s;       /* TLS_POOL_REFRESH_S; shorter in tests */
};

/* Reads the files. Fails like tls_client_new. */
int tls_pool_new(const struct tls_pool_config *config, struct tls_pool **ret,
                 struct err *err) MUST_CHECK;

/* Ends all questions without their callbacks. NULL is fine. */
void tls_pool_free(struct tls_pool *pool);

/* Called from the loop, once: with the response, borrowed during the call, whose question and id
 * match. NULL: the upstream cannot be reached, or we have no descriptor (is_starved). */
typedef void (*tls_ask_cb)(void *data, const uint8_t *reply, size_t len);

/* A question, in the caller's memory until the callback or tls_pool_forget. */
struct tls_ask {
    /* Set by the caller: */
    uint8_t *query; /* its own; the pool changes its id */
    size_t len;
    bool is_urgent; /* a probe or a loop check: needs no place, and does not wait for the backoff of
                     * an upstream that failed */
    struct addr client;    /* the client whose share it takes; not known: no client's */
    struct tls_zone *zone; /* likewise, borrowed until the end; NULL: zones have no share */
    tls_ask_cb done;
    void *data;

    /* The pool's: */
    enum { TLS_ASK_NONE, TLS_ASK_WAITS, TLS_ASK_SENT, TLS_ASK_LOST } state;
    TAILQ_ENTRY(tls_ask) wait_entry;
    LIST_ENTRY(tls_ask) sent_entry;
    struct tls_peer *peer;
    struct tls_link_user *link;  /* SENT */
    struct tls_link_user *holds; /* the same, or the one that it waits for; NULL: neither */
    bool was_lost;               /* with a connection */
    bool is_starved;             /* set before `done`: we, not the upstream, are the reason */
    uint64_t round;              /* the round of attempts to connect that it waits for */
    int64_t sent_ms;
    uint64_t heard; /* messages on its connection before it was sent */
};

enum tls_pool_start {
    TLS_POOL_ASKED,
    TLS_POOL_FAILING, /* the upstream has just failed */
    TLS_POOL_FULL,    /* too many wait for it or for others, client or zone have their share of
                       * connections, or we are short of descriptors */
};

enum tls_pool_start tls_pool_ask(struct tls_pool *pool, const struct nameserver *server,
                                 struct tls_ask *ask) MUST_CHECK;

/* Returns whether the question waits for a connection that the upstream does not hold up: all have
 * as many questions as they may, or there are as many connections as there may be. Returns false
 * also for one that waits for nothing. */
bool tls_ask_is_starved(const struct tls_ask *ask);

/* Forgets the question: its response is not wanted any more. Does nothing if it waits for none. */
void tls_pool_forget(struct tls_ask *ask);

const struct tls_pool_counts *tls_pool_counts(const struct tls_pool *pool); /* any thread */

#endif
