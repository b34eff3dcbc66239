#include "kube2sky/reconcile/flights_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/owner_groups_internal.h"

struct flights {
    struct flights_config config;
    int64_t revisions[KEY_FEEDS]; /* of the mirrors */
    struct etcd_op *ops;          /* room for those of one transaction */
    struct etcd_compare *compares;
    struct flight items[FLIGHTS_MAX];
};

struct flights *flights_new(const struct flights_config *config)
{
    struct flights *flights = xcalloc(1, sizeof(*flights));
    /* Each operation may have a condition, and etcd counts both. */
    size_t ops_max = config->ops_max - (config->condition != NULL);
    flights->config = *config;
    flights->compares = xcalloc(config->ops_max + 1, sizeof(*flights->compares)); /* the guard */
    flights->ops = xcalloc(config->ops_max, sizeof(*flights->ops));
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &flights->items[i];
        flight->flights = flights;
        flight->passengers = xcalloc(config->ops_max, sizeof(*flight->passengers));
        plan_batch_init(&flight->batch, ops_max);
        plan_init(&flight->rest);
    }
    return flights;
}

void flights_free(struct flights *flights)
{
    if (!flights) {
        return;
    }
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &flights->items[i];
        if (flight->call) {
            etcd_call_cancel(flight->call);
        }
        plan_batch_fini(&flight->batch);
        plan_fini(&flight->rest);
        free(flight->passengers);
    }
    free(flights->compares);
    free(flights->ops);
    free(flights);
}

/* ---- Landing ---- */

/* Unless its transaction is the only thing that happened to the owner. No event at all does not
 * prove it: an etcd restored from an older copy reuses acknowledged revisions. (If only reverse
 * keys were written, which belong to no owner, planning finds nothing to do.) */
static bool needs_look(const struct owner *owner, int64_t revision)
{
    return owner->has_changed || owner->is_partial || owner->first_event != revision ||
           owner->last_event != revision;
}

static bool has_event_of_others(const struct owner *owner, int64_t revision)
{
    return (owner->first_event && owner->first_event != revision) ||
           (owner->last_event && owner->last_event != revision);
}

static void land(struct flight *flight)
{
    const struct flights_config *config = &flight->flights->config;
    bool is_whole = flight->state == FLIGHT_DONE && flight->rest.op_count == 0;
    flight->state = FLIGHT_FREE;
    for (size_t i = 0; i < flight->passenger_count; i++) {
        struct owner *owner = flight->passengers[i].owner;
        owner->is_disturbed |= is_whole && has_event_of_others(owner, flight->revision);
        config->landed(config->data, owner, needs_look(owner, flight->revision));
    }
    flight->is_large = false;
    plan_batch_clear(&flight->batch); /* not kept for the next large owner */
    plan_build_nothing(&flight->rest);
}

/* Planning against the mirror finds what is left to do. */
static void want_look(struct flight *flight)
{
    for (size_t i = 0; i < flight->passenger_count; i++) {
        struct passenger *passenger = &flight->passengers[i];
        passenger->owner->has_changed = true;
        passenger->owner->is_disturbed |= passenger->is_restoring || passenger->owner->is_overtaken;
        if (passenger->changed_us) {
            passenger->owner->changed_us = passenger->changed_us;
        }
    }
}

static void land_undone(struct flight *flight)
{
    want_look(flight);
    land(flight);
}

/* Whether the transaction is conditional on this operation's key. */
static bool is_condition(const struct flight *flight, size_t at)
{
    const struct flights_config *config = &flight->flights->config;
    const struct plan_op *op = &flight->batch.plan.ops[at];
    return at == flight->probe || op->kind == ETCD_OP_DELETE || config->spares_others ||
           flight->class == OWNER_CONFIG ||
           config->is_contested(plan_get(&flight->batch.plan, at).key);
}

/* Whether the key of this operation has changed since it was planned. */
static bool is_stale(const struct flight *flight, size_t at)
{
    const struct plan *plan = &flight->batch.plan;
    const struct flights_config *config = &flight->flights->config;
    return is_condition(flight, at) &&
           config->key_revision(config->data, plan_get(plan, at).key) != plan->ops[at].revision;
}

/* Whether a condition is seen to have failed. Marks the owners whose keys those are. */
static bool is_seen_stale(const struct flight *flight)
{
    const struct flights_config *config = &flight->flights->config;
    const struct etcd_compare *guard = &flight->guard;
    size_t at = 0;
    bool is_seen =
        guard->key.len && config->key_revision(config->data, guard->key) != guard->revision;
    for (size_t i = 0; i < flight->passenger_count; i++) {
        size_t end = flight_op_end(flight, i);
        struct owner *owner = flight->passengers[i].owner;
        for (; at < end; at++) {
            owner->is_overtaken |= is_stale(flight, at);
        }
        is_seen |= owner->is_overtaken;
    }
    return is_seen;
}

static bool is_reached(const struct flight *flight)
{
    bool is = true;
    for (size_t feed = 0; feed < KEY_FEEDS; feed++) {
        is &=
            !(flight->awaited >> feed & 1) || flight->revision <= flight->flights->revisions[feed];
    }
    return is;
}

static void land_if_seen(struct flight *flight)
{
    if (flight->state == FLIGHT_DONE && is_reached(flight)) {
        (flight->is_void ? land_undone : land)(flight);
    } else if (flight->state == FLIGHT_STALE && (is_seen_stale(flight) || is_reached(flight))) {
        land_undone(flight);
    }
}

/* After a full read its changes cannot be told from others'. */
static void note_read(struct flight *flight, enum key_feed_id feed)
{
    bool is_waiting = flight->state == FLIGHT_DONE || flight->state == FLIGHT_STALE ||
                      flight->state == FLIGHT_UNFINISHED;
    if (is_waiting && flight->awaited >> feed & 1) {
        flight->awaited &= ~(1u << feed);
        flight->is_void = true;
        land_if_seen(flight);
    }
}

void flights_on_mirror(struct flights *flights, enum key_feed_id feed, int64_t revision,
                       bool is_full)
{
    flights->revisions[feed] = revision;
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &flights->items[i];
        land_if_seen(flight);
        if (is_full) {
            note_read(flight, feed);
        }
    }
}

void flights_on_condition(struct flights *flights)
{
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &flights->items[i];
        if (flight->state == FLIGHT_UNFINISHED) {
            flight->passengers[0].owner->has_changed = true;
        } else if (flight->state == FLIGHT_STALE) {
            land_undone(flight);
        }
    }
}

/* ---- Sending ---- */

bool flight_is_complete(const struct flight *flight)
{
    return flight->rest_at == flight->rest.op_count;
}

size_t flight_op_end(const struct flight *flight, size_t passenger)
{
    bool is_last = passenger + 1 == flight->passenger_count;
    return is_last ? flight->batch.plan.op_count : flight->passengers[passenger].op_end;
}

bool flight_rest_has_puts(const struct flight *flight)
{
    return flight->rest_at < flight->rest.put_count;
}

/* Calls fn for each namespace aboard, whose owners lie together. */
static void each_group(const struct flight *flight, void (*fn)(const struct owner *owner))
{
    const struct owner_group *last = NULL;
    for (size_t i = 0; i < flight->passenger_count; i++) {
        const struct owner *owner = flight->passengers[i].owner;
        if (owner->group != last) {
            fn(owner);
        }
        last = owner->group;
    }
}

/* etcd has answered, one way or the other. */
static void end_turns(const struct flight *flight)
{
    each_group(flight, owners_end_turn);
}

/* The owner is planned anew, from what the mirror shows after the parts that were written. */
static void drop_rest(struct flight *flight)
{
    flight->state = FLIGHT_DONE;
    want_look(flight); /* its change is still to be written */
    if (flight->is_void) {
        land(flight);
    } else {
        land_if_seen(flight);
    }
}

void flight_continue(struct flight *flight, bool may_send)
{
    const struct passenger *first = &flight->passengers[0];
    assert(flight->state == FLIGHT_UNFINISHED);
    owners_dequeue_rest(first->owner);
    if (first->owner->has_changed || flight->is_void || !may_send) {
        drop_rest(flight);
        return;
    }
    plan_batch_clear(&flight->batch);
    plan_batch_add(&flight->batch, &flight->rest, &flight->rest_at);
    owners_charge(first->owner, flight->batch.size, 0);
    owners_begin_turn(first->owner);
    flight_send(flight);
}

static void ask(struct flight *flight);

static void fail(struct flight *flight, const struct err *err)
{
    const struct flights_config *config = &flight->flights->config;
    bool is_refused =
        err->code == ERR_REFUSED || err->code == ERR_NOT_FOUND || err->code == ERR_TOO_LARGE;
    log_debug("transaction failed", LOG_STR("reason", err->msg),
              LOG_INT("may_have_happened", !is_refused),
              LOG_INT("owners", (int64_t)flight->passenger_count));
    config->failed(config->data, flight, is_refused ? FLIGHT_REFUSED : FLIGHT_UNCERTAIN, err);
    if (is_refused) {
        end_turns(flight);
        land_undone(flight);
    } else {
        ask(flight);
    }
}

static void on_txn(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct flight *flight = data;
    const struct flights_config *config = &flight->flights->config;
    flight->call = NULL;
    if (err) {
        fail(flight, err);
        return;
    }
    end_turns(flight);
    flight->revision = reply->revision;
    flight->state = reply->succeeded ? FLIGHT_DONE : FLIGHT_STALE;
    if (reply->succeeded) {
        config->acknowledged(config->data, flight);
    } else {
        log_debug("transaction not applied: a key or the leader changed",
                  LOG_INT("revision", reply->revision),
                  LOG_INT("owners", (int64_t)flight->passenger_count));
        config->refuted(config->data);
    }
    if (reply->succeeded && !flight_is_complete(flight)) {
        flight->state = FLIGHT_UNFINISHED;
        owners_enqueue_rest(flight->passengers[0].owner, flight);
    } else {
        land_if_seen(flight);
    }
}

/* A put if there is one: its key shows the revision. */
static size_t probe_of(const struct plan *plan)
{
    size_t at = 0;
    while (at < plan->op_count && plan->ops[at].kind != ETCD_OP_PUT) {
        at++;
    }
    return at < plan->op_count ? at : 0;
}

/* Fills flights->compares; returns how many. */
static size_t collect_conditions(const struct flight *flight)
{
    const struct flights *flights = flight->flights;
    const struct flights_config *config = &flights->config;
    const struct plan *plan = &flight->batch.plan;
    size_t count = 0;
    for (size_t i = 0; i < plan->op_count; i++) {
        if (is_condition(flight, i)) {
            flights->compares[count++] = (struct etcd_compare){
                .target = ETCD_COMPARE_MOD_REVISION,
                .key = plan_get(plan, i).key,
                .revision = plan->ops[i].revision,
            };
        }
    }
    if (flight->guard.key.len) {
        flights->compares[count++] = flight->guard;
    }
    if (config->condition) {
        flights->compares[count++] = config->condition(config->data);
    }
    return count;
}

/* Those that show its keys. */
static unsigned feeds_of(const struct flight *flight)
{
    const struct plan *plan = &flight->batch.plan;
    unsigned own = 1u << owner_class_feed(flight->class), feeds = 0;
    for (size_t i = 0; i < plan->op_count; i++) {
        bool is_record = slice_has_prefix(plan_get(plan, i).key, slice_str(SKYDNS_TREE));
        feeds |= is_record ? 1u << KEY_FEED_RECORDS : own;
    }
    return feeds;
}

void flight_send(struct flight *flight)
{
    const struct flights *flights = flight->flights;
    const struct flights_config *config = &flights->config;
    flight->probe = probe_of(&flight->batch.plan);
    flight->awaited = feeds_of(flight);
    flight->was_doubtful = false;
    const struct etcd_txn txn = {
        .compares = flights->compares,
        .compare_count = collect_conditions(flight),
        .ops = flights->ops,
        .op_count = plan_batch_ops(&flight->batch, flights->ops),
    };
    log_debug("transaction sent", LOG_INT("operations", (int64_t)txn.op_count),
              LOG_INT("puts", (int64_t)flight->batch.plan.put_count),
              LOG_INT("conditions", (int64_t)txn.compare_count),
              LOG_INT("owners", (int64_t)flight->passenger_count));
    flight->state = FLIGHT_SENT;
    flight->sent_us = clock_monotonic_us();
    flight->call = etcd_txn(config->etcd, &txn, on_txn, flight);
}

/* ---- Did it happen? ---- */

/* All its keys changed at once, so one speaks for all. If others changed it since, "yes" looks like
 * "no", which costs only an empty plan. */
static bool has_happened(const struct etcd_op *op, const struct etcd_kv *kv)
{
    return op->kind == ETCD_OP_PUT ? kv && slice_equal(kv->value, op->value) : !kv;
}

static void on_answer(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct flight *flight = data;
    const struct flights_config *config = &flight->flights->config;
    const struct etcd_op op = plan_get(&flight->batch.plan, flight->probe);
    flight->call = NULL;
    if (err) {
        config->failed(config->data, flight, FLIGHT_UNCERTAIN, err);
        return;
    }
    const struct etcd_kv *kv = reply->count ? &reply->kvs[0] : NULL;
    log_debug("outcome of an uncertain transaction", LOG_SLICE("key", op.key),
              LOG_INT("has_happened", has_happened(&op, kv)));
    end_turns(flight);
    want_look(flight); /* somebody else may have written the same value */
    if (!has_happened(&op, kv)) {
        land(flight);
        return;
    }
    flight->state = kv ? FLIGHT_DONE : FLIGHT_STALE; /* the revision of a delete is unknown */
    flight->revision = kv ? kv->mod_revision : reply->revision;
    config->acknowledged(config->data, flight);
    land_if_seen(flight);
}

static void ask(struct flight *flight)
{
    const struct etcd_range range = {.key = plan_get(&flight->batch.plan, flight->probe).key};
    flight->state = FLIGHT_DOUBTFUL;
    flight->was_doubtful = true;
    flight->call = etcd_range(flight->flights->config.etcd, &range, on_answer, flight);
}

void flights_ask_again(struct flights *flights)
{
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *flight = &flights->items[i];
        if (flight->state == FLIGHT_DOUBTFUL && !flight->call) {
            ask(flight);
        }
    }
}

/* ---- Filling ---- */

static size_t count_of(const struct flights *flights, enum owner_class class,
                       enum flight_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        const struct flight *flight = &flights->items[i];
        n += flight->state == state && flight->class == class;
    }
    return n;
}

size_t flights_large_free(const struct flights *flights)
{
    size_t n = FLIGHTS_LARGE_MAX;
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        n -= flights->items[i].is_large;
    }
    return n;
}

size_t flights_used_by(const struct flights *flights, enum owner_class class)
{
    size_t n = 0;
    for (int state = FLIGHT_FREE + 1; state <= FLIGHT_UNFINISHED; state++) {
        n += count_of(flights, class, (enum flight_state)state);
    }
    return n;
}

size_t flights_used(const struct flights *flights)
{
    size_t n = 0;
    for (int class = 0; class < OWNER_CLASSES; class ++) {
        n += flights_used_by(flights, (enum owner_class) class);
    }
    return n;
}

size_t flights_busy(const struct flights *flights, bool is_paused)
{
    size_t n = flights_used(flights);
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        const struct flight *flight = &flights->items[i];
        n -= (flight->state == FLIGHT_DOUBTFUL && !flight->call) ||
             (flight->state == FLIGHT_UNFINISHED && is_paused);
    }
    return n;
}

size_t flights_passengers(const struct flights *flights)
{
    size_t n = 0;
    for (size_t i = 0; i < FLIGHTS_MAX; i++) {
        const struct flight *flight = &flights->items[i];
        n += flight->state != FLIGHT_FREE ? flight->passenger_count : 0;
    }
    return n;
}

bool flights_has_free(const struct flights *flights, enum owner_class class, bool is_further)
{
    if (class != OWNER_RECORDS) {
        return !is_further && flights_used_by(flights, class) == 0;
    }
    size_t sent = count_of(flights, class, FLIGHT_SENT) + count_of(flights, class, FLIGHT_DOUBTFUL);
    return sent < (is_further ? FLIGHTS_FURTHER_MAX : FLIGHTS_SENT_MAX) &&
           flights_used_by(flights, class) < FLIGHTS_RECORDS_MAX;
}

struct flight *flights_open(struct flights *flights, enum owner_class class)
{
    struct flight *flight = flights->items;
    while (flight->state != FLIGHT_FREE) {
        flight++;
        assert(flight < flights->items + FLIGHTS_MAX);
    }
    flight->class = class;
    flight->state = FLIGHT_FILLING;
    flight->is_void = false;
    flight->guard = (struct etcd_compare){.revision = 0};
    flight->passenger_count = 0;
    plan_batch_clear(&flight->batch);
    plan_build_nothing(&flight->rest);
    flight->rest_at = 0;
    return flight;
}

void flight_close(struct flight *flight)
{
    flight->state = FLIGHT_FREE;
}

bool flight_has_room_for_others(const struct flight *flight)
{
    return flight->batch.size < FLIGHT_SHARED_BYTES;
}

static bool has_aboard(const struct flight *flight, const struct owner_group *group)
{
    size_t count = flight->passenger_count;
    return count && flight->passengers[count - 1].owner->group == group;
}

enum plan_fit flight_board(struct flight *flight, struct owners *owners, struct owner *owner,
                           struct plan *plan)
{
    size_t from = 0, size = flight->batch.size;
    enum plan_fit fit = plan_batch_add(&flight->batch, plan, &from);
    bool may_be_large =
        owner->has_place || flights_large_free(flight->flights) > owners_promised_places(owners);
    if (fit == PLAN_FITS_PARTLY && !may_be_large) {
        plan_batch_clear(&flight->batch);
        fit = PLAN_FITS_NOT;
    }
    if (fit == PLAN_FITS_NOT) {
        return fit;
    }
    if (fit == PLAN_FITS_PARTLY) {
        struct plan larger = *plan;
        *plan = flight->rest;
        flight->rest = larger;
        flight->rest_at = from;
        flight->is_large = true;
    }
    owners_dequeue(owners, owner, OWNER_IN_FLIGHT);
    owners_charge(owner, flight->batch.size - size, 0);
    if (!has_aboard(flight, owner->group)) {
        owners_begin_turn(owner);
    }
    flight->passengers[flight->passenger_count++] = (struct passenger){
        .owner = owner,
        .changed_us = owner->changed_us,
        .op_end = flight->batch.plan.op_count,
        .is_restoring = owner->is_disturbed && !owner->changed_us,
    };
    owner->has_changed = false;
    owner->is_overtaken = false;
    owner->is_disturbed = false;
    owner->changed_us = 0;
    owner->first_event = 0;
    owner->last_event = 0;
    return fit;
}
