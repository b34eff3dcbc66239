/* Runs a turn of a loop that answers queries: the resolver's, for plain TCP and deferred queries,
 * and the streams', for the other transports. It sees one version of the records and of the
 * configuration, and visits no more records for an answer than a worker may. It makes few of the
 * expensive answers (ENGINE_BRIEF_MAX) and defers the others. Only on the loop's thread. */
#ifndef SKYDNS_RESOLVER_TURN_H
#define SKYDNS_RESOLVER_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/engine/engine.h"
#include "skydns/records/rng.h"
#include "skydns/tap/query_counts.h"
#include "skydns/wire/deferral.h"

struct client_counts;
struct publisher_reader;
struct query_tap;

/* Bounds the expensive answers in one turn: less than a millisecond. */
enum { TURN_EXPENSIVE_MAX = 8 };

struct turn {
    /* Set once by the owner, which also calls rng_seed; zero else. */
    struct engine *engine;
    struct publisher_reader *reader;
    const struct query_tap *tap;
    struct client_counts *clients; /* the loop's; NULL: the tap never counts them */
    struct query_counts *counts[ENGINE_TRANSPORTS]; /* NULL: counted elsewhere */
    /* Refreshes the cached response to the question, which a client's query led to. */
    void (*refresh)(void *data, const struct engine_query *query, const struct question *question);
    void *data;

    struct rng rng;
    bool is_entered;           /* from begin to end: while callbacks run */
    bool has_namespace_rate;   /* -rate-namespace is set */
    const struct store *store; /* while entered: this turn's version */
    unsigned expensive_left;
    struct engine_deferral deferral; /* of the last answer */
};

/* Begins a turn after the sleep, before any other callback. Returns the configuration. */
const struct engine_config *turn_begin(struct turn *turn);

/* Ends a turn before the sleep: holds no version while asleep. Does nothing outside a turn. */
void turn_end(struct turn *turn);

/* Calls engine_answer on this turn's version, with the deferral in the turn. Defers for SCAN when
 * the answer is too expensive for the rest of the turn. */
enum engine_verdict turn_answer(struct turn *turn, struct engine_query *query,
                                const struct external_answers *externals,
                                struct response *response);

/* Refreshes after a response, if the deferral asks for that. */
void turn_refresh_if_wanted(struct turn *turn, const struct engine_query *query);

/* Shows the tap, which is on, the response to a query that came at begun_us (clock_monotonic_us).
 */
void turn_show(const struct turn *turn, struct query_counts *counts,
               const struct engine_query *query, const struct response *response, int64_t begun_us);

#endif
