/* Queries that wait, for tests that have their bytes. */
#ifndef TESTS_SUPPORT_SKYDNS_OWNED_H
#define TESTS_SUPPORT_SKYDNS_OWNED_H

#include <stdbool.h>

#include "skydns/engine/engine.h"
#include "skydns/wire/owned_query.h"

/* Makes it one that waits; `room` owns it. False: it makes no sense, and never waits. */
static inline bool own_query(struct engine *engine, struct engine_query *query,
                             union owned_query_room *room)
{
    engine_read(engine, query);
    if (query->parsed->verdict != QUESTION_OK) {
        return false;
    }
    (void)owned_query_take(&room->query, query);
    const struct engine_query late =
        owned_query_open(&room->query, query->now_s, query->now_ms, query->random);
    query->owned = late.owned;
    query->wire = late.wire;
    query->len = late.len;
    query->ahead = 0;
    return true;
}

#endif
