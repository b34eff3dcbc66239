#include "skydns/upstream/forwarder.h"

#include <stdlib.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"
#include "skydns/upstream/exchange_internal.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/upstream_health_internal.h"
#include "skydns/upstream/upstreams.h"

/* Chains in the table of questions in flight; at the limit, some ten questions per chain. */
enum { TABLE_SIZE = 1024 };

struct waiter {
    STAILQ_ENTRY(waiter) entry;
    forwarder_cb cb;
    void *data;
};

struct
try {
    struct flight *flight;
    struct addr server;
    struct exchange *exchange; /* NULL: not started, or over */
    bool is_noted;             /* its silence was counted as a failure of the server */
};

/* A question in flight. */
struct flight {
    LIST_ENTRY(flight) entry;
    struct forwarder *owner;
    struct upstream_question question;
    STAILQ_HEAD(, waiter) waiters;
    ev_timer step;       /* until the next try */
    ev_timer deadline;   /* fires at once when all tries have failed */
    struct buf fallback; /* SERVFAIL or REFUSED, if nothing better comes */
    double step_s;
    size_t server_count;
    size_t begun; /* tries */
    size_t open;  /* of them */
    struct try tries[UPSTREAMS_MAX + 1];
};

struct forwarder {
    struct forwarder_config config;
    struct upstream_health *health;
    bool rotate;
    uint32_t timeout_ms;
    uint32_t seed;
    size_t sockets;
    uint64_t finished; /* questions */
    struct forwarder_counts counts;
    LIST_HEAD(flights, flight) table[TABLE_SIZE];
};

/* ---- The end of a question ---- */

/* Passes the exchange to the caller; NULL: there is none. */
static struct exchange *detach(struct try *t)
{
    struct exchange *exchange = STEAL(t->exchange);
    if (exchange) {
        t->flight->open--;
        t->flight->owner->sockets--;
    }
    return exchange;
}

static void close_try(struct try *t)
{
    exchange_free(detach(t));
}

/* Takes it out of the table, so that the same question can be asked again, and closes its sockets,
 * since the waiters' own questions may need the descriptors. */
static void withdraw(struct flight *flight)
{
    struct forwarder *f = flight->owner;
    ev_timer_stop(f->config.loop, &flight->step);
    ev_timer_stop(f->config.loop, &flight->deadline);
    for (size_t i = 0; i < flight->begun; i++) {
        close_try(&flight->tries[i]);
    }
    LIST_REMOVE(flight, entry);
    counter_sub(&f->counts.questions, 1);
}

static void free_flight(struct flight *flight)
{
    struct waiter *w;
    while ((w = STAILQ_FIRST(&flight->waiters))) {
        STAILQ_REMOVE_HEAD(&flight->waiters, entry);
        free(w);
    }
    buf_fini(&flight->fallback);
    free(flight);
}

static void finish(struct flight *flight, const uint8_t *reply, size_t len)
{
    struct waiter *w;
    withdraw(flight);
    flight->owner->finished++;
    STAILQ_FOREACH(w, &flight->waiters, entry)
    {
        w->cb(w->data, reply, len);
    }
    free_flight(flight);
}

/* Out of time. A truncated reply is better than none: the client then asks over TCP itself. */
static void finish_late(struct flight *flight)
{
    struct buf kept;
    char name[DNAME_TEXT_MAX];
    log_debug("question ends without a good reply",
              LOG_STR("name", dname_to_text(&flight->question.name, name)),
              LOG_INT("tries", (int64_t)flight->begun), LOG_INT("silent", (int64_t)flight->open));
    buf_init(&kept, DNS_MESSAGE_MAX);
    for (size_t i = 0; i < flight->begun; i++) {
        struct try *t = &flight->tries[i];
        struct slice truncated = t->exchange ? exchange_truncated(t->exchange) : slice_of(NULL, 0);
        if (truncated.len > 0 && kept.len == 0) {
            buf_append_slice(&kept, truncated);
        }
        if (t->exchange && truncated.len == 0 && !t->is_noted) {
            upstream_health_failed(flight->owner->health, &t->server);
        }
    }
    if (kept.len == 0) {
        buf_append_slice(&kept, buf_slice(&flight->fallback));
    }
    finish(flight, kept.len ? kept.data : NULL, kept.len);
    buf_fini(&kept);
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int revents)
{
    (void)loop;
    (void)revents;
    finish_late(timer->data);
}

/* ---- Tries ---- */

static void log_try(const struct try *t)
{
    const struct upstream_question *question = &t->flight->question;
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX], server[ADDR_TEXT_MAX];
    if (t->exchange) {
        log_debug("question sent", LOG_STR("name", dname_to_text(&question->name, name)),
                  LOG_STR("type", dns_type_text(question->type, type)),
                  LOG_STR("server", addr_format(&t->server, server)),
                  LOG_INT("try", t - t->flight->tries + 1));
    } else {
        log_debug("question not sent: no route or no socket",
                  LOG_STR("name", dname_to_text(&question->name, name)),
                  LOG_STR("server", addr_format(&t->server, server)));
    }
}

/* reply NULL: the nameserver is unreachable. */
static void log_reply(const struct try *t, const uint8_t *reply)
{
    char name[DNAME_TEXT_MAX], server[ADDR_TEXT_MAX];
    if (reply) {
        log_debug("reply from nameserver",
                  LOG_STR("name", dname_to_text(&t->flight->question.name, name)),
                  LOG_STR("server", addr_format(&t->server, server)),
                  LOG_INT("rcode", reply[3] & DNS_MASK_RCODE));
    } else {
        log_debug("nameserver cannot be reached",
                  LOG_STR("name", dname_to_text(&t->flight->question.name, name)),
                  LOG_STR("server", addr_format(&t->server, server)));
    }
}

static void on_exchange(void *data, const uint8_t *reply, size_t len);

/* Whether a try may have a socket. At the limit, closes the question's own oldest ones. A further
 * try does so at half of it, so that many questions to a silent server leave sockets for others;
 * but a truncated reply is kept. */
static bool make_room(struct flight *flight)
{
    struct forwarder *f = flight->owner;
    size_t max = f->config.sockets_max;
    size_t soft_max = flight->begun > 1 ? max / 2 : max;
    for (size_t i = 0; i < flight->begun && f->sockets >= soft_max; i++) {
        struct try *t = &flight->tries[i];
        if (t->exchange && (f->sockets >= max || exchange_truncated(t->exchange).len == 0)) {
            close_try(t);
        }
    }
    return f->sockets < max;
}

static bool begin_try(struct flight *flight, struct try *t)
{
    struct forwarder *f = flight->owner;
    const struct exchange_config config = {
        .loop = f->config.loop,
        .server = &t->server,
        .random_case = f->config.random_case,
        .counts = &f->counts,
        .done = on_exchange,
        .data = t,
    };
    t->exchange = make_room(flight) ? exchange_start(&config, &flight->question) : NULL;
    log_try(t);
    if (t->exchange) {
        flight->open++;
        f->sockets++;
    }
    return t->exchange != NULL;
}

/* Tries the next reachable server, or ends the question (from the loop, not in the asker). */
static void next_try(struct flight *flight)
{
    struct ev_loop *loop = flight->owner->config.loop;
    ev_timer_stop(loop, &flight->step);
    while (flight->begun <= flight->server_count) {
        struct try *t = &flight->tries[flight->begun++];
        if (begin_try(flight, t)) {
            ev_timer_set(&flight->step, flight->step_s, 0.);
            ev_timer_start(loop, &flight->step);
            return;
        }
        upstream_health_failed(flight->owner->health, &t->server);
    }
    if (flight->open == 0) {
        ev_timer_stop(loop, &flight->deadline);
        ev_timer_set(&flight->deadline, 0., 0.);
        ev_timer_start(loop, &flight->deadline);
    }
}

static void on_step(struct ev_loop *loop, ev_timer *timer, int revents)
{
    struct flight *flight = timer->data;
    struct try *last = &flight->tries[flight->begun - 1];
    (void)loop;
    (void)revents;
    if (last->exchange && exchange_truncated(last->exchange).len == 0) {
        char server[ADDR_TEXT_MAX];
        log_debug("no reply yet", LOG_STR("server", addr_format(&last->server, server)),
                  LOG_INT("after_ms", (int64_t)(flight->step_s * 1000)));
        last->is_noted = true;
        upstream_health_failed(flight->owner->health, &last->server);
    }
    next_try(flight);
}

/* The server cannot or will not answer; another one may. */
static bool is_refusal(const uint8_t *reply)
{
    unsigned rcode = reply[3] & DNS_MASK_RCODE;
    return rcode == DNS_RCODE_SERVFAIL || rcode == DNS_RCODE_REFUSED;
}

/* Header and question: what else a refusal has is of no use, and may be 64 KiB. */
static void keep_refusal(struct flight *flight, const uint8_t *reply)
{
    enum { COUNTS_AT = 6, COUNTS_SIZE = 6, TYPE_AND_CLASS = 4 };
    static const uint8_t no_records[COUNTS_SIZE];
    struct buf *kept = &flight->fallback;
    buf_clear(kept);
    buf_append(kept, reply, COUNTS_AT);
    buf_append(kept, no_records, sizeof(no_records));
    buf_append(kept, reply + DNS_HEADER_SIZE, flight->question.name.len + TYPE_AND_CLASS);
}

static void on_exchange(void *data, const uint8_t *reply, size_t len)
{
    struct try *t = data;
    struct flight *flight = t->flight;
    struct exchange *exchange = detach(t); /* it owns the reply */
    bool others_left = flight->begun < flight->server_count;
    log_reply(t, reply);
    if (!reply) {
        exchange_free(exchange);
        upstream_health_failed(flight->owner->health, &t->server);
        next_try(flight);
        return;
    }
    upstream_health_answered(flight->owner->health, &t->server);
    if (!is_refusal(reply) || (!others_left && flight->open == 0)) {
        finish(flight, reply, len);
    } else {
        keep_refusal(flight, reply);
        if (others_left) {
            next_try(flight);
        }
    }
    exchange_free(exchange);
}

/* ---- Questions ---- */

static struct flight *find_flight(const struct forwarder *f, const struct upstream_question *q,
                                  uint32_t hash)
{
    struct flight *flight;
    LIST_FOREACH(flight, &f->table[hash % TABLE_SIZE], entry)
    {
        if (upstream_question_equal(&flight->question, q)) {
            return flight;
        }
    }
    return NULL;
}

/* Every server once, in order, then the first one again. */
static size_t plan_tries(struct flight *flight, unsigned rotation)
{
    struct forwarder *f = flight->owner;
    struct addr order[UPSTREAMS_MAX];
    size_t n = upstream_health_order(f->health, f->rotate ? rotation : 0, order);
    for (size_t i = 0; i < n; i++) {
        flight->tries[i] = (struct try){.flight = flight, .server = order[i]};
    }
    flight->tries[n] = (struct try){.flight = flight, .server = order[0]};
    return n;
}

/* Timers have the lowest priority, so that replies that have arrived are read before a timeout
 * counts. */
static void init_timer(ev_timer *timer, void (*fn)(struct ev_loop *, ev_timer *, int),
                       struct flight *flight)
{
    ev_init(timer, fn);
    ev_set_priority(timer, EV_MINPRI);
    timer->data = flight;
}

static struct flight *new_flight(struct forwarder *f, const struct upstream_question *question,
                                 unsigned rotation)
{
    struct flight *flight = xcalloc(1, sizeof(*flight));
    double timeout_s = f->timeout_ms / 1000.0;
    flight->owner = f;
    flight->question = *question;
    flight->server_count = plan_tries(flight, rotation);
    flight->step_s = 2 * timeout_s / (double)(flight->server_count + 1);
    STAILQ_INIT(&flight->waiters);
    buf_init(&flight->fallback, DNS_HEADER_SIZE + DNAME_MAX + 4);
    init_timer(&flight->step, on_step, flight);
    init_timer(&flight->deadline, on_deadline, flight);
    ev_timer_set(&flight->deadline, 2 * timeout_s, 0.);
    ev_timer_start(f->config.loop, &flight->deadline);
    return flight;
}

static void wait_for(struct flight *flight, forwarder_cb cb, void *data)
{
    struct waiter *w = xmalloc(sizeof(*w));
    *w = (struct waiter){.cb = cb, .data = data};
    STAILQ_INSERT_TAIL(&flight->waiters, w, entry);
}

static bool is_full(const struct forwarder *f)
{
    if (f->sockets < f->config.sockets_max) {
        return false;
    }
    static struct log_limit limit = {.burst = 1};
    if (log_limit_pass(&limit)) {
        log_warn("too many queries waiting for nameservers, refusing more",
                 LOG_INT("waiting", (int64_t)counter_get(&f->counts.questions)));
    }
    return true;
}

static void suspect_loop(struct forwarder *f)
{
    if (f->config.suspect_loop) {
        f->config.suspect_loop(f->config.data);
    }
}

bool forwarder_ask(struct forwarder *forwarder, const struct upstream_question *question,
                   unsigned rotation, forwarder_cb cb, void *data)
{
    struct forwarder *f = forwarder;
    struct addr order[UPSTREAMS_MAX];
    uint32_t hash = upstream_question_hash(question, f->seed);
    struct flight *flight = find_flight(f, question, hash);
    if (flight) {
        counter_add(&f->counts.shared, 1);
        wait_for(flight, cb, data);
        suspect_loop(f);
        return true;
    }
    if (upstream_health_order(f->health, 0, order) == 0 || is_full(f)) {
        return false;
    }
    flight = new_flight(f, question, rotation);
    LIST_INSERT_HEAD(&f->table[hash % TABLE_SIZE], flight, entry);
    counter_add(&f->counts.questions, 1);
    wait_for(flight, cb, data);
    next_try(flight);
    return true;
}

/* ---- Life ---- */

static void on_revived(void *data)
{
    suspect_loop(data);
}

struct forwarder *forwarder_new(const struct forwarder_config *config)
{
    struct forwarder *f = xcalloc_aligned(alignof(struct forwarder), sizeof(*f));
    const struct upstream_health_config health = {
        .loop = config->loop,
        .counts = &f->counts,
        .revived = on_revived,
        .data = f,
    };
    f->config = *config;
    f->health = upstream_health_new(&health);
    if (getrandom(&f->seed, sizeof(f->seed), 0) < 0) {
        f->seed = 0; /* it only seeds a hash table */
    }
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        LIST_INIT(&f->table[i]);
    }
    return f;
}

void forwarder_set_servers(struct forwarder *forwarder, const struct forwarder_servers *servers)
{
    upstream_health_set(forwarder->health, servers->items, servers->count);
    forwarder->rotate = servers->rotate;
    forwarder->timeout_ms = servers->timeout_ms;
}

void forwarder_judge_server(struct forwarder *forwarder, const struct addr *server,
                            enum upstream_verdict verdict)
{
    upstream_health_judge(forwarder->health, server, verdict);
}

void forwarder_drop_all(struct forwarder *forwarder)
{
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        struct flight *flight;
        while ((flight = LIST_FIRST(&forwarder->table[i]))) {
            withdraw(flight);
            free_flight(flight);
        }
    }
}

void forwarder_free(struct forwarder *forwarder)
{
    if (forwarder) {
        forwarder_drop_all(forwarder);
        upstream_health_free(forwarder->health);
        free(forwarder);
    }
}

uint64_t forwarder_reply_number(const struct forwarder *forwarder)
{
    return forwarder->finished;
}

const struct forwarder_counts *forwarder_counts(const struct forwarder *forwarder)
{
    return &forwarder->counts;
}
