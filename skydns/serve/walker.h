/* A thread for answers that visit thousands of records (ENGINE_DEFER_WALK), so that forwarding,
 * external names and TCP never wait for one. It has an engine and a reader of its own and answers
 * one query after another, from the version current when it begins; the engine keeps finished walks
 * of that version (walk_cache_internal.h), so that asking again costs no walk.
 *
 *     resolver's thread                    walker's thread
 *     walker_push(query) -- queue -->      engine_answer, with may_walk
 *     walker_pop <-- finished --           config.wake
 *
 * Clients take turns: whoever asks for many walks waits for them, whoever asks for one does not.
 * A walk takes WALK_MS at most, and none begins after WALK_WAIT_MS in the queue, when its client
 * has asked again: both are refused. The resolver limits how many are pushed (RESOLVER_WALKS_MAX),
 * hence also what waits to be popped. Nothing here sends or counts. */
#ifndef SKYDNS_SERVE_WALKER_H
#define SKYDNS_SERVE_WALKER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/client_net.h"
#include "common/base/err.h"
#include "skydns/answer/deferral.h"
#include "skydns/answer/query.h"

struct engine;
struct publisher_reader;
struct walker;

enum {
    WALK_MS = 1000,      /* twenty times a domain with 30,000 services */
    WALK_WAIT_MS = 4000, /* most clients give up after 5 s */
};

/* A query, and then its result. The resolver owns it but while it is pushed. */
struct walk {
    TAILQ_ENTRY(walk) entry;
    void *data; /* the pusher's */
    struct addr client, local;
    struct client_net net; /* the client's, as limits count it */
    unsigned turn;         /* in the queue: how many of its client go before it */
    enum engine_transport transport;
    uint8_t path_at; /* engine_query's, like the next two */
    uint64_t path_serial;
    bool path_has_failed;
    int64_t pushed_ms; /* clock_monotonic_ms */

    /* The result has the revision of the records that led to its questions. Pushed again with
     * their outcomes, it still does: walk_set_externals. */
    int64_t revision;
    size_t external_count;
    struct external_answer *externals; /* owned; NULL: the first time */
    struct buf packed;                 /* their records */

    /* The result. DEFER is a refusal, SERVFAIL, if the kind is WALK; else a LOOKUP, or what a later
     * place of the query's search path waits for. */
    enum engine_verdict verdict;
    struct engine_deferral deferral;
    uint8_t *reply; /* owned */
    size_t reply_len;

    size_t len;
    uint8_t wire[];
};

/* Copies the query. */
struct walk *walk_new(const struct engine_query *query, void *data);
void walk_free(struct walk *walk); /* NULL is fine */

/* Copies what became of the questions that records of this revision led to. Once. */
void walk_set_externals(struct walk *walk, const struct external_answer *answers, size_t count,
                        int64_t revision);

struct walker_config {
    struct engine *engine; /* borrowed, the walker's alone; so is the reader */
    struct publisher_reader *reader;
    uint32_t walk_ms, wait_ms; /* WALK_MS and WALK_WAIT_MS; tests have more patience */
    void (*wake)(void *data);  /* on the walker's thread: there is something to pop */
    void *data;
};

struct walker *walker_new(const struct walker_config *config);
int walker_start(struct walker *walker, struct err *err) MUST_CHECK;

/* Drops what is queued, ends the walk that goes on, and the thread. Does nothing if it never
 * started. Any thread but the walker's. */
void walker_stop(struct walker *walker);

void walker_free(struct walker *walker); /* stopped; NULL is fine */

/* The resolver's thread. Takes the walk over. */
void walker_push(struct walker *walker, struct walk *walk);

/* The resolver's thread: a finished one, given back; NULL: none. */
struct walk *walker_pop(struct walker *walker);

#endif
