/* The tries of a question, and its end. */
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"
#include "skydns/records/hash.h"
#include "skydns/upstream/exchange_internal.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/flight_internal.h"
#include "skydns/upstream/onward_internal.h"
#include "skydns/upstream/tls_pool.h"
#include "skydns/upstream/upstream_health_internal.h"
#include "skydns/wire/response_check.h"

/* ---- Figures ---- */

/* One try fails once: what is silent for long may also turn out to be unreachable. */
static void count_failure(struct try *t)
{
    counter_add(&t->figure->failures, t->has_failed ? 0 : 1);
    t->has_failed = true;
}

static void blame_server(struct try *t)
{
    const struct dname *name = &t->flight->question.name;
    const struct upstream_failure failure = {
        .name_hash = hash_bytes(HASH_START, name->wire, name->len),
        .asked_us = t->begun_us,
    };
    t->flight->has_failed = true;
    upstream_health_failed(t->flight->zone->health, &t->server, &failure);
}

static void note_failure(struct try *t)
{
    count_failure(t);
    blame_server(t);
}

/* ---- The end of a question ---- */

/* Passes the exchange to the caller; NULL: there is none. */
static struct exchange *detach(struct try *t)
{
    struct exchange *exchange = STEAL(t->exchange);
    if (exchange) {
        t->flight->open--;
        t->flight->zone->sockets--;
        t->flight->owner->sockets--;
    }
    return exchange;
}

static void close_try(struct try *t)
{
    if (t->exchange && t->is_doubted) {
        count_failure(t);
    }
    exchange_free(detach(t));
}

void flight_end_tries(struct flight *flight)
{
    ev_timer_stop(flight->owner->config.loop, &flight->step);
    ev_timer_stop(flight->owner->config.loop, &flight->deadline);
    for (size_t i = 0; i < flight->begun; i++) {
        close_try(&flight->tries[i]);
    }
}

/* Takes it out of the table, so that the same question can be asked again, and closes its sockets,
 * since the waiters' own questions may need the descriptors. */
static void withdraw(struct flight *flight)
{
    struct forwarder *f = flight->owner;
    flight_end_tries(flight);
    flight_end_onward(flight);
    LIST_REMOVE(flight, entry);
    if (TAILQ_EMPTY(&flight->waits)) {
        flight_leave_background(flight);
    }
    counter_sub(&f->counts.questions, 1);
}

static void free_flight(struct flight *flight)
{
    upstream_zone_unref(flight->zone);
    buf_fini(&flight->chain);
    free(flight);
}

/* Its callback may forget others of the list, which counts as waited for meanwhile. */
static void tell_first(struct flight *flight, const struct forwarder_reply *reply)
{
    struct forwarder_wait *wait = flight_next_wait(flight), end_of_list = {.flight = flight};
    if (wait) {
        TAILQ_INSERT_TAIL(&flight->waits, &end_of_list, entry);
        wait->cb(wait->data, reply);
        TAILQ_REMOVE(&flight->waits, &end_of_list, entry);
    }
}

/* Of a withdrawn one. */
static void finish(struct flight *flight, const struct forwarder_reply *reply)
{
    struct forwarder *f = flight->owner;
    struct reply_forms forms = {0};
    struct forwarder_reply told = *reply;
    told.forms = &forms;
    tell_first(flight, &told);
    const struct forwarder_end end = {
        .question = &flight->question,
        .reply = &told,
        .is_current = flight->question.zone_serial == flight->zone->serial,
        .is_background = !flight->was_waited,
    };
    if (f->config.ended) {
        f->config.ended(f->config.ended_data, &end);
    }
    if (!TAILQ_EMPTY(&flight->waits)) {
        reply_portions_add(f->portions, &flight->waits, &told);
    }
    reply_forms_fini(&forms);
    free_flight(flight);
}

void flight_finish_with(struct flight *flight, const struct nameserver *server,
                        const struct parsed_response *response)
{
    const struct forwarder_reply reply = {
        .outcome = FORWARDER_REPLIED, .response = response, .server = server};
    withdraw(flight);
    finish(flight, &reply);
}

void flight_finish_as(struct flight *flight, enum forwarder_outcome outcome)
{
    const struct forwarder_reply reply = {.outcome = outcome};
    withdraw(flight);
    finish(flight, &reply);
}

static void finish_without(struct flight *flight)
{
    flight_finish_as(flight, flight->is_refused   ? FORWARDER_FAILED
                             : flight->has_failed ? FORWARDER_SILENT
                                                  : FORWARDER_DROPPED);
}

void flight_give_way(struct flight *flight)
{
    flight_finish_as(flight, FORWARDER_DROPPED);
}

/* ---- Out of time ---- */

/* Out of time. A truncated reply is better than none: the client then asks over TCP itself. */
static void finish_late(struct flight *flight)
{
    struct buf kept;
    struct parsed_response response;
    const struct nameserver *server = NULL;
    char name[DNAME_TEXT_MAX];
    log_debug("question ends without a good reply",
              LOG_STR("name", dname_to_text(&flight->question.name, name)),
              LOG_INT("tries", (int64_t)flight->begun), LOG_INT("silent", (int64_t)flight->open));
    buf_init(&kept, DNS_MESSAGE_MAX);
    for (size_t i = 0; i < flight->begun; i++) {
        struct try *t = &flight->tries[i];
        struct slice truncated = t->exchange ? exchange_truncated(t->exchange) : slice_of(NULL, 0);
        if (truncated.len > 0 && !server) {
            buf_append_slice(&kept, truncated);
            server = &t->server;
        }
        if (t->exchange && exchange_has_heard(t->exchange)) {
            flight->is_refused = true;
        } else if (t->exchange && !t->is_noted && !exchange_is_starved(t->exchange)) {
            note_failure(t);
        }
    }
    response_parse(kept.data, kept.len, &response);
    if (server && response_is_sound(&response)) {
        flight_take_response(flight, server, &response);
    } else {
        finish_without(flight);
    }
    response_parse_fini(&response);
    buf_fini(&kept);
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int revents)
{
    (void)loop;
    (void)revents;
    finish_late(timer->data);
}

/* ---- Tries ---- */

static void log_try(const struct try *t, enum exchange_outcome outcome)
{
    const struct upstream_question *question = &t->flight->question;
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX], server[NAMESERVER_TEXT_MAX];
    if (outcome == EXCHANGE_REPLIED) {
        log_debug("question sent", LOG_STR("name", dname_to_text(&question->name, name)),
                  LOG_STR("type", dns_type_text(question->type, type)),
                  LOG_STR("server", nameserver_format(&t->server, server)),
                  LOG_INT("try", t - t->flight->tries + 1));
    } else {
        log_debug(outcome == EXCHANGE_STARVED ? "question not sent: no socket or place left"
                                              : "question not sent: no way to the nameserver",
                  LOG_STR("name", dname_to_text(&question->name, name)),
                  LOG_STR("server", nameserver_format(&t->server, server)));
    }
}

static void log_outcome(const struct try *t, enum exchange_outcome outcome,
                        const struct parsed_response *reply)
{
    char name[DNAME_TEXT_MAX], server[NAMESERVER_TEXT_MAX];
    dname_to_text(&t->flight->question.name, name);
    nameserver_format(&t->server, server);
    switch (outcome) {
    case EXCHANGE_REPLIED:
        log_debug("reply from nameserver", LOG_STR("name", name), LOG_STR("server", server),
                  LOG_INT("rcode", reply->head.flags & DNS_MASK_RCODE));
        break;
    case EXCHANGE_MALFORMED:
        log_debug("reply from nameserver is malformed", LOG_STR("name", name),
                  LOG_STR("server", server));
        break;
    case EXCHANGE_STARVED:
        log_debug("question not sent: no socket or place left", LOG_STR("name", name),
                  LOG_STR("server", server));
        break;
    case EXCHANGE_UNREACHABLE:
        log_debug("nameserver cannot be reached", LOG_STR("name", name), LOG_STR("server", server));
        break;
    }
}

static void on_exchange(void *data, enum exchange_outcome outcome, struct parsed_response *reply);
static void on_doubt(void *data, enum exchange_outcome outcome);

size_t flight_sockets_max(const struct forwarder *f)
{
    size_t kept = f->config.tls ? counter_get(&tls_pool_counts(f->config.tls)->connections) : 0;
    return f->config.sockets_max > kept ? f->config.sockets_max - kept : 1;
}

bool flight_has_room(const struct forwarder *f, const struct upstream_zone *zone)
{
    size_t max = flight_sockets_max(f), left = max > f->sockets ? max - f->sockets : 0;
    return left > 0 && (!f->has_stubs || zone->sockets < left);
}

/* Whether a try may have a socket. At the limit, closes the question's own oldest ones. A further
 * try does so when half of all are open, or when its zone has its share, so that many questions to
 * a silent server leave sockets for others; but a truncated reply is kept. The share is no reason
 * to end a question that had begun before others took theirs. */
static bool make_room(struct flight *flight)
{
    struct forwarder *f = flight->owner;
    size_t max = flight_sockets_max(f);
    bool is_further = flight->begun > 1;
    for (size_t i = 0; i < flight->begun; i++) {
        struct try *t = &flight->tries[i];
        bool is_crowded =
            is_further && (f->sockets >= max / 2 || !flight_has_room(f, flight->zone));
        if (f->sockets < max && !is_crowded) {
            break;
        }
        if (t->exchange && (f->sockets >= max || exchange_truncated(t->exchange).len == 0)) {
            close_try(t);
        }
    }
    return f->sockets < max;
}

/* REPLIED: it is under way. */
static enum exchange_outcome begin_try(struct flight *flight, struct try *t)
{
    enum exchange_outcome outcome = EXCHANGE_STARVED;
    struct forwarder *f = flight->owner;
    t->is_plain = upstream_health_is_plain(flight->zone->health, &t->server);
    const struct exchange_config config = {
        .loop = f->config.loop,
        .server = &t->server,
        .random_case = f->config.random_case,
        .without_edns = t->is_plain,
        .tls = f->config.tls,
        .dnstap = f->config.dnstap,
        .zone = &flight->zone->name,
        .places = &f->tcp,
        .zone_tcp = &flight->zone->tcp,
        .zone_tls = f->has_stubs ? &flight->zone->tls : NULL,
        .client = &flight->client,
        .done = on_exchange,
        .doubted = on_doubt,
        .data = t,
    };
    t->begun_us = clock_monotonic_us();
    t->figure = upstream_figures_of(&f->figures, &flight->zone->name, &t->server);
    t->exchange = make_room(flight) ? exchange_start(&config, &flight->question, &outcome) : NULL;
    log_try(t, outcome);
    counter_add(&t->figure->queries, outcome != EXCHANGE_STARVED);
    if (t->exchange) {
        flight->open++;
        flight->zone->sockets++;
        f->sockets++;
    }
    return outcome;
}

/* Whether a reply may still come: to a try that was not told that nobody is there. */
static bool has_hope(const struct flight *flight)
{
    bool has_open = false;
    for (size_t i = 0; i < flight->begun && !has_open; i++) {
        has_open = flight->tries[i].exchange && !flight->tries[i].is_lost;
    }
    return has_open;
}

/* Tries the next reachable server, or ends the question (from the loop, not in the asker). */
static void next_try(struct flight *flight)
{
    struct ev_loop *loop = flight->owner->config.loop;
    ev_timer_stop(loop, &flight->step);
    while (flight->begun <= flight->server_count) {
        struct try *t = &flight->tries[flight->begun++];
        const enum exchange_outcome outcome = begin_try(flight, t);
        if (outcome == EXCHANGE_REPLIED) {
            ev_timer_set(&flight->step, flight->step_s, 0.);
            ev_timer_start(loop, &flight->step);
            return;
        }
        if (outcome == EXCHANGE_UNREACHABLE) {
            note_failure(t);
        }
    }
    if (!has_hope(flight)) {
        ev_timer_stop(loop, &flight->deadline);
        ev_timer_set(&flight->deadline, 0., 0.);
        ev_timer_start(loop, &flight->deadline);
    }
}

/* Each server has been asked and has its say, none of it usable: nobody needs to be asked twice. */
static bool are_all_malformed(const struct flight *flight)
{
    bool has_one = false;
    for (size_t i = 0; i < flight->begun; i++) {
        const struct try *t = &flight->tries[i];
        if (t->exchange && !exchange_is_malformed(t->exchange)) {
            return false;
        }
        has_one = has_one || t->exchange;
    }
    return has_one && flight->begun >= flight->server_count;
}

static void on_step(struct ev_loop *loop, ev_timer *timer, int revents)
{
    struct flight *flight = timer->data;
    struct try *last = &flight->tries[flight->begun - 1];
    (void)loop;
    (void)revents;
    if (last->exchange && !last->is_lost && !exchange_has_heard(last->exchange) &&
        !exchange_is_starved(last->exchange)) {
        char server[NAMESERVER_TEXT_MAX];
        log_debug("no reply yet", LOG_STR("server", nameserver_format(&last->server, server)),
                  LOG_INT("after_ms", (int64_t)(flight->step_s * 1000)));
        last->is_noted = true;
        if (upstream_health_may_be_plain(flight->zone->health, &last->server)) {
            last->is_plain |= exchange_ask_plainly(last->exchange);
        }
        note_failure(last);
    } else if (are_all_malformed(flight)) {
        finish_late(flight);
        return;
    }
    next_try(flight);
}

/* The server is alive, but this question needs another one. */
static void note_refusal(struct try *t)
{
    upstream_health_answered(t->flight->zone->health, &t->server);
    t->flight->is_refused = true;
}

static bool has_others_left(const struct flight *flight)
{
    return flight->begun < flight->server_count;
}

static void on_exchange(void *data, enum exchange_outcome outcome, struct parsed_response *reply)
{
    struct try *t = data;
    struct flight *flight = t->flight;
    struct exchange *exchange = detach(t); /* it owns the reply */
    log_outcome(t, outcome, reply);
    if (outcome == EXCHANGE_UNREACHABLE || outcome == EXCHANGE_STARVED) {
        exchange_free(exchange);
        if (outcome == EXCHANGE_UNREACHABLE) {
            note_failure(t);
        }
        next_try(flight);
        return;
    }
    histogram_observe_us(&t->figure->took, clock_monotonic_us() - t->begun_us);
    const bool is_usable = outcome == EXCHANGE_REPLIED && response_is_usable(reply);
    if (is_usable) {
        upstream_health_answered(flight->zone->health, &t->server);
    }
    if (outcome == EXCHANGE_REPLIED) {
        upstream_health_edns(flight->zone->health, &t->server, reply->opt != NULL || !t->is_plain,
                             t->is_plain && is_usable);
    }
    if (is_usable) {
        flight_take_response(flight, &t->server, reply);
        exchange_free(exchange);
        return;
    }
    exchange_free(exchange);
    count_failure(t);
    note_refusal(t);
    if (has_others_left(flight) && !t->is_doubted) {
        next_try(flight);
    } else if (!has_hope(flight)) {
        finish_without(flight);
    }
}

/* The try goes on listening, and counts as failed only when that was in vain. */
static void on_doubt(void *data, enum exchange_outcome outcome)
{
    struct try *t = data;
    const bool is_first = !t->is_doubted;
    t->is_doubted = true;
    if (outcome == EXCHANGE_UNREACHABLE) {
        log_outcome(t, outcome, NULL);
        t->is_noted = t->is_lost = true;
        blame_server(t);
    } else {
        t->is_lost = false;
        note_refusal(t);
    }
    if (is_first && (outcome == EXCHANGE_UNREACHABLE || has_others_left(t->flight))) {
        next_try(t->flight);
    }
}

/* ---- The begin ---- */

/* Every server once, in order, then the first one again. */
static size_t plan_tries(struct flight *flight, unsigned rotation)
{
    unsigned first = flight->owner->rules.rotate ? rotation : 0;
    struct nameserver order[UPSTREAMS_MAX];
    size_t n = upstream_health_order(flight->zone->health, first, order);
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

struct flight *flight_new(struct forwarder *f, struct upstream_zone *zone,
                          const struct upstream_question *question, unsigned rotation,
                          const struct addr *client)
{
    struct flight *flight = xcalloc(1, sizeof(*flight));
    double timeout_s = f->rules.timeout_ms / 1000.0;
    flight->owner = f;
    flight->zone = zone;
    upstream_zone_ref(zone);
    flight->question = *question;
    flight->client = client ? *client : (struct addr){.len = 0};
    flight->server_count = plan_tries(flight, rotation);
    flight->step_s = 2 * timeout_s / (double)(flight->server_count + 1);
    TAILQ_INIT(&flight->waits);
    buf_init(&flight->chain, ONWARD_CHAIN_MAX);
    flight_join_background(flight); /* until somebody waits */
    init_timer(&flight->step, on_step, flight);
    init_timer(&flight->deadline, on_deadline, flight);
    ev_timer_set(&flight->deadline, 2 * timeout_s, 0.);
    ev_timer_start(f->config.loop, &flight->deadline);
    return flight;
}

void flight_begin(struct flight *flight)
{
    next_try(flight);
}

void flight_drop(struct flight *flight)
{
    withdraw(flight);
    while (flight_next_wait(flight)) {
    }
    free_flight(flight);
}
