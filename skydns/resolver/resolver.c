/* Runs the resolver's thread, its input from the rings and from the main thread, and its end. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/privileges.h"
#include "common/base/xalloc.h"
#include "skydns/engine/engine.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver_internal.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/loop_check.h"
#include "skydns/upstream/tls_pool.h"

/* ---- Queries in ---- */

static void begin_or_refuse(struct resolver *r, struct deferred *d)
{
    if (d->kind == ENGINE_DEFER_REFRESH) {
        struct query parsed;
        owned_query_read(&d->query, &parsed);
        resolver_refresh(r, &parsed.question);
        deferred_free(d);
    } else if (!resolver_take(r, d)) {
        resolver_refuse(r, d);
    } else {
        resolver_begin(r, d);
    }
}

/* Takes one query from each ring. Returns false when all are empty. */
static bool take_round(struct resolver *r)
{
    bool has_taken = false;
    for (unsigned i = 0; i < r->ring_count; i++) {
        struct deferred *d = deferred_ring_pop(r->rings[i]);
        if (d) {
            begin_or_refuse(r, d);
            has_taken = true;
        }
    }
    return has_taken;
}

/* Takes a portion of what is in the rings, so that sockets and timers get their turns. */
static void resolver_on_wake(struct ev_loop *loop, ev_async *wake, int revents UNUSED)
{
    struct resolver *r = wake->data;
    const int64_t begun_us = clock_monotonic_us();
    do {
        r->rings_pending = take_round(r);
    } while (r->rings_pending && clock_monotonic_us() - begun_us < FORWARDER_PORTION_US);
    if (r->rings_pending) {
        ev_async_send(loop, wake);
    }
}

bool resolver_defer(struct resolver *resolver, unsigned producer, const struct engine_query *query,
                    enum engine_deferral_kind kind, const struct deferred_origin *origin)
{
    struct deferred *d = deferred_new(query, kind, origin);
    if (!deferred_ring_push(resolver->rings[producer], d)) {
        deferred_free(d);
        return false;
    }
    ev_async_send(resolver->loop, &resolver->wake);
    return true;
}

size_t resolver_room(const struct resolver *resolver, unsigned producer)
{
    return deferred_ring_room(resolver->rings[producer]);
}

bool resolver_defer_refresh(struct resolver *resolver, unsigned producer,
                            const struct engine_query *query, const struct question *question)
{
    const struct deferred_origin origin = {.to = NULL};
    struct query parsed = {.has_question = true, .question = *question};
    struct engine_query refresh = *query;
    refresh.parsed = &parsed;
    refresh.tsig = NULL; /* no client gets a response */
    return resolver_defer(resolver, producer, &refresh, ENGINE_DEFER_REFRESH, &origin);
}

static void resolver_on_refresh(void *data, const struct engine_query *query UNUSED,
                                const struct question *question)
{
    resolver_refresh(data, question);
}

/* ---- The loop ---- */

/* Checks the general upstreams for loops, if they changed. Queries to stub zones' upstreams have an
 * option that shows when they lead back here. */
static void check_nameservers(struct resolver *r, const struct engine_config *config)
{
    size_t count;
    if (!config->zones_of_others) {
        return;
    }
    const struct forward_zone *root = zone_table_items(config->zones_of_others, &count);
    if (root->serial != r->checked_serial || config->settings.ndots != r->checked_ndots) {
        r->checked_serial = root->serial;
        r->checked_ndots = config->settings.ndots;
        loop_check_set_servers(r->loop_check, root->servers, root->server_count,
                               config->settings.ndots);
    }
}

/* Begins a turn: runs first after the sleep, before any other callback. */
static void resolver_on_check(struct ev_loop *loop UNUSED, ev_check *check, int revents UNUSED)
{
    struct resolver *r = check->data;
    const struct engine_config *config = turn_begin(&r->turn);
    if (fetcher_configure(r->fetcher, config)) {
        check_nameservers(r, config);
    }
}

/* Ends a turn: runs last before the sleep, and holds no version while asleep. */
static void resolver_on_prepare(struct ev_loop *loop, ev_prepare *prepare, int revents UNUSED)
{
    struct resolver *r = prepare->data;
    turn_end(&r->turn);
    if (r->draining && !r->rings_pending && counter_get(&r->counts.in_hand) == 0 &&
        !r->accepts_connections && counter_get(&r->counts.connections) == 0) {
        ev_break(loop, EVBREAK_ALL);
    }
}

static void resolver_on_timeout(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    resolver_time_out(timer->data);
}

/* Answers all waiting queries with SERVFAIL, so that their clients ask another server now. Ends the
 * outstanding questions first: their callbacks in this turn would find their queries freed. */
static void resolver_on_drain_end(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    struct resolver *r = timer->data;
    forwarder_drop_all(fetcher_forwarder(r->fetcher));
    for (unsigned i = 0; i < r->ring_count; i++) {
        struct deferred *d;
        while ((d = deferred_ring_pop(r->rings[i]))) {
            if (d->kind == ENGINE_DEFER_REFRESH) {
                deferred_free(d);
            } else {
                (void)resolver_take(r, d); /* refused in any case */
            }
        }
    }
    while (!TAILQ_EMPTY(&r->in_hand)) {
        resolver_refuse(r, TAILQ_FIRST(&r->in_hand));
    }
    ev_break(loop, EVBREAK_ALL);
}

/* Begins the drain. No other thread fills its ring any more; only TCP connections fill theirs. */
static void resolver_on_stop(struct ev_loop *loop, ev_async *stop, int revents UNUSED)
{
    struct resolver *r = stop->data;
    r->draining = true;
    r->rings_pending = true;
    ev_async_send(loop, &r->wake);
    ev_timer_set(&r->drain_timer, RESOLVER_DRAIN_MS / 1000.0, 0.);
    ev_timer_start(loop, &r->drain_timer);
}

/* ---- Upstreams ---- */

static void on_judged(void *data, const struct nameserver *server, enum upstream_verdict verdict)
{
    struct resolver *r = data;
    forwarder_judge_server(fetcher_forwarder(r->fetcher), server, verdict);
}

static void on_loop_suspected(void *data)
{
    struct resolver *r = data;
    loop_check_hurry(r->loop_check);
}

static void open_upstream(struct resolver *r)
{
    const struct fetcher_config fetcher = {
        .loop = r->loop,
        .random_case = r->config.random_case,
        .sockets_max = r->config.sockets_max,
        .tls = r->tls,
        .dnstap = r->config.dnstap,
        .suspect_loop = on_loop_suspected,
        .data = r,
        .tally = r->config.cache_tally,
    };
    const struct loop_check_config loop_check = {
        .loop = r->loop,
        .tls = r->tls,
        .dnstap = r->config.dnstap,
        .times = loop_check_times,
        .judged = on_judged,
        .data = r,
    };
    r->fetcher = fetcher_new(&fetcher);
    r->counts.forwarder = forwarder_counts(fetcher_forwarder(r->fetcher));
    r->counts.upstreams = forwarder_figures(fetcher_forwarder(r->fetcher));
    r->loop_check = loop_check_new(&loop_check);
    r->counts.tls = tls_pool_counts(r->tls);
}

/* ---- What the main thread wants ---- */

static void lock_wishes(struct resolver *r)
{
    (void)pthread_mutex_lock(&r->lock); /* cannot fail: a plain mutex, not held by this thread */
}

static void unlock_wishes(struct resolver *r)
{
    (void)pthread_mutex_unlock(&r->lock); /* the same */
}

static void on_rules(struct ev_loop *loop UNUSED, ev_async *changed, int revents UNUSED)
{
    struct resolver *r = changed->data;
    lock_wishes(r);
    const struct forwarder_rules rules = r->rules;
    unlock_wishes(r);
    forwarder_set_rules(fetcher_forwarder(r->fetcher), &rules);
}

/* Sets the rules, and wakes the thread, which then reads the configuration with the upstreams, too.
 */
void resolver_set_rules(struct resolver *resolver, const struct forwarder_rules *rules)
{
    lock_wishes(resolver);
    resolver->rules = *rules;
    unlock_wishes(resolver);
    ev_async_send(resolver->loop, &resolver->rules_changed);
}

uint64_t resolver_flush(struct resolver *resolver, const struct cache_flush *flush)
{
    struct resolver_flush *f = &resolver->flush;
    uint64_t number = 0;
    lock_wishes(resolver);
    if (f->begun == f->ended) {
        f->what = *flush;
        f->dropped = 0;
        number = ++f->begun;
    }
    unlock_wishes(resolver);
    if (number > 0) {
        ev_async_send(resolver->loop, &f->step);
    }
    return number;
}

bool resolver_flush_is_over(struct resolver *resolver, uint64_t number, uint64_t *ret_dropped)
{
    struct resolver_flush *f = &resolver->flush;
    lock_wishes(resolver);
    const bool is_over = f->ended >= number;
    *ret_dropped = f->begun == number ? f->dropped : 0;
    unlock_wishes(resolver);
    return is_over;
}

/* Takes the next portion. A cache that takes the place of another is empty. `what` stays as it is
 * until the flush has ended. */
static void on_flush_step(struct ev_loop *loop, ev_async *step, int revents UNUSED)
{
    struct resolver *r = step->data;
    struct resolver_flush *f = &r->flush;
    struct cache *cache = publisher_config(r->config.reader)->cache;
    uint64_t dropped = 0;
    lock_wishes(r);
    const bool is_due = f->begun != f->ended;
    unlock_wishes(r);
    if (!is_due) {
        return;
    }
    const bool is_over = !cache || cache_flush(cache, &f->what, &f->at, &dropped);
    counter_add(&r->counts.flushed, dropped);
    lock_wishes(r);
    f->dropped += dropped;
    if (is_over) {
        f->at = 0;
        f->ended = f->begun;
    }
    unlock_wishes(r);
    if (!is_over) {
        ev_async_send(loop, step);
    }
}

/* ---- Setup and teardown ---- */

static void resolver_start_watchers(struct resolver *r)
{
    ev_async_init(&r->rules_changed, on_rules);
    ev_set_priority(&r->rules_changed, EV_MAXPRI); /* before the queries of the same turn */
    r->rules_changed.data = r;
    ev_async_start(r->loop, &r->rules_changed);
    ev_async_init(&r->flush.step, on_flush_step);
    r->flush.step.data = r;
    ev_async_start(r->loop, &r->flush.step);
    ev_async_init(&r->wake, resolver_on_wake);
    r->wake.data = r;
    ev_async_start(r->loop, &r->wake);
    ev_async_init(&r->stop, resolver_on_stop);
    r->stop.data = r;
    ev_async_start(r->loop, &r->stop);
    ev_init(&r->timeout, resolver_on_timeout);
    ev_set_priority(&r->timeout, EV_MINPRI); /* arrived responses count first */
    r->timeout.data = r;
    ev_init(&r->drain_timer, resolver_on_drain_end);
    r->drain_timer.data = r;
    ev_check_init(&r->check, resolver_on_check);
    ev_set_priority(&r->check, EV_MAXPRI);
    r->check.data = r;
    ev_check_start(r->loop, &r->check);
    ev_prepare_init(&r->prepare, resolver_on_prepare);
    r->prepare.data = r;
    ev_prepare_start(r->loop, &r->prepare);
}

/* Opens the TLS pool. Its connections have at most an eighth of the descriptors for upstreams. */
static int open_tls(struct resolver *r, struct err *err)
{
    size_t eighth = r->config.sockets_max / 8;
    const struct tls_pool_config tls = {
        .loop = r->loop,
        .connections_max =
            eighth < TLS_POOL_CONNECTIONS_MAX ? eighth + !eighth : TLS_POOL_CONNECTIONS_MAX,
        .files = r->config.nameservers_tls,
        .refresh_s = TLS_POOL_REFRESH_S,
    };
    int result = tls_pool_new(&tls, &r->tls, err);
    return result < 0
               ? err_wrap(err, result, "-nameservers-ca, -nameservers-cert, -nameservers-key")
               : 0;
}

static int open_loop(struct resolver *r, struct err *err)
{
    r->loop = ev_loop_new(EVFLAG_AUTO);
    if (!r->loop) {
        return err_set(err, ERR_UNAVAILABLE, "no event loop: too few descriptors?");
    }
    int result = open_tls(r, err);
    if (result < 0) {
        ev_loop_destroy(r->loop);
    }
    return result;
}

static void list_engines(struct resolver *r)
{
    struct resolver_counts *counts = &r->counts;
    counts->engines[counts->engine_count++] = engine_counts(r->config.engine);
    counts->engines[counts->engine_count++] = engine_counts(r->config.walker.engine);
    for (unsigned i = 0; i < r->config.signer_count; i++) {
        counts->engines[counts->engine_count++] = engine_counts(r->config.signers[i].engine);
    }
}

int resolver_new(const struct resolver_config *config, struct resolver **ret_resolver,
                 struct err *err)
{
    struct resolver *r = xcalloc_aligned(alignof(struct resolver), sizeof(*r));
    r->response.bytes = r->reply;
    r->config = *config;
    list_engines(r);
    query_counts_init(&r->counts.udp, config->want_skydns_metrics);
    query_counts_init(&r->counts.tcp, config->want_skydns_metrics);
    TAILQ_INIT(&r->in_hand);
    TAILQ_INIT(&r->patient);
    r->loads = client_loads_new();
    r->lookup_loads = client_loads_new();
    r->turn = (struct turn){
        .engine = config->engine,
        .reader = config->reader,
        .tap = config->tap,
        .clients = config->clients,
        .counts = {[ENGINE_UDP] = &r->counts.udp, [ENGINE_TCP] = &r->counts.tcp},
        .refresh = resolver_on_refresh,
        .data = r,
    };
    rng_seed(&r->turn.rng);
    int result = open_loop(r, err);
    if (result < 0) {
        client_loads_free(r->loads);
        client_loads_free(r->lookup_loads);
        query_counts_fini(&r->counts.udp);
        query_counts_fini(&r->counts.tcp);
        free(r);
        return result;
    }
    open_upstream(r);
    resolver_open_pools(r);
    (void)pthread_mutex_init(&r->lock, NULL); /* cannot fail without attributes */
    r->rings = xcalloc(config->workers + RESOLVER_PRODUCERS_MAX, sizeof(*r->rings));
    while (r->ring_count < config->workers) {
        (void)resolver_add_producer(r);
    }
    resolver_start_watchers(r);
    *ret_resolver = r;
    return 0;
}

unsigned resolver_add_producer(struct resolver *resolver)
{
    assert(resolver->ring_count < resolver->config.workers + RESOLVER_PRODUCERS_MAX);
    resolver->rings[resolver->ring_count] = deferred_ring_new();
    return resolver->ring_count++;
}

struct ev_loop *resolver_loop(struct resolver *resolver)
{
    return resolver->loop;
}

struct turn *resolver_turn(struct resolver *resolver)
{
    return &resolver->turn;
}

void resolver_note_connections(struct resolver *resolver, size_t count, bool are_accepted,
                               uint64_t evictions)
{
    resolver->accepts_connections = are_accepted;
    counter_set(&resolver->counts.connections, count);
    counter_set(&resolver->counts.evictions, evictions);
}

static void *resolver_run(void *data)
{
    struct resolver *r = data;
    privileges_drop_thread();
    (void)pthread_setname_np(pthread_self(), "resolver"); /* for top and gdb only */
    ev_run(r->loop, 0);
    turn_end(&r->turn); /* the drain may have timed out in the middle of one */
    return NULL;
}

int resolver_start(struct resolver *resolver, struct err *err)
{
    int r = resolver_start_pools(resolver, err);
    if (r < 0) {
        resolver_stop_pools(resolver);
        return r;
    }
    r = -pthread_create(&resolver->thread, NULL, resolver_run, resolver);
    if (r < 0) {
        resolver_stop_pools(resolver);
        return err_set(err, r, "start the resolver: %s", err_code_text(r));
    }
    resolver->started = true;
    return 0;
}

void resolver_stop(struct resolver *resolver)
{
    if (resolver->started) {
        ev_async_send(resolver->loop, &resolver->stop);
        (void)pthread_join(resolver->thread, NULL); /* cannot fail for a thread of ours */
        resolver->started = false;
    }
    resolver_stop_pools(resolver);
}

void resolver_free(struct resolver *resolver)
{
    if (!resolver) {
        return;
    }
    fetcher_free(resolver->fetcher);
    loop_check_free(resolver->loop_check);
    tls_pool_free(resolver->tls);
    (void)pthread_mutex_destroy(&resolver->lock); /* no thread holds it */
    while (!TAILQ_EMPTY(&resolver->in_hand)) {
        resolver_release(resolver, TAILQ_FIRST(&resolver->in_hand));
    }
    resolver_free_pools(resolver);
    client_loads_free(resolver->loads);
    client_loads_free(resolver->lookup_loads);
    for (unsigned i = 0; i < resolver->ring_count; i++) {
        deferred_ring_free(resolver->rings[i]);
    }
    free(resolver->rings);
    ev_loop_destroy(resolver->loop);
    query_counts_fini(&resolver->counts.udp);
    query_counts_fini(&resolver->counts.tcp);
    free(resolver);
}

const struct resolver_counts *resolver_counts(const struct resolver *resolver)
{
    return &resolver->counts;
}

bool resolver_zone_state(const struct resolver *resolver, uint32_t serial,
                         struct upstream_states *ret)
{
    return forwarder_zone_state(fetcher_forwarder(resolver->fetcher), serial, ret);
}

bool resolver_uncached(const struct resolver *resolver, const struct cache_key *key,
                       struct fetcher_uncached *ret)
{
    return fetcher_uncached(resolver->fetcher, key, ret);
}
