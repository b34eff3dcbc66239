/* Passes deferred queries to the walker and the signers, as places allow, and takes the results. */

#include "common/base/attributes.h"
#include "skydns/engine/engine.h"
#include "skydns/resolver/answer_pool.h"
#include "skydns/resolver/resolver_internal.h"

/* ---- Places ---- */

/* Returns the bound on a client's places: a fixed part of the few subtree scans; of signatures, as
 * many as are free. */
static size_t client_places(const struct resolver *r, const struct resolver_pool *pool)
{
    if (pool == &r->walker) {
        return pool->count < RESOLVER_SCANS_MAX ? RESOLVER_CLIENT_SCANS_MAX : 0;
    }
    return RESOLVER_SIGNS_MAX - pool->count;
}

static bool resolver_pools_take_place(const struct resolver *r, struct resolver_pool *pool,
                                      struct deferred *d)
{
    if (!client_loads_take(pool->loads, &d->query.client, client_places(r, pool))) {
        return false;
    }
    pool->count++;
    d->is_scan = pool == &r->walker;
    return true;
}

static struct resolver_pool *pool_of(struct resolver *r, const struct deferred *d)
{
    return d->is_scan ? &r->walker : &r->signers;
}

void resolver_leave_pool(struct resolver *r, struct deferred *d)
{
    if (d->pooled) {
        struct resolver_pool *pool = pool_of(r, d);
        d->pooled->data = NULL;
        client_loads_drop(pool->loads, &d->query.client);
        pool->count--;
        d->pooled = NULL;
    }
}

/* Pushes the query to the pool in which it has taken a place. */
static void resolver_pools_push(struct resolver *r, struct deferred *d, struct pooled_query *query)
{
    d->pooled = query;
    answer_pool_push(pool_of(r, d)->pool, query);
}

static void push_new(struct resolver *r, struct deferred *d, size_t external_count,
                     int64_t revision)
{
    struct pooled_query *pooled = pooled_query_new(&d->query, d);
    if (external_count) {
        pooled_query_set_externals(pooled, r->answers, external_count, revision);
    }
    resolver_pools_push(r, d, pooled);
}

void resolver_scan(struct resolver *r, struct deferred *d, size_t external_count, int64_t revision)
{
    if (!resolver_pools_take_place(r, &r->walker, d)) {
        resolver_refuse(r, d);
        return;
    }
    push_new(r, d, external_count, revision);
}

/* Refuses to sign. Over UDP the query counts as lost (resolver.h). */
static void refuse_to_sign(struct resolver *r, struct deferred *d)
{
    counter_add(&r->counts.signing_refused, 1);
    if (d->query.transport == ENGINE_UDP) {
        resolver_drop(r, d);
    } else {
        resolver_refuse(r, d);
    }
}

void resolver_sign(struct resolver *r, struct deferred *d, size_t external_count, int64_t revision)
{
    counter_add(&r->counts.signing, 1);
    if (!resolver_pools_take_place(r, &r->signers, d)) {
        refuse_to_sign(r, d);
        return;
    }
    push_new(r, d, external_count, revision);
}

/* ---- Results ---- */

/* Passes the signers' result, with its outcomes of questions, to the walker. Takes it over. */
static void pass_to_walker(struct resolver *r, struct deferred *d, struct pooled_query *query)
{
    if (!resolver_pools_take_place(r, &r->walker, d)) {
        pooled_query_free(query);
        resolver_refuse(r, d);
        return;
    }
    query->data = d;
    resolver_pools_push(r, d, query);
}

static void resolver_pools_go_on(struct resolver *r, struct deferred *d,
                                 const struct pooled_query *query, bool is_scan)
{
    r->turn.deferral = *query->deferral;
    if (query->deferral->kind == ENGINE_DEFER_LOOKUP) {
        d->kind = is_scan ? ENGINE_DEFER_SCAN : d->kind; /* its second answer will be one, too */
        resolver_free_lookup(r, d);                      /* of an earlier candidate name */
        resolver_keep_place(r, d);
        resolver_look_up(r, d, query->revision);
    } else if (!resolver_goes_on(r, d)) {
        resolver_refuse(r, d);
    }
}

static void resolver_pools_end(struct resolver *r, struct deferred *d,
                               const struct pooled_query *query, bool is_scan)
{
    if (query->is_refused && !is_scan) {
        refuse_to_sign(r, d);
    } else if (query->is_refused) {
        resolver_refuse(r, d);
    } else if (query->verdict == ENGINE_DEFER) {
        resolver_pools_go_on(r, d, query, is_scan);
    } else if (query->verdict == ENGINE_DROP) {
        resolver_drop(r, d);
    } else {
        if (query->deferral) {
            resolver_refresh(r, &query->deferral->refresh);
        }
        resolver_finish(r, d, &query->response);
    }
}

static void resolver_pools_take_back(struct resolver *r, struct resolver_pool *pool)
{
    const bool is_scan = pool == &r->walker;
    struct pooled_query *query;
    while ((query = answer_pool_pop(pool->pool))) {
        struct deferred *d = query->data;
        if (!d) { /* given up, at the end of the drain */
            pooled_query_free(query);
            continue;
        }
        resolver_leave_pool(r, d);
        if (!query->is_refused && query->verdict == ENGINE_DEFER &&
            query->deferral->kind == ENGINE_DEFER_SCAN) {
            pass_to_walker(r, d, query);
        } else {
            resolver_pools_end(r, d, query, is_scan);
            pooled_query_free(query);
        }
    }
}

static void on_pooled(struct ev_loop *loop UNUSED, ev_async *pooled, int revents UNUSED)
{
    struct resolver *r = pooled->data;
    resolver_pools_take_back(r, &r->walker);
    resolver_pools_take_back(r, &r->signers);
}

/* ---- Setup and teardown ---- */

/* Wakes the loop; runs on a thread of a pool. */
static void resolver_pools_wake(void *data)
{
    struct resolver *r = data;
    ev_async_send(r->loop, &r->pooled);
}

static void open_pool(struct resolver_pool *pool, const struct answer_pool_config *config)
{
    pool->loads = client_loads_new();
    pool->pool = answer_pool_new(config);
}

void resolver_open_pools(struct resolver *r)
{
    struct answer_pool_config config = {
        .name = "walker",
        .lanes = &r->config.walker,
        .lane_count = 1,
        .may_scan = true,
        .answer_ms = r->config.pool_answer_ms,
        .wait_ms = r->config.pool_wait_ms,
        .wake = resolver_pools_wake,
        .data = r,
    };
    open_pool(&r->walker, &config);
    config.name = "signer";
    config.lanes = r->config.signers;
    config.lane_count = r->config.signer_count;
    config.may_scan = false;
    config.nice = RESOLVER_SIGNERS_NICE;
    open_pool(&r->signers, &config);
    ev_async_init(&r->pooled, on_pooled);
    r->pooled.data = r;
    ev_async_start(r->loop, &r->pooled);
}

int resolver_start_pools(struct resolver *r, struct err *err)
{
    int result = answer_pool_start(r->walker.pool, err);
    return result < 0 ? result : answer_pool_start(r->signers.pool, err);
}

void resolver_stop_pools(struct resolver *r)
{
    answer_pool_stop(r->walker.pool);
    answer_pool_stop(r->signers.pool);
}

void resolver_free_pools(struct resolver *r)
{
    struct resolver_pool *const pools[] = {&r->walker, &r->signers};
    for (size_t i = 0; i < ARRAY_LEN(pools); i++) {
        answer_pool_free(pools[i]->pool);
        client_loads_free(pools[i]->loads);
    }
}
