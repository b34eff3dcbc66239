/* The adapter's inside: one world, the engines that answer in it, and a query on its way. */
#ifndef TESTS_RECORDED_SIDE_ENGINE_H
#define TESTS_RECORDED_SIDE_ENGINE_H

#include <ev.h>

#include "skydns/clients/client_index.h"
#include "skydns/config/live_config.h"
#include "skydns/engine/engine.h"
#include "skydns/engine/rate_limit.h"
#include "skydns/publish/publisher.h"
#include "skydns/records/store.h"
#include "skydns/settings/options.h"
#include "skydns/upstream/fetcher.h"
#include "tests/recorded/side.h"

/* One for each thread of the program. */
enum side_engine {
    SIDE_ENGINE_WORKER,
    SIDE_ENGINE_RESOLVER,
    SIDE_ENGINE_STREAMS,
    SIDE_ENGINE_WALKER,
    SIDE_ENGINE_SIGNER,
    SIDE_ENGINES
};

struct side {
    struct side_calls calls;
    struct ev_loop *loop; /* never runs */
    struct options options;
    struct publisher *publisher;
    struct client_index *index;
    struct live_config *live;
    struct store_writer *writer;
    struct publisher_reader *reader;
    struct engine *engines[SIDE_ENGINES];
    struct rate_limit *rate_limit;
    struct fetcher *fetcher;
    struct recursion recursion;

    /* Set by the call of side_answer: */
    const struct store *store;
    const struct engine_config *config;
    struct engine_deferral deferral;
    uint8_t reply[ENGINE_REPLY_MAX];
    struct response response; /* of these bytes */
    size_t asked;             /* the query whose upstreams are asked */
};

/* A query as the engine takes it, and what it borrows. */
struct side_asked {
    size_t number; /* in the call of side_answer */
    struct addr client, local;
    struct engine_query query;
};

/* ---- side_late.c ---- */

/* Does what side->deferral asks for, until the query has its response. */
void side_go_on(struct side *side, const struct side_asked *asked);

/* On the walker's thread, from the start. */
void side_answer_late(struct side *side, const struct side_asked *asked);

/* If side->deferral wants it. */
void side_refresh(struct side *side, const struct side_asked *asked);

/* side->response is the response; length 0: none. */
void side_finish(struct side *side, const struct side_asked *asked);

/* ---- side_upstream.c: in place of forwarder.c, which the linker does not see ---- */

/* The world whose `upstream` responds. */
void side_upstream_is(struct side *side);

/* The query that goes to an upstream, as a step. */
void side_upstream_step(struct side *side, size_t number, enum side_step step,
                        const struct upstream_question *question);

#endif
