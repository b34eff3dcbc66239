#include "kube2sky/reconciler.h"

#include <stdlib.h>

#include "common/attributes.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/etcd.h"
#include "common/etcd_mirror.h"
#include "common/log.h"
#include "common/outage.h"
#include "common/record_key.h"
#include "common/xalloc.h"
#include "kube2sky/inventory.h"
#include "kube2sky/owners.h"
#include "kube2sky/plan.h"
#include "kube2sky/planner.h"
#include "kube2sky/sync_report.h"

/* Between two and eight etcd's throughput hardly changes; four keep it busy during our planning. */
enum { FLIGHTS_MAX = 4 };

/* Owners planned per turn of the loop, weighed by their records: about 10 ms, so that probes, the
 * API's events and etcd's acknowledgements are served in between. */
enum { WORK_PER_TURN = 4096 };

/* etcd restarts within seconds: asking more often than this gains nothing. */
enum { RETRY_FIRST_MS = 100, RETRY_MAX_MS = 1000 };

/* A domain is a name of at most 255 bytes; what goes around it is less than as much again. */
enum { PREFIX_MAX = 512 };

/* A transaction from its planning until the mirror shows it. */
struct flight {
    struct reconciler *reconciler;
    bool is_used;
    struct etcd_call *call; /* NULL: acknowledged */
    int64_t sent_us;        /* monotonic */
    int64_t revision;       /* once acknowledged */
    struct plan_batch batch;
    struct owner *owners[ETCD_TXN_OPS_MAX]; /* each has at least one operation in it */
    size_t owner_count;

    /* Of an owner whose plan is larger than a transaction, its only one: what follows. */
    struct plan rest;
    size_t rest_at; /* rest.op_count: nothing */
};

struct reconciler {
    struct reconciler_config config;
    struct etcd_mirror *mirror;
    struct owners *owners;
    struct flight flights[FLIGHTS_MAX];
    size_t flights_used;

    /* The mirror's state */
    int64_t revision;    /* of its last commit */
    uint32_t generation; /* of its full reads */
    bool is_mirrored;    /* it has read everything once */
    bool is_mid_publication;
    uint64_t reads;
    struct outage_source followed; /* away while the mirror's watch is not up */
    struct outage_source written;  /* away from a failed transaction to the next good one */
    struct err refused;            /* why a service alone was refused last; msg "": none waits */
    struct backoff backoff;
    ev_timer retry; /* active: no transaction before it fires */

    /* The work */
    ev_prepare turn;
    ev_idle stay_awake; /* active: there is more to plan, the loop must not sleep */
    struct planner planner;
    struct plan plan; /* of the owner last planned */
    bool was_complete;

    struct sync_report report;
    uint64_t transactions; /* acknowledged */
    uint64_t failures;
    struct histogram transaction_time;

    void (*drained)(void *data);
    void *drained_data;
};

/* ---- Owners ---- */

static void want_look(struct reconciler *r, struct owner *owner)
{
    if (owner->state == OWNER_SETTLED || owner->state == OWNER_HELD) {
        owners_enqueue(r->owners, owner);
    }
}

void reconciler_owner_changed(struct reconciler *r, struct slice id)
{
    struct owner *owner = owners_get(r->owners, id);
    if (owner->state == OWNER_IN_FLIGHT) {
        owner->has_changed = true;
    }
    want_look(r, owner);
}

/* A key of the owner's changed in etcd; NULL: of nobody's. */
static void owner_touched(struct reconciler *r, struct owner *owner, int64_t revision)
{
    if (!owner) {
        return;
    }
    if (owner->state == OWNER_IN_FLIGHT) {
        owner->first_event = owner->first_event ? owner->first_event : revision;
        owner->last_event = revision;
    }
    want_look(r, owner);
}

/* ---- Landing ---- */

/* What else has happened to the owner while its transaction was away. */
static bool needs_another_look(const struct owner *owner, int64_t revision)
{
    return owner->has_changed || (owner->first_event && (owner->first_event != owner->last_event ||
                                                         owner->first_event != revision));
}

static void land(struct reconciler *r, struct flight *flight)
{
    for (size_t i = 0; i < flight->owner_count; i++) {
        struct owner *owner = flight->owners[i];
        owner->state = OWNER_SETTLED;
        if (needs_another_look(owner, flight->revision)) {
            owners_enqueue(r->owners, owner);
        } else {
            owners_forget_if_empty(r->owners, owner);
        }
    }
    flight->is_used = false;
    r->flights_used--;
}

/* Its fate is not known, or the mirror begins anew: planning again tells what is left to do. */
static void abandon(struct reconciler *r, struct flight *flight)
{
    for (size_t i = 0; i < flight->owner_count; i++) {
        flight->owners[i]->has_changed = true;
    }
    land(r, flight);
}

/* Deletes of what was already gone make no revision, so the mirror may never reach the one that
 * the acknowledgement names. They have landed when the mirror has none of the keys. */
static bool is_deleted(const struct reconciler *r, const struct flight *flight)
{
    const struct plan *plan = &flight->batch.plan;
    for (size_t i = 0; i < plan->op_count; i++) {
        if (owners_has_key(r->owners, plan_get(plan, i).key)) {
            return false;
        }
    }
    return plan->put_count == 0;
}

static void land_if_seen(struct reconciler *r, struct flight *flight)
{
    if (flight->is_used && !flight->call &&
        (flight->revision <= r->revision || is_deleted(r, flight))) {
        land(r, flight);
    }
}

/* ---- Transactions ---- */

static void on_retry(struct ev_loop *loop UNUSED, ev_timer *timer UNUSED, int revents UNUSED)
{
    /* that it is no longer active is all there is to it */
}

static void wait_before_retry(struct reconciler *r)
{
    if (!ev_is_active(&r->retry)) {
        uint32_t delay_ms = backoff_next_ms(&r->backoff, backoff_random());
        ev_timer_set(&r->retry, delay_ms / 1000.0, 0.0);
        ev_timer_start(r->config.loop, &r->retry);
    }
}

static void send_flight(struct reconciler *r, struct flight *flight);

/* The next part of a plan larger than a transaction, unless its objects have changed since. */
static bool send_rest(struct reconciler *r, struct flight *flight)
{
    if (flight->rest_at == flight->rest.op_count || flight->owners[0]->has_changed) {
        return false;
    }
    plan_batch_clear(&flight->batch);
    plan_batch_add(&flight->batch, &flight->rest, &flight->rest_at);
    send_flight(r, flight);
    return true;
}

/* Which of a refused transaction's owners etcd would not take is not said: each goes alone from now
 * on, so that one does not hold up the others. */
static void set_suspect(struct flight *flight, bool is_suspect)
{
    for (size_t i = 0; i < flight->owner_count; i++) {
        flight->owners[i]->is_suspect = is_suspect;
        flight->owners[i]->is_refusal_told &= is_suspect;
    }
}

/* One service that etcd will not take alone either: etcd itself is not away for that. */
static void refuse_again(struct reconciler *r, struct owner *owner, const struct err *err)
{
    static struct log_limit limit = {.burst = 10};
    r->refused = *err;
    if (!owner->is_refusal_told && log_limit_pass(&limit)) {
        owner->is_refusal_told = true;
        log_warn("etcd refuses the service's keys, trying again", LOG_SLICE("service", owner->id),
                 LOG_STR("reason", err->msg));
    }
}

static void on_failed_txn(struct reconciler *r, struct flight *flight, const struct err *err)
{
    bool is_refused = err->code != ERR_UNAVAILABLE && err->code != ERR_TIMEOUT;
    struct owner *first = flight->owners[0];
    if (is_refused && first->is_suspect) {
        refuse_again(r, first, err);
    } else {
        outage_away(&r->written, err);
    }
    if (is_refused) {
        set_suspect(flight, true);
    }
    r->failures++;
    wait_before_retry(r);
    abandon(r, flight);
}

static void on_txn(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct flight *flight = data;
    struct reconciler *r = flight->reconciler;
    const struct plan *plan = &flight->batch.plan;
    flight->call = NULL;
    if (err) {
        on_failed_txn(r, flight, err);
        return;
    }
    outage_back(&r->written);
    backoff_reset(&r->backoff);
    set_suspect(flight, false);
    r->transactions++;
    histogram_observe_us(&r->transaction_time, clock_monotonic_us() - flight->sent_us);
    r->report.keys_written += plan->put_count;
    r->report.keys_deleted += plan->op_count - plan->put_count;
    flight->revision = reply->revision;
    if (!send_rest(r, flight)) {
        land_if_seen(r, flight);
    }
}

static void send_flight(struct reconciler *r, struct flight *flight)
{
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    struct etcd_txn txn = {.ops = ops, .op_count = plan_batch_ops(&flight->batch, ops)};
    flight->sent_us = clock_monotonic_us();
    flight->call = etcd_txn(r->config.etcd, &txn, on_txn, flight);
}

static struct flight *free_flight(struct reconciler *r)
{
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        if (!r->flights[i].is_used) {
            return &r->flights[i];
        }
    }
    return NULL;
}

/* ---- Planning ---- */

static void board(struct reconciler *r, struct flight *flight, struct owner *owner)
{
    owners_dequeue(r->owners, OWNER_IN_FLIGHT);
    owner->has_changed = false;
    owner->first_event = 0;
    owner->last_event = 0;
    flight->owners[flight->owner_count++] = owner;
}

static size_t plan_first(struct reconciler *r)
{
    struct owner *owner = owners_first(r->owners);
    size_t before = owner->desired_count;
    size_t work = planner_plan(&r->planner, r->owners, owner, &r->plan);
    r->report.desired += owner->desired_count - before;
    return work;
}

/* The queue's first owner, with its plan. False: the flight is full, it may have to wait for the
 * next one. */
static bool take_first(struct reconciler *r, struct flight *flight)
{
    struct owner *owner = owners_first(r->owners);
    size_t from = 0;
    if (r->plan.op_count == 0) {
        owners_dequeue(r->owners, OWNER_SETTLED);
        owners_forget_if_empty(r->owners, owner);
        return true;
    }
    if (r->plan.op_count > r->plan.put_count && !r->was_complete) {
        owners_dequeue(r->owners, OWNER_HELD);
        return true;
    }
    if (owner->is_suspect && flight->owner_count) {
        return false;
    }
    switch (plan_batch_add(&flight->batch, &r->plan, &from)) {
    case PLAN_FITS_WHOLE:
        board(r, flight, owner);
        return !owner->is_suspect;
    case PLAN_FITS_PARTLY: {
        struct plan larger = r->plan;
        r->plan = flight->rest;
        flight->rest = larger;
        flight->rest_at = from;
        board(r, flight, owner);
        return false;
    }
    case PLAN_FITS_NOT:
        break;
    }
    return false;
}

/* As many waiting owners as fit into one transaction. */
static void fill_flight(struct reconciler *r, struct flight *flight, size_t *budget)
{
    plan_batch_clear(&flight->batch);
    plan_build_nothing(&flight->rest);
    flight->rest_at = 0;
    flight->owner_count = 0;
    while (owners_first(r->owners) && *budget) {
        size_t work = plan_first(r);
        *budget -= work < *budget ? work : *budget;
        if (!take_first(r, flight)) {
            break;
        }
    }
    if (flight->owner_count) {
        flight->is_used = true;
        r->flights_used++;
        send_flight(r, flight);
    }
}

static bool can_plan(struct reconciler *r)
{
    return r->is_mirrored && !r->is_mid_publication && !ev_is_active(&r->retry) &&
           r->flights_used < FLIGHTS_MAX && owners_first(r->owners);
}

/* ---- The turn of the loop ---- */

static bool is_in_sync(const struct reconciler *r)
{
    return r->is_mirrored && r->was_complete && !r->is_mid_publication && r->flights_used == 0 &&
           owners_queued(r->owners) == 0 && owners_held(r->owners) == 0;
}

static void check_completeness(struct reconciler *r)
{
    bool is_complete = inventory_is_complete(r->config.inventory);
    if (is_complete && !r->was_complete) {
        owners_hold_release(r->owners);
    }
    r->was_complete = is_complete;
}

static void finish_drain(struct reconciler *r)
{
    void (*done)(void *data) = r->drained;
    if (done && r->flights_used == 0 && !can_plan(r)) {
        r->drained = NULL;
        done(r->drained_data);
    }
}

/* Before the loop sleeps: everything that has arrived has been told to us by then. */
static void on_turn(struct ev_loop *loop, ev_prepare *prepare, int revents UNUSED)
{
    struct reconciler *r = prepare->data;
    size_t budget = WORK_PER_TURN;
    check_completeness(r);
    while (budget && can_plan(r)) {
        fill_flight(r, free_flight(r), &budget);
    }
    if (can_plan(r)) {
        ev_idle_start(loop, &r->stay_awake);
    } else {
        ev_idle_stop(loop, &r->stay_awake);
    }
    bool has_no_work = is_in_sync(r);
    if (has_no_work) {
        outage_back(&r->written); /* what failed was done after all, or is not wanted any more */
        r->refused.msg[0] = '\0';
    }
    sync_report_update(&r->report, has_no_work);
    finish_drain(r);
}

static void on_idle(struct ev_loop *loop UNUSED, ev_idle *idle UNUSED, int revents UNUSED)
{
    /* its being active keeps the loop from sleeping */
}

/* ---- The mirror ---- */

static void on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    (void)read;
    struct reconciler *r = data;
    r->is_mid_publication = true;
    r->generation++;
}

static void on_put(void *data, const struct etcd_kv *kv)
{
    struct reconciler *r = data;
    r->is_mid_publication = true;
    owner_touched(r, owners_key_put(r->owners, kv->key, kv->value, r->generation),
                  kv->mod_revision);
}

static void on_del(void *data, struct slice key, int64_t revision)
{
    struct reconciler *r = data;
    r->is_mid_publication = true;
    owner_touched(r, owners_key_delete(r->owners, key), revision);
}

static void sweep_owner(void *data, struct owner *owner)
{
    struct reconciler *r = data;
    if (owners_sweep(r->owners, owner, r->generation)) {
        owner->has_changed = true; /* which revision deleted it is not known */
        want_look(r, owner);
    }
}

static void on_commit(void *data, int64_t revision, bool full)
{
    struct reconciler *r = data;
    r->is_mid_publication = false;
    r->revision = revision;
    if (full) {
        owners_each(r->owners, sweep_owner, r);
        r->is_mirrored = true;
        r->reads++;
    }
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &r->flights[i];
        land_if_seen(r, flight);
        if (full && flight->is_used && !flight->call) {
            abandon(r, flight); /* the store may be another one, with smaller revisions */
        }
    }
}

static void on_state(void *data, const struct err *err)
{
    struct reconciler *r = data;
    if (err) {
        outage_away(&r->followed, err);
    } else {
        outage_back(&r->followed);
    }
}

/* ---- Lifetime ---- */

/* "/skydns/local/cluster/svc/" */
static void append_prefix(const char *domain, struct buf *out)
{
    char *services = xasprintf("svc.%s", domain);
    record_key_from_name(slice_str("/skydns/"), slice_str(services), out);
    buf_append_char(out, '/');
    free(services);
}

static void init_watchers(struct reconciler *r)
{
    ev_timer_init(&r->retry, on_retry, 0.0, 0.0);
    ev_prepare_init(&r->turn, on_turn);
    ev_idle_init(&r->stay_awake, on_idle);
    r->turn.data = r;
    /* Before the etcd client's, which sends what was written during the turn. */
    ev_set_priority(&r->turn, EV_MAXPRI);
    ev_prepare_start(r->config.loop, &r->turn);
}

static const char *current_endpoint(const void *etcd)
{
    return etcd_endpoint(etcd);
}

static void join_outage(struct reconciler *r)
{
    r->followed.away_line = "etcd cannot be followed, trying again";
    r->followed.back_line = "etcd is followed";
    r->followed.endpoint = current_endpoint;
    r->followed.data = r->config.etcd;
    outage_join(r->config.outage, &r->followed, true);
    r->written.away_line = "etcd transaction failed, trying again";
    r->written.back_line = "no etcd transaction fails any more";
    outage_join(r->config.outage, &r->written, false);
}

struct reconciler *reconciler_start(const struct reconciler_config *config)
{
    struct reconciler *r = xcalloc(1, sizeof(*r));
    struct buf prefix;
    r->config = *config;
    planner_init(&r->planner, config->inventory, config->domain, config->ttl_s);
    buf_init(&prefix, PREFIX_MAX);
    append_prefix(config->domain, &prefix);
    r->owners = owners_new(buf_slice(&prefix));
    join_outage(r);
    sync_report_init(&r->report, config->loop);
    backoff_init(&r->backoff, RETRY_FIRST_MS, RETRY_MAX_MS);
    plan_init(&r->plan);
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        r->flights[i].reconciler = r;
        plan_batch_init(&r->flights[i].batch);
        plan_init(&r->flights[i].rest);
    }
    init_watchers(r);
    r->mirror = etcd_mirror_start(config->etcd, &(struct etcd_mirror_config){
                                                    .prefix = buf_slice(&prefix),
                                                    .full_begin = on_full_begin,
                                                    .put = on_put,
                                                    .del = on_del,
                                                    .commit = on_commit,
                                                    .state = on_state,
                                                    .data = r,
                                                });
    buf_fini(&prefix);
    return r;
}

void reconciler_stop(struct reconciler *r)
{
    if (!r) {
        return;
    }
    etcd_mirror_stop(r->mirror);
    outage_leave(&r->followed);
    outage_leave(&r->written);
    ev_timer_stop(r->config.loop, &r->retry);
    sync_report_fini(&r->report);
    ev_prepare_stop(r->config.loop, &r->turn);
    ev_idle_stop(r->config.loop, &r->stay_awake);
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        if (r->flights[i].call) {
            etcd_call_cancel(r->flights[i].call);
        }
        plan_batch_fini(&r->flights[i].batch);
        plan_fini(&r->flights[i].rest);
    }
    plan_fini(&r->plan);
    planner_fini(&r->planner);
    owners_free(r->owners);
    free(r);
}

/* ---- What others ask ---- */

bool reconciler_has_synced(const struct reconciler *r)
{
    return r->report.has_synced;
}

static void append_why(const struct outage_source *source, struct buf *out)
{
    if (source->is_away && source->err.msg[0]) {
        buf_printf(out, ": %s", source->err.msg);
    }
}

void reconciler_explain(const struct reconciler *r, struct buf *out)
{
    if (!r->is_mirrored) {
        buf_append_str(out, "etcd is not read yet");
        append_why(&r->followed, out);
        return;
    }
    size_t waiting = owners_queued(r->owners) + owners_held(r->owners);
    buf_printf(out, "%zu services are waiting to be written to etcd, %zu transactions in flight",
               waiting, r->flights_used);
    append_why(&r->written, out);
    if (!r->written.is_away && r->refused.msg[0]) {
        buf_printf(out, "; the last refusal was: %s", r->refused.msg);
    }
}

void reconciler_drain(struct reconciler *r, void (*done)(void *data), void *data)
{
    r->drained = done;
    r->drained_data = data;
}

struct reconciler_stats reconciler_get_stats(const struct reconciler *r)
{
    struct reconciler_stats stats = {
        .reads = r->reads,
        .keys_written = r->report.keys_written,
        .keys_deleted = r->report.keys_deleted,
        .transactions = r->transactions,
        .failures = r->failures,
        .dropped = r->planner.dropped,
        .transaction_time = &r->transaction_time,
        .revision = r->revision,
        .desired = r->report.desired,
        .actual = owners_key_count(r->owners),
        .waiting = owners_queued(r->owners) + owners_held(r->owners),
        .flights = r->flights_used,
    };
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        stats.in_flight += r->flights[i].is_used ? r->flights[i].owner_count : 0;
    }
    return stats;
}

const struct outage_source *reconciler_followed(const struct reconciler *r)
{
    return &r->followed;
}
