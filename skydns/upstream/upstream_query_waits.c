/* Lists the queries that wait for an outstanding question, and the questions that none waits for.
 */
#include "common/base/cleanup.h"
#include "skydns/upstream/upstream_query_internal.h"

void upstream_query_join_background(struct upstream_query *upstream_query)
{
    TAILQ_INSERT_TAIL(&upstream_query->owner->background, upstream_query, background_entry);
    counter_add(&upstream_query->owner->counts.background, 1);
}

void upstream_query_leave_background(struct upstream_query *upstream_query)
{
    TAILQ_REMOVE(&upstream_query->owner->background, upstream_query, background_entry);
    counter_sub(&upstream_query->owner->counts.background, 1);
}

void upstream_query_wait(struct upstream_query *upstream_query, struct forwarder_wait *wait)
{
    if (TAILQ_EMPTY(&upstream_query->waits)) {
        upstream_query_leave_background(upstream_query);
    }
    upstream_query->was_waited = true;
    wait->upstream_query = upstream_query;
    TAILQ_INSERT_TAIL(&upstream_query->waits, wait, entry);
}

struct forwarder_wait *upstream_query_next_wait(struct upstream_query *upstream_query)
{
    struct forwarder_wait *wait = TAILQ_FIRST(&upstream_query->waits);
    if (wait) {
        TAILQ_REMOVE(&upstream_query->waits, wait, entry);
        wait->upstream_query = NULL;
    }
    return wait;
}

void forwarder_forget(struct forwarder_wait *wait)
{
    if (wait->shared) {
        reply_portions_forget(wait);
        return;
    }
    struct upstream_query *upstream_query = STEAL(wait->upstream_query);
    if (!upstream_query) {
        return;
    }
    TAILQ_REMOVE(&upstream_query->waits, wait, entry);
    if (TAILQ_EMPTY(&upstream_query->waits)) {
        upstream_query_join_background(upstream_query);
    }
}
