#include "skydns/resolver/turn.h"

#include "common/base/clock.h"
#include "skydns/publish/publisher.h"
#include "skydns/tap/query_log.h"
#include "skydns/tap/query_tap.h"

const struct engine_config *turn_begin(struct turn *turn)
{
    turn->store = publisher_enter(turn->reader);
    const struct engine_config *config = publisher_config(turn->reader);
    engine_configure(turn->engine, config);
    turn->expensive_left = TURN_EXPENSIVE_MAX;
    turn->is_entered = true;
    turn->has_namespace_rate = config->settings.rate_namespace > 0;
    return config;
}

void turn_end(struct turn *turn)
{
    if (turn->is_entered) {
        turn->is_entered = false;
        turn->store = NULL;
        publisher_leave(turn->reader);
    }
}

static enum engine_verdict resolver_turn_answer(struct turn *turn, struct engine_query *query,
                                                const struct external_answers *externals,
                                                struct response *response)
{
    enum engine_verdict verdict =
        engine_answer(turn->engine, turn->store, query, externals, response, &turn->deferral);
    if (verdict != ENGINE_DEFER && turn->deferral.is_barred) {
        struct query_counts *counts = turn->counts[query->transport];
        if (counts) {
            counter_add(&counts->not_allowed, 1);
        }
        query_log_not_allowed(query->client);
    }
    return verdict;
}

enum engine_verdict turn_answer(struct turn *turn, struct engine_query *query,
                                const struct external_answers *externals, struct response *response)
{
    query->is_brief = true;
    enum engine_verdict verdict = resolver_turn_answer(turn, query, externals, response);
    query->is_brief = false;
    if (verdict != ENGINE_DEFER || turn->deferral.kind != ENGINE_DEFER_SCAN ||
        turn->expensive_left == 0) {
        return verdict;
    }
    turn->expensive_left--;
    return resolver_turn_answer(turn, query, externals, response);
}

void turn_refresh_if_wanted(struct turn *turn, const struct engine_query *query)
{
    if (turn->deferral.wants_refresh) {
        turn->refresh(turn->data, query, &turn->deferral.refresh);
    }
}

void turn_show(const struct turn *turn, struct query_counts *counts,
               const struct engine_query *query, const struct response *response, int64_t begun_us)
{
    const struct query_seen seen = {
        .query = query,
        .response = response,
        .clients = turn->is_entered ? publisher_config(turn->reader)->clients : NULL,
        .took_us = clock_monotonic_us() - begun_us,
    };
    query_tap_show(turn->tap, counts, &seen);
}
