#include "skydns/resolver.h"

#include <ev.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/xalloc.h"
#include "skydns/deferred.h"
#include "skydns/engine.h"
#include "skydns/external.h"
#include "skydns/forwarder.h"
#include "skydns/query_log.h"
#include "skydns/rng.h"
#include "skydns/snapshot.h"
#include "skydns/tcp_server.h"
#include "skydns/udp_server.h"

/* Queries taken from each ring before the loop turns: TCP and timers want their turn, too. */
enum { TAKES_A_TURN = 64 };

/* The external questions of one query, and what came back so far. */
struct lookup {
    struct deferred *deferred;
    size_t waiting; /* questions without an outcome yet */
    size_t count;
    struct lookup_item {
        struct lookup *lookup;
        struct external_question question;
        uint8_t *reply; /* owned; NULL when none came (yet) */
        size_t len;
    } items[];
};

TAILQ_HEAD(deferred_list, deferred);

/* Written by the resolver's thread, read by others. */
struct resolver_counts {
    struct query_counts udp;
    struct query_counts tcp;
    struct counter forwarded;
    struct counter lookups;
    struct counter failures;
    struct counter waiting;
    struct counter in_hand;
    struct counter connections;
};

struct resolver {
    struct resolver_counts counts;
    struct resolver_config config;
    struct ev_loop *loop;
    pthread_t thread;
    bool started;
    bool draining;
    ev_async wake; /* something is in a ring */
    ev_async stop;
    ev_timer drain_timer;
    ev_check check;
    ev_prepare prepare;
    struct tcp_server *tcp;
    struct forwarder *forwarder;
    struct deferred_ring **rings; /* the workers', then the TCP server's */
    bool rings_pending;           /* the last turn may have left something in one */

    bool entered;              /* from check to prepare: while callbacks run */
    const struct store *store; /* then: the version of this turn */
    struct deferred_list in_hand;
    struct deferred *walks[RESOLVER_WALKS_MAX]; /* of them; a ring, the oldest at walk_first */
    size_t walk_first;
    size_t walk_count;
    size_t in_hand_count;
    size_t lookup_count;
    struct rng rng;

    /* Scratch of one call. */
    struct engine_deferral deferral;
    struct external_answer answers[ENGINE_EXTERNAL_MAX];
    uint8_t reply[ENGINE_REPLY_MAX];
};

static struct engine_query query_of(struct resolver *r, const struct deferred *d)
{
    return (struct engine_query){
        .wire = d->wire,
        .len = d->len,
        .client = &d->client,
        .local = &d->local,
        .transport = d->origin.udp ? ENGINE_UDP : ENGINE_TCP,
        .now_s = clock_wall_s(),
        .random = rng_next(&r->rng),
        .may_walk = true,
    };
}

/* ---- The end of a query ---- */

static void free_lookup(struct resolver *r, struct lookup *lookup)
{
    if (lookup) {
        for (size_t i = 0; i < lookup->count; i++) {
            free(lookup->items[i].reply);
        }
        free(lookup);
        r->lookup_count--;
    }
}

static void release(struct resolver *r, struct deferred *d)
{
    TAILQ_REMOVE(&r->in_hand, d, entry);
    r->in_hand_count--;
    free_lookup(r, d->lookup);
    deferred_free(d);
}

/* Sends what is in r->reply; len 0: nothing. */
static void finish(struct resolver *r, struct deferred *d, size_t len)
{
    if (r->config.verbose && len) {
        struct engine_query query = query_of(r, d);
        query_log(&query, r->reply, len);
    }
    query_counts_reply(d->origin.udp ? &r->counts.udp : &r->counts.tcp, r->reply, len);
    if (!d->origin.udp) {
        (void)tcp_server_reply(r->tcp, d->origin.tcp, r->reply, len); /* gone: nobody to tell */
    } else if (len && !udp_server_send_one(d->origin.udp, &d->client, &d->local, r->reply, len)) {
        counter_add(&r->counts.udp.unsent, 1); /* as on any link: the client asks again */
    }
    release(r, d);
}

static void refuse(struct resolver *r, struct deferred *d)
{
    struct engine_query query = query_of(r, d);
    finish(r, d, engine_servfail(r->config.engine, &query, r->reply));
}

/* ---- LOOKUP ---- */

/* All outcomes are there: the engine is asked again, on the store of this moment. */
static void answer_with_externals(struct resolver *r, struct deferred *d)
{
    const struct lookup *lookup = d->lookup;
    struct external_answers externals = {.count = lookup->count, .items = r->answers};
    struct engine_query query = query_of(r, d);
    size_t len = 0;
    for (size_t i = 0; i < lookup->count; i++) {
        const struct lookup_item *item = &lookup->items[i];
        (void)external_read(&item->question, item->reply, item->len,
                            &r->answers[i]); /* unusable is unanswered, and says so */
    }
    enum engine_verdict verdict =
        engine_answer(r->config.engine, r->store, &query, &externals, r->reply, &len, &r->deferral);
    if (verdict == ENGINE_DEFER) { /* the name left the domain meanwhile: ask again, please */
        refuse(r, d);
    } else {
        finish(r, d, verdict == ENGINE_REPLY ? len : 0);
    }
}

static void on_external(void *data, const uint8_t *reply, size_t len)
{
    struct lookup_item *item = data;
    struct deferred *d = item->lookup->deferred;
    if (!reply) {
        counter_add(&d->resolver->counts.failures, 1);
    } else if (len <= EXTERNAL_UDP_SIZE) {
        item->reply = xmalloc(len);
        item->len = len;
        memcpy(item->reply, reply, len);
    }
    if (--item->lookup->waiting == 0) {
        answer_with_externals(d->resolver, d);
    }
}

static void look_up(struct resolver *r, struct deferred *d)
{
    size_t count = r->deferral.question_count;
    if (r->lookup_count >= RESOLVER_LOOKUPS_MAX) {
        refuse(r, d);
        return;
    }
    struct lookup *lookup = xcalloc(1, sizeof(*lookup) + count * sizeof(lookup->items[0]));
    lookup->deferred = d;
    lookup->count = count;
    d->lookup = lookup;
    r->lookup_count++;
    for (size_t i = 0; i < count; i++) {
        uint8_t wire[EXTERNAL_QUERY_MAX];
        struct lookup_item *item = &lookup->items[i];
        item->lookup = lookup;
        item->question = r->deferral.questions[i];
        size_t len = external_query(&item->question, (uint16_t)rng_next(&r->rng), wire);
        bool is_sent = forwarder_send(r->forwarder, wire, len, ENGINE_UDP, on_external, item);
        counter_add(is_sent ? &r->counts.lookups : &r->counts.failures, 1);
        lookup->waiting += is_sent;
    }
    if (lookup->waiting == 0) { /* none could be sent */
        answer_with_externals(r, d);
    }
}

/* ---- FORWARD ---- */

static void on_forwarded(void *data, const uint8_t *reply, size_t len)
{
    struct deferred *d = data;
    struct resolver *r = d->resolver;
    struct engine_query query = query_of(r, d);
    size_t reply_len = reply ? engine_forwarded(r->config.engine, &query, reply, len, r->reply) : 0;
    if (reply_len) {
        finish(r, d, reply_len);
    } else {
        counter_add(&r->counts.failures, 1);
        refuse(r, d);
    }
}

static void forward(struct resolver *r, struct deferred *d)
{
    enum engine_transport transport = d->origin.udp ? ENGINE_UDP : ENGINE_TCP;
    if (forwarder_send(r->forwarder, d->wire, d->len, transport, on_forwarded, d)) {
        counter_add(&r->counts.forwarded, 1);
    } else {
        counter_add(&r->counts.failures, 1);
        refuse(r, d);
    }
}

/* ---- Queries in ---- */

static void begin(struct resolver *r, struct deferred *d)
{
    struct engine_query query = query_of(r, d);
    size_t len = 0;
    switch (engine_answer(r->config.engine, r->store, &query, NULL, r->reply, &len, &r->deferral)) {
    case ENGINE_REPLY:
        finish(r, d, len);
        return;
    case ENGINE_DROP:
        finish(r, d, 0);
        return;
    case ENGINE_DEFER:
        break;
    }
    if (r->deferral.kind == ENGINE_DEFER_LOOKUP) {
        look_up(r, d);
    } else if (r->deferral.kind == ENGINE_DEFER_FORWARD) {
        forward(r, d);
    } else {
        refuse(r, d);
    }
}

static void take(struct resolver *r, struct deferred *d)
{
    d->resolver = r;
    TAILQ_INSERT_TAIL(&r->in_hand, d, entry);
    r->in_hand_count++;
}

static void begin_or_refuse(struct resolver *r, struct deferred *d)
{
    bool is_walk = d->kind == ENGINE_DEFER_WALK;
    take(r, d);
    if (r->in_hand_count > RESOLVER_IN_HAND_MAX ||
        (is_walk && r->walk_count == RESOLVER_WALKS_MAX)) {
        refuse(r, d);
    } else if (is_walk) {
        r->walks[(r->walk_first + r->walk_count++) % RESOLVER_WALKS_MAX] = d;
    } else {
        begin(r, d);
    }
}

static void walk_one(struct resolver *r)
{
    if (r->walk_count > 0) {
        struct deferred *d = r->walks[r->walk_first];
        r->walk_first = (r->walk_first + 1) % RESOLVER_WALKS_MAX;
        r->walk_count--;
        begin(r, d);
    }
}

static void on_wake(struct ev_loop *loop, ev_async *wake, int revents)
{
    struct resolver *r = wake->data;
    (void)revents;
    r->rings_pending = false;
    for (unsigned i = 0; i <= r->config.workers; i++) {
        unsigned taken = 0;
        struct deferred *d;
        while (taken < TAKES_A_TURN && (d = deferred_ring_pop(r->rings[i]))) {
            begin_or_refuse(r, d);
            taken++;
        }
        r->rings_pending = r->rings_pending || taken == TAKES_A_TURN;
    }
    walk_one(r);
    if (r->rings_pending || r->walk_count > 0) {
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

static enum engine_verdict on_tcp_query(void *data, const struct tcp_query *tcp, uint8_t *reply,
                                        size_t *ret_len)
{
    struct resolver *r = data;
    struct engine_query query = {
        .wire = tcp->wire,
        .len = tcp->len,
        .client = tcp->client,
        .local = tcp->local,
        .transport = ENGINE_TCP,
        .now_s = clock_wall_s(),
        .random = rng_next(&r->rng),
    };
    struct deferred_origin origin = {.tcp = tcp->connection};
    enum engine_verdict verdict =
        engine_answer(r->config.engine, r->store, &query, NULL, reply, ret_len, &r->deferral);
    struct query_counts *counts = &r->counts.tcp;
    if (verdict == ENGINE_DEFER) {
        if (resolver_defer(r, r->config.workers, &query, r->deferral.kind, &origin)) {
            counter_add(&counts->deferred, 1);
            return ENGINE_DEFER;
        }
        *ret_len = engine_servfail(r->config.engine, &query, reply);
        counter_add(&counts->refused, 1);
        verdict = ENGINE_REPLY;
    } else {
        counter_add(verdict == ENGINE_REPLY ? &counts->answered : &counts->dropped, 1);
    }
    if (verdict == ENGINE_REPLY) {
        query_counts_reply(counts, reply, *ret_len);
    }
    if (r->config.verbose && verdict == ENGINE_REPLY) {
        query_log(&query, reply, *ret_len);
    }
    return verdict;
}

/* ---- The loop ---- */

/* First thing after the sleep, before any other callback. */
static void on_check(struct ev_loop *loop, ev_check *check, int revents)
{
    struct resolver *r = check->data;
    (void)loop;
    (void)revents;
    r->store = snapshot_enter(r->config.reader);
    r->entered = true;
}

/* Last thing before the sleep: asleep, no version is held. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int revents)
{
    struct resolver *r = prepare->data;
    (void)revents;
    if (r->entered) {
        r->entered = false;
        r->store = NULL;
        snapshot_leave(r->config.reader);
    }
    counter_set(&r->counts.waiting, forwarder_outstanding(r->forwarder));
    counter_set(&r->counts.in_hand, r->in_hand_count);
    counter_set(&r->counts.connections, tcp_server_connections(r->tcp));
    if (r->draining && !r->rings_pending && r->in_hand_count == 0 &&
        tcp_server_connections(r->tcp) == 0) {
        ev_break(loop, EVBREAK_ALL);
    }
}

/* What still waits hears SERVFAIL, so that its client asks another server now. The nameservers'
 * replies and silences of this turn of the loop would find their queries gone. */
static void on_drain_end(struct ev_loop *loop, ev_timer *timer, int revents)
{
    struct resolver *r = timer->data;
    (void)revents;
    forwarder_drop_all(r->forwarder);
    r->walk_count = 0;
    for (unsigned i = 0; i <= r->config.workers; i++) {
        struct deferred *d;
        while ((d = deferred_ring_pop(r->rings[i]))) {
            take(r, d);
        }
    }
    while (!TAILQ_EMPTY(&r->in_hand)) {
        refuse(r, TAILQ_FIRST(&r->in_hand));
    }
    ev_break(loop, EVBREAK_ALL);
}

/* No worker runs any more, so the rings only get what TCP connections still have. */
static void on_stop(struct ev_loop *loop, ev_async *stop, int revents)
{
    struct resolver *r = stop->data;
    (void)revents;
    r->draining = true;
    r->rings_pending = true;
    ev_async_send(loop, &r->wake);
    ev_timer_set(&r->drain_timer, RESOLVER_DRAIN_MS / 1000.0, 0.);
    ev_timer_start(loop, &r->drain_timer);
    tcp_server_drain(r->tcp);
}

static void start_watchers(struct resolver *r)
{
    ev_async_init(&r->wake, on_wake);
    r->wake.data = r;
    ev_async_start(r->loop, &r->wake);
    ev_async_init(&r->stop, on_stop);
    r->stop.data = r;
    ev_async_start(r->loop, &r->stop);
    ev_init(&r->drain_timer, on_drain_end);
    r->drain_timer.data = r;
    ev_check_init(&r->check, on_check);
    ev_set_priority(&r->check, EV_MAXPRI);
    r->check.data = r;
    ev_check_start(r->loop, &r->check);
    ev_prepare_init(&r->prepare, on_prepare);
    r->prepare.data = r;
    ev_prepare_start(r->loop, &r->prepare);
}

static int open_tcp(struct resolver *r, struct err *err)
{
    const struct tcp_server_config tcp = {
        .loop = r->loop,
        .address = r->config.address,
        .connections_max = r->config.connections_max,
        .idle_ms = TCP_IDLE_MS,
        .answer = on_tcp_query,
        .data = r,
    };
    return tcp_server_new(&tcp, &r->tcp, err);
}

int resolver_new(const struct resolver_config *config, struct resolver **ret_resolver,
                 struct err *err)
{
    struct resolver *r = xcalloc_aligned(alignof(struct resolver), sizeof(*r));
    r->config = *config;
    TAILQ_INIT(&r->in_hand);
    rng_seed(&r->rng);
    r->loop = ev_loop_new(EVFLAG_AUTO);
    if (!r->loop) {
        free(r);
        return err_set(err, ERR_UNAVAILABLE, "no event loop: too few descriptors?");
    }
    int status = open_tcp(r, err);
    if (status < 0) {
        ev_loop_destroy(r->loop);
        free(r);
        return status;
    }
    const struct forwarder_config forwarder = {
        .loop = r->loop,
        .servers = config->nameservers,
        .server_count = config->nameserver_count,
        .rotate = config->rotate,
        .timeout_ms = config->timeout_ms,
        .outstanding_max = config->outstanding_max,
    };
    r->forwarder = forwarder_new(&forwarder);
    r->rings = xcalloc(config->workers + 1, sizeof(*r->rings));
    for (unsigned i = 0; i <= config->workers; i++) {
        r->rings[i] = deferred_ring_new();
    }
    start_watchers(r);
    *ret_resolver = r;
    return 0;
}

static void *run(void *data)
{
    struct resolver *r = data;
    ev_run(r->loop, 0);
    if (r->entered) { /* the drain's time ran out in the middle of a turn */
        r->entered = false;
        snapshot_leave(r->config.reader);
    }
    return NULL;
}

int resolver_start(struct resolver *resolver, struct err *err)
{
    int r = -pthread_create(&resolver->thread, NULL, run, resolver);
    if (r < 0) {
        return err_set(err, r, "start the resolver: %s", err_code_text(r));
    }
    resolver->started = true;
    (void)pthread_setname_np(resolver->thread, "resolver"); /* for top and gdb only */
    return 0;
}

void resolver_stop(struct resolver *resolver)
{
    if (resolver->started) {
        ev_async_send(resolver->loop, &resolver->stop);
        (void)pthread_join(resolver->thread, NULL); /* cannot fail for a thread of ours */
        resolver->started = false;
    }
}

void resolver_free(struct resolver *resolver)
{
    if (!resolver) {
        return;
    }
    forwarder_free(resolver->forwarder);
    while (!TAILQ_EMPTY(&resolver->in_hand)) {
        release(resolver, TAILQ_FIRST(&resolver->in_hand));
    }
    tcp_server_free(resolver->tcp);
    for (unsigned i = 0; i <= resolver->config.workers; i++) {
        deferred_ring_free(resolver->rings[i]);
    }
    free(resolver->rings);
    ev_loop_destroy(resolver->loop);
    free(resolver);
}

void resolver_sums(const struct resolver *resolver, struct resolver_sums *ret_sums)
{
    const struct resolver_counts *counts = &resolver->counts;
    *ret_sums = (struct resolver_sums){
        .forwarded = counter_get(&counts->forwarded),
        .lookups = counter_get(&counts->lookups),
        .failures = counter_get(&counts->failures),
        .waiting = counter_get(&counts->waiting),
        .in_hand = counter_get(&counts->in_hand),
        .connections = counter_get(&counts->connections),
    };
    query_sums_add(&ret_sums->udp, &counts->udp);
    query_sums_add(&ret_sums->tcp, &counts->tcp);
}
