/* Runs the thread: its inbox, the transfers in hand, and versions in and out. */
#include "skydns/transfer/transfers.h"

#include <ev.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/client_net.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/privileges.h"
#include "common/base/threads.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/transfer/notifier_internal.h"
#include "skydns/transfer/transfer_task_internal.h"
#include "skydns/transfer/transfer_zones_internal.h"

/* Departure of one message of a transfer, or the end of its connection. */
struct departure {
    TAILQ_ENTRY(departure) entry;
    uint64_t transfer;
    bool is_gone;
};

/* Version that nobody reads any more. */
struct released {
    TAILQ_ENTRY(released) entry;
    const struct store *store;
};

/* Request on its way to the thread. */
struct asked {
    TAILQ_ENTRY(asked) entry;
    struct transfer_request request;
};

TAILQ_HEAD(departures, departure);
TAILQ_HEAD(asked_list, asked);

struct transfers {
    struct transfers_counts counts;
    struct transfers_config config;
    struct ev_loop *loop;
    pthread_t thread;
    bool started;
    ev_async filled; /* something is in the inbox */
    ev_async stop;
    _Atomic bool is_busy; /* with a step, or one is in the inbox */

    /* Fields that other threads share. */
    pthread_mutex_t lock;
    struct asked_list asked;
    struct departures departures;
    struct transfer_step *step;
    TAILQ_HEAD(, released) released;
    size_t in_hand; /* requests, from asking to their end */

    /* Fields of the thread. */
    struct transfer_zones zones;
    struct notifier *notifier;
    TAILQ_HEAD(, transfer_task) tasks;
    uint64_t newest_id;
    uint8_t message[DNS_MESSAGE_MAX];
};

static void transfers_lock(struct transfers *t)
{
    (void)pthread_mutex_lock(&t->lock); /* cannot fail: a plain mutex, not held by this thread */
}

static void transfers_unlock(struct transfers *t)
{
    (void)pthread_mutex_unlock(&t->lock); /* cannot fail: held */
}

const char *transfers_kind_text(enum transfers_kind kind)
{
    static const char *const texts[] = {"axfr", "ixfr", "soa"};
    return texts[kind];
}

const char *transfers_result_text(enum transfers_result result)
{
    static const char *const texts[] = {"sent", "lost", "failed"};
    return texts[result];
}

const struct transfers_counts *transfers_counts(const struct transfers *transfers)
{
    return &transfers->counts;
}

/* ---- Other threads ---- */

bool transfers_ask(struct transfers *t, const struct transfer_origin *origin,
                   const struct engine_query *query, struct tsig_keys *keys)
{
    if (query->len > TSIG_QUERY_MAX) {
        return false;
    }
    struct asked *asked = xmalloc(sizeof(*asked));
    asked->request = (struct transfer_request){.origin = *origin,
                                               .client = *query->client,
                                               .local = *query->local,
                                               .udp_max = t->config.udp_max,
                                               .len = query->len};
    memcpy(asked->request.wire, query->wire, query->len);
    transfers_lock(t);
    bool has_room = t->in_hand < TRANSFER_SESSIONS_MAX;
    if (has_room) {
        t->in_hand++;
        asked->request.keys = keys ? tsig_keys_ref(keys) : NULL;
        TAILQ_INSERT_TAIL(&t->asked, asked, entry);
    }
    transfers_unlock(t);
    if (!has_room) {
        free(asked);
        return false;
    }
    ev_async_send(t->loop, &t->filled);
    return true;
}

void transfers_left(struct transfers *t, uint64_t transfer, bool is_gone)
{
    struct departure *departure = xmalloc(sizeof(*departure));
    *departure = (struct departure){.transfer = transfer, .is_gone = is_gone};
    transfers_lock(t);
    TAILQ_INSERT_TAIL(&t->departures, departure, entry);
    transfers_unlock(t);
    ev_async_send(t->loop, &t->filled);
}

bool transfers_is_idle(const struct transfers *transfers)
{
    return !atomic_load_explicit(&transfers->is_busy, memory_order_acquire);
}

void transfers_give(struct transfers *t, struct transfer_step *step)
{
    atomic_store_explicit(&t->is_busy, true, memory_order_relaxed);
    transfers_lock(t);
    t->step = step;
    transfers_unlock(t);
    ev_async_send(t->loop, &t->filled);
}

const struct store *transfers_take_released(struct transfers *t)
{
    transfers_lock(t);
    struct released *released = TAILQ_FIRST(&t->released);
    if (released) {
        TAILQ_REMOVE(&t->released, released, entry);
    }
    transfers_unlock(t);
    const struct store *store = released ? released->store : NULL;
    free(released);
    return store;
}

void transfers_release(struct transfers *transfers, const struct store *store)
{
    struct transfers *t = transfers;
    struct released *released = xmalloc(sizeof(*released));
    released->store = store;
    transfers_lock(t);
    TAILQ_INSERT_TAIL(&t->released, released, entry);
    transfers_unlock(t);
    t->config.wake(t->config.data);
}

/* ---- Transfers ---- */

static void end_task(struct transfers *t, struct transfer_task *task, enum transfers_result result)
{
    transfer_task_end(task, &t->zones, result, clock_monotonic_ms(), &t->counts);
    TAILQ_REMOVE(&t->tasks, task, entry);
    counter_sub(&t->counts.running, 1);
    transfer_task_free(task);
    transfers_lock(t);
    t->in_hand--;
    transfers_unlock(t);
}

static bool is_same_connection(const struct transfer_task *a, const struct transfer_task *b)
{
    const struct transfer_origin *x = &a->request->origin, *y = &b->request->origin;
    return x->transport != ENGINE_UDP && x->transport == y->transport &&
           x->connection == y->connection;
}

/* Sends the next message; the task may be gone then. */
static void transfers_send_next(struct transfers *t, struct transfer_task *task)
{
    size_t len =
        transfer_task_next(task, &t->zones, clock_monotonic_ms(), clock_wall_s(), t->message);
    struct transfer_part *part = xmalloc(sizeof(*part) + len);
    *part = (struct transfer_part){.origin = task->request->origin,
                                   .client = task->request->client,
                                   .local = task->request->local,
                                   .transfer = task->id,
                                   .is_last = task->is_last,
                                   .len = len};
    memcpy(part->bytes, t->message, len);
    bool is_last = task->is_last;
    if (is_last) {
        end_task(t, task, len > 0 && task->is_unhurt ? TRANSFERS_SENT : TRANSFERS_FAILED);
    }
    t->config.send(t->config.data, part);
}

/* Returns whether the client has as many as are free, or more. */
static bool has_too_many(struct transfers *t, const struct transfer_task *task)
{
    const struct client_net net = client_net_of(&task->request->client);
    size_t its = 0, all = 0;
    const struct transfer_task *other;
    TAILQ_FOREACH (other, &t->tasks, entry) {
        const struct client_net others = client_net_of(&other->request->client);
        its += client_net_equal(&net, &others);
        all++;
    }
    return its + all > TRANSFER_SESSIONS_MAX + 1; /* this one is among both */
}

/* Returns whether it is the first of its connection, which goes first. */
static bool is_turn(struct transfers *t, const struct transfer_task *task)
{
    const struct transfer_task *other = TAILQ_FIRST(&t->tasks);
    while (other != task && !is_same_connection(other, task)) {
        other = TAILQ_NEXT(other, entry);
    }
    return other == task;
}

static void transfers_begin(struct transfers *t, struct transfer_task *task, bool is_refused)
{
    transfer_task_begin(task, &t->zones, clock_monotonic_ms(), is_refused);
    transfers_send_next(t, task);
}

/* Begins waiting tasks. One may end at once, so that another one's turn comes: starts from the
 * first again. */
static void begin_waiting(struct transfers *t)
{
    struct transfer_task *task = TAILQ_FIRST(&t->tasks);
    while (task) {
        if (task->has_begun || !is_turn(t, task)) {
            task = TAILQ_NEXT(task, entry);
            continue;
        }
        transfers_begin(t, task, false);
        task = TAILQ_FIRST(&t->tasks);
    }
}

/* Takes requests. One too many is refused at once, not when its connection's turn comes: there may
 * be room then. */
static void take_asked(struct transfers *t, struct asked_list *list)
{
    struct asked *asked;
    while ((asked = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, asked, entry);
        struct transfer_request *request = xmalloc(sizeof(*request));
        *request = asked->request;
        free(asked);
        struct transfer_task *task = transfer_task_new(request, ++t->newest_id);
        TAILQ_INSERT_TAIL(&t->tasks, task, entry);
        counter_add(&t->counts.running, 1);
        if (has_too_many(t, task)) {
            transfers_begin(t, task, true);
        }
    }
}

static struct transfer_task *find_task(struct transfers *t, uint64_t id)
{
    struct transfer_task *task = TAILQ_FIRST(&t->tasks);
    while (task && task->id != id) {
        task = TAILQ_NEXT(task, entry);
    }
    return task;
}

/* Ends all transfers of a lost connection. */
static void lose_connection(struct transfers *t, const struct transfer_task *lost)
{
    const struct transfer_origin origin = lost->request->origin;
    struct transfer_task *task = TAILQ_FIRST(&t->tasks), *next;
    for (; task; task = next) {
        const struct transfer_origin *other = &task->request->origin;
        next = TAILQ_NEXT(task, entry);
        if (other->transport == origin.transport && other->connection == origin.connection) {
            end_task(t, task, TRANSFERS_LOST);
        }
    }
}

static void take_departures(struct transfers *t, struct departures *list)
{
    struct departure *departure;
    while ((departure = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, departure, entry);
        struct transfer_task *task = find_task(t, departure->transfer);
        if (task && departure->is_gone) {
            lose_connection(t, task);
        } else if (task) {
            transfers_send_next(t, task);
        }
        free(departure);
    }
}

/* ---- Steps ---- */

/* Ends the oldest readers of steps that the journal dropped, one with each further step, while they
 * hold too much. */
static void bound_held(struct transfers *t)
{
    struct transfer_task *task;
    TAILQ_FOREACH (task, &t->tasks, entry) {
        if (t->zones.account.all > JOURNAL_HELD_MAX && task->kind == TRANSFERS_IXFR &&
            task->session && !task->gives_way) {
            task->gives_way = true;
            return;
        }
    }
}

/* Hears a secondary's serial, which may be of another process, before this one or beside it. */
static void on_heard(void *data, const struct dname *apex, uint32_t theirs, bool is_first)
{
    struct transfers *t = data;
    char zone[DNAME_TEXT_MAX];
    uint32_t serial;
    if (transfer_zones_hear(&t->zones, apex, theirs, is_first, &serial)) {
        log_info("a secondary has a later serial, going on above it",
                 LOG_STR("zone", dname_to_text(apex, zone)), LOG_INT("theirs", (int64_t)theirs),
                 LOG_INT("serial", (int64_t)serial));
        notifier_tell(t->notifier, apex, serial);
    }
}

static void transfers_take_step(struct transfers *t, struct transfer_step *step)
{
    notifier_set_targets(t->notifier, step->targets, step->target_count);
    if (step->config) {
        notifier_ask_serials(t->notifier);
    }
    (void)transfer_zones_step(&t->zones, step);
    if (!step->store) {
        notifier_forget(t->notifier);
    }
    for (size_t i = 0; i < t->zones.count; i++) {
        const struct transfer_zone *zone = &t->zones.items[i];
        if (!step->zones[i].is_incomplete) {
            notifier_tell(t->notifier, &zone->apex, zone->journal.serial);
        }
    }
    counter_set(&t->counts.journal_bytes, t->zones.account.all);
    bound_held(t);
    free(step);
    atomic_store_explicit(&t->is_busy, false, memory_order_release);
    t->config.wake(t->config.data);
}

/* ---- The loop ---- */

static void transfers_on_filled(struct ev_loop *loop UNUSED, ev_async *filled, int revents UNUSED)
{
    struct transfers *t = filled->data;
    struct asked_list asked = TAILQ_HEAD_INITIALIZER(asked);
    struct departures departures = TAILQ_HEAD_INITIALIZER(departures);
    transfers_lock(t);
    TAILQ_CONCAT(&asked, &t->asked, entry);
    TAILQ_CONCAT(&departures, &t->departures, entry);
    struct transfer_step *step = t->step;
    t->step = NULL;
    transfers_unlock(t);
    if (step) {
        transfers_take_step(t, step);
    }
    take_departures(t, &departures); /* their places are free for what was asked after them */
    take_asked(t, &asked);
    begin_waiting(t);
}

static void transfers_on_stop(struct ev_loop *loop, ev_async *stop UNUSED, int revents UNUSED)
{
    ev_break(loop, EVBREAK_ALL);
}

static void *transfers_run(void *data)
{
    struct transfers *t = data;
    low_priority_thread(TRANSFER_NICE);
    privileges_drop_thread();
    (void)pthread_setname_np(pthread_self(), "transfers"); /* for top and gdb only */
    ev_run(t->loop, 0);
    return NULL;
}

/* ---- Life ---- */

int transfers_new(const struct transfers_config *config, struct transfers **ret_transfers,
                  struct err *err)
{
    struct transfers *t = xcalloc(1, sizeof(*t));
    t->config = *config;
    t->loop = ev_loop_new(EVFLAG_AUTO);
    if (!t->loop) {
        free(t);
        return err_set(err, ERR_UNAVAILABLE, "no event loop: too few descriptors?");
    }
    (void)pthread_mutex_init(&t->lock, NULL); /* cannot fail without attributes */
    TAILQ_INIT(&t->asked);
    TAILQ_INIT(&t->departures);
    TAILQ_INIT(&t->released);
    TAILQ_INIT(&t->tasks);
    transfer_zones_init(&t->zones, t);
    t->notifier = notifier_new(&(struct notifier_config){.loop = t->loop,
                                                         .from = t->config.notify_from,
                                                         .counts = &t->counts,
                                                         .pause_ms = NOTIFY_PAUSE_MS,
                                                         .heard = on_heard,
                                                         .data = t});
    ev_async_init(&t->filled, transfers_on_filled);
    t->filled.data = t;
    ev_async_start(t->loop, &t->filled);
    ev_async_init(&t->stop, transfers_on_stop);
    ev_async_start(t->loop, &t->stop);
    *ret_transfers = t;
    return 0;
}

int transfers_start(struct transfers *t, struct err *err)
{
    int r = -pthread_create(&t->thread, NULL, transfers_run, t);
    if (r < 0) {
        return err_set(err, r, "start the transfers: %s", err_code_text(r));
    }
    t->started = true;
    return 0;
}

void transfers_stop(struct transfers *t)
{
    if (t->started) {
        ev_async_send(t->loop, &t->stop);
        (void)pthread_join(t->thread, NULL); /* cannot fail for a thread of ours */
        t->started = false;
    }
}

static void free_inbox(struct transfers *t)
{
    struct asked *asked;
    struct departure *departure;
    while ((asked = TAILQ_FIRST(&t->asked))) {
        TAILQ_REMOVE(&t->asked, asked, entry);
        tsig_keys_unref(asked->request.keys);
        free(asked);
    }
    while ((departure = TAILQ_FIRST(&t->departures))) {
        TAILQ_REMOVE(&t->departures, departure, entry);
        free(departure);
    }
    if (t->step) {
        engine_config_free(t->step->config);
        free(t->step);
    }
}

static void transfers_ignore(void *data UNUSED)
{
}

void transfers_free(struct transfers *t)
{
    struct transfer_task *task;
    if (!t) {
        return;
    }
    t->config.wake = transfers_ignore; /* nobody takes what is released now */
    while ((task = TAILQ_FIRST(&t->tasks))) {
        TAILQ_REMOVE(&t->tasks, task, entry);
        transfer_task_free(task);
    }
    transfer_zones_fini(&t->zones);
    notifier_free(t->notifier);
    free_inbox(t);
    while (transfers_take_released(t)) {
    }
    (void)pthread_mutex_destroy(&t->lock); /* nobody holds it */
    ev_loop_destroy(t->loop);
    free(t);
}
