/* Runs the tries of a question, and its end. */
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"
#include "skydns/records/hash.h"
#include "skydns/upstream/exchange_internal.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/onward_internal.h"
#include "skydns/upstream/tls_pool.h"
#include "skydns/upstream/upstream_health_internal.h"
#include "skydns/upstream/upstream_query_internal.h"
#include "skydns/wire/response_check.h"

/* ---- Figures ---- */

/* Counts a try's failure once: a silent server may turn out to be unreachable, too. */
static void count_failure(struct try *t)
{
    counter_add(&t->figure->failures, t->has_failed ? 0 : 1);
    t->has_failed = true;
}

static void blame_server(struct try *t)
{
    const struct dname *name = &t->upstream_query->question.name;
    const struct upstream_failure failure = {
        .name_hash = hash_bytes(HASH_START, name->wire, name->len),
        .asked_us = t->begun_us,
    };
    t->upstream_query->has_failed = true;
    upstream_health_failed(t->upstream_query->zone->health, &t->server, &failure);
}

static void note_failure(struct try *t)
{
    count_failure(t);
    blame_server(t);
}

static void note_timeout(struct try *t)
{
    counter_add(&t->figure->timeouts, t->has_failed ? 0 : 1);
    note_failure(t);
}

/* ---- The end of a question ---- */

/* Passes the exchange to the caller; NULL: there is none. */
static struct exchange *upstream_query_detach(struct try *t)
{
    struct exchange *exchange = STEAL(t->exchange);
    if (exchange) {
        t->upstream_query->open--;
        t->upstream_query->zone->sockets--;
        t->upstream_query->owner->sockets--;
    }
    return exchange;
}

static void close_try(struct try *t)
{
    if (t->exchange && t->is_doubted) {
        count_failure(t);
    }
    exchange_free(upstream_query_detach(t));
}

void upstream_query_end_tries(struct upstream_query *upstream_query)
{
    ev_timer_stop(upstream_query->owner->config.loop, &upstream_query->step);
    ev_timer_stop(upstream_query->owner->config.loop, &upstream_query->deadline);
    for (size_t i = 0; i < upstream_query->begun; i++) {
        close_try(&upstream_query->tries[i]);
    }
}

/* Takes the question out of the table, so that it can be asked again. Closes its sockets, since the
 * waiting queries' own questions may need the descriptors. */
static void upstream_query_withdraw(struct upstream_query *upstream_query)
{
    struct forwarder *f = upstream_query->owner;
    upstream_query_end_tries(upstream_query);
    upstream_query_end_onward(upstream_query);
    LIST_REMOVE(upstream_query, entry);
    if (TAILQ_EMPTY(&upstream_query->waits)) {
        upstream_query_leave_background(upstream_query);
    }
    counter_sub(&f->counts.questions, 1);
}

static void free_upstream_query(struct upstream_query *upstream_query)
{
    upstream_zone_unref(upstream_query->zone);
    buf_fini(&upstream_query->chain);
    free(upstream_query);
}

/* Passes the response to the first waiting query. Its callback may forget others of the list, which
 * is not empty meanwhile. */
static void tell_first(struct upstream_query *upstream_query, const struct forwarder_reply *reply)
{
    struct forwarder_wait *wait = upstream_query_next_wait(upstream_query),
                          end_of_list = {.upstream_query = upstream_query};
    if (wait) {
        TAILQ_INSERT_TAIL(&upstream_query->waits, &end_of_list, entry);
        wait->cb(wait->data, reply);
        TAILQ_REMOVE(&upstream_query->waits, &end_of_list, entry);
    }
}

/* Ends a question that is out of the table. */
static void upstream_query_finish(struct upstream_query *upstream_query,
                                  const struct forwarder_reply *reply)
{
    struct forwarder *f = upstream_query->owner;
    struct reply_forms forms = {0};
    struct forwarder_reply told = *reply;
    told.forms = &forms;
    tell_first(upstream_query, &told);
    const struct forwarder_end end = {
        .question = &upstream_query->question,
        .reply = &told,
        .is_current = upstream_query->question.zone_serial == upstream_query->zone->serial,
        .is_background = !upstream_query->was_waited,
    };
    if (f->config.ended) {
        f->config.ended(f->config.ended_data, &end);
    }
    if (!TAILQ_EMPTY(&upstream_query->waits)) {
        reply_portions_add(f->portions, &upstream_query->waits, &told);
    }
    reply_forms_fini(&forms);
    free_upstream_query(upstream_query);
}

void upstream_query_finish_with(struct upstream_query *upstream_query,
                                const struct nameserver *server,
                                const struct parsed_response *response)
{
    const struct forwarder_reply reply = {
        .outcome = FORWARDER_REPLIED, .response = response, .server = server};
    upstream_query_withdraw(upstream_query);
    upstream_query_finish(upstream_query, &reply);
}

void upstream_query_finish_as(struct upstream_query *upstream_query, enum forwarder_outcome outcome)
{
    const struct forwarder_reply reply = {.outcome = outcome};
    upstream_query_withdraw(upstream_query);
    upstream_query_finish(upstream_query, &reply);
}

static void finish_without(struct upstream_query *upstream_query)
{
    upstream_query_finish_as(upstream_query, upstream_query->is_refused   ? FORWARDER_FAILED
                                             : upstream_query->has_failed ? FORWARDER_SILENT
                                                                          : FORWARDER_DROPPED);
}

void upstream_query_give_way(struct upstream_query *upstream_query)
{
    upstream_query_finish_as(upstream_query, FORWARDER_DROPPED);
}

/* ---- Out of time ---- */

/* Ends a question at its deadline. A truncated response is better than none: the client then asks
 * over TCP itself. */
static void finish_late(struct upstream_query *upstream_query)
{
    struct parsed_response response;
    const struct nameserver *server = NULL;
    char name[DNAME_TEXT_MAX];
    log_debug("query ends without a usable response",
              LOG_STR("name", dname_to_text(&upstream_query->question.name, name)),
              LOG_INT("tries", (int64_t)upstream_query->begun),
              LOG_INT("silent", (int64_t)upstream_query->open));
    CLEANUP_BUF struct buf message = buf_of(DNS_MESSAGE_MAX);
    for (size_t i = 0; i < upstream_query->begun; i++) {
        struct try *t = &upstream_query->tries[i];
        struct slice truncated = t->exchange ? exchange_truncated(t->exchange) : slice_of(NULL, 0);
        if (truncated.len > 0 && !server) {
            buf_append_slice(&message, truncated);
            server = &t->server;
        }
        if (t->exchange && exchange_has_heard(t->exchange)) {
            upstream_query->is_refused = true;
        } else if (t->exchange && !t->is_noted && !exchange_is_starved(t->exchange)) {
            note_timeout(t);
        }
    }
    response_parse(message.data, message.len, &response);
    if (server && response_is_sound(&response)) {
        upstream_query_take_response(upstream_query, server, &response);
    } else {
        finish_without(upstream_query);
    }
    response_parse_fini(&response);
}

static void upstream_query_on_deadline(struct ev_loop *loop UNUSED, ev_timer *timer,
                                       int revents UNUSED)
{
    finish_late(timer->data);
}

/* ---- Tries ---- */

static void log_try(const struct try *t, enum exchange_outcome outcome)
{
    const struct upstream_question *question = &t->upstream_query->question;
    char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
    if (outcome == EXCHANGE_REPLIED) {
        log_debug("query sent", LOG_STR("name", dname_to_text(&question->name, name)),
                  LOG_STR("type", dns_type_text(question->type, type)), LOG_SERVER(&t->server),
                  LOG_INT("try", t - t->upstream_query->tries + 1));
    } else {
        log_debug(outcome == EXCHANGE_STARVED ? "query not sent: no socket or place left"
                                              : "query not sent: upstream cannot be reached",
                  LOG_STR("name", dname_to_text(&question->name, name)), LOG_SERVER(&t->server));
    }
}

static void log_outcome(const struct try *t, enum exchange_outcome outcome,
                        const struct parsed_response *reply)
{
    char name[DNAME_TEXT_MAX], server[NAMESERVER_TEXT_MAX];
    dname_to_text(&t->upstream_query->question.name, name);
    nameserver_format(&t->server, server);
    switch (outcome) {
    case EXCHANGE_REPLIED:
        log_debug("response from upstream", LOG_STR("name", name), LOG_STR("server", server),
                  LOG_INT("rcode", reply->head.flags & DNS_MASK_RCODE));
        break;
    case EXCHANGE_MALFORMED:
        log_debug("response from upstream is malformed", LOG_STR("name", name),
                  LOG_STR("server", server));
        break;
    case EXCHANGE_STARVED:
        log_debug("query not sent: no socket or place left", LOG_STR("name", name),
                  LOG_STR("server", server));
        break;
    case EXCHANGE_UNREACHABLE:
        log_debug("upstream cannot be reached", LOG_STR("name", name), LOG_STR("server", server));
        break;
    }
}

static void on_exchange(void *data, enum exchange_outcome outcome, struct parsed_response *reply);
static void on_doubt(void *data, enum exchange_outcome outcome);

size_t upstream_query_sockets_max(const struct forwarder *f)
{
    size_t tls_sockets =
        f->config.tls ? counter_get(&tls_pool_counts(f->config.tls)->connections) : 0;
    return f->config.sockets_max > tls_sockets ? f->config.sockets_max - tls_sockets : 1;
}

bool upstream_query_has_room(const struct forwarder *f, const struct upstream_zone *zone)
{
    size_t max = upstream_query_sockets_max(f), left = max > f->sockets ? max - f->sockets : 0;
    return left > 0 && (!f->has_stubs || zone->sockets < left);
}

/* Returns whether a try may have a socket. At the limit, it closes the question's own oldest ones.
 *
 * A further try does so when half of all are open, or when its zone has its share. So many
 * questions to a silent server leave sockets for others. It does not close an exchange that has a
 * truncated response. The share never ends a question that began before others took theirs. */
static bool upstream_query_make_room(struct upstream_query *upstream_query)
{
    struct forwarder *f = upstream_query->owner;
    size_t max = upstream_query_sockets_max(f);
    bool is_further = upstream_query->begun > 1;
    for (size_t i = 0; i < upstream_query->begun; i++) {
        struct try *t = &upstream_query->tries[i];
        bool is_crowded = is_further && (f->sockets >= max / 2 ||
                                         !upstream_query_has_room(f, upstream_query->zone));
        if (f->sockets < max && !is_crowded) {
            break;
        }
        if (t->exchange && (f->sockets >= max || exchange_truncated(t->exchange).len == 0)) {
            close_try(t);
        }
    }
    return f->sockets < max;
}

/* Begins a try; REPLIED: it is under way. */
static enum exchange_outcome begin_try(struct upstream_query *upstream_query, struct try *t)
{
    enum exchange_outcome outcome = EXCHANGE_STARVED;
    struct forwarder *f = upstream_query->owner;
    t->is_plain = upstream_health_is_plain(upstream_query->zone->health, &t->server);
    const struct exchange_config config = {
        .loop = f->config.loop,
        .server = &t->server,
        .random_case = f->config.random_case,
        .without_edns = t->is_plain,
        .tls = f->config.tls,
        .dnstap = f->config.dnstap,
        .zone = &upstream_query->zone->name,
        .places = &f->tcp,
        .zone_tcp = &upstream_query->zone->tcp,
        .zone_tls = f->has_stubs ? &upstream_query->zone->tls : NULL,
        .client = &upstream_query->client,
        .done = on_exchange,
        .doubted = on_doubt,
        .data = t,
    };
    t->begun_us = clock_monotonic_us();
    t->figure = upstream_figures_of(&f->figures, &upstream_query->zone->name, &t->server);
    t->exchange = upstream_query_make_room(upstream_query)
                      ? exchange_start(&config, &upstream_query->question, &outcome)
                      : NULL;
    log_try(t, outcome);
    counter_add(&t->figure->queries, outcome != EXCHANGE_STARVED);
    if (t->exchange) {
        upstream_query->open++;
        upstream_query->zone->sockets++;
        f->sockets++;
    }
    return outcome;
}

/* Returns whether a response may still come: to a try whose server is not known to be unreachable.
 */
static bool has_hope(const struct upstream_query *upstream_query)
{
    bool has_open = false;
    for (size_t i = 0; i < upstream_query->begun && !has_open; i++) {
        has_open = upstream_query->tries[i].exchange && !upstream_query->tries[i].is_lost;
    }
    return has_open;
}

/* Tries the next reachable server, or ends the question (from the loop, not inside forwarder_ask).
 */
static void next_try(struct upstream_query *upstream_query)
{
    struct ev_loop *loop = upstream_query->owner->config.loop;
    ev_timer_stop(loop, &upstream_query->step);
    while (upstream_query->begun <= upstream_query->server_count) {
        struct try *t = &upstream_query->tries[upstream_query->begun++];
        const enum exchange_outcome outcome = begin_try(upstream_query, t);
        if (outcome == EXCHANGE_REPLIED) {
            timer_arm(loop, &upstream_query->step, upstream_query->step_s);
            return;
        }
        if (outcome == EXCHANGE_UNREACHABLE) {
            note_failure(t);
        }
    }
    if (!has_hope(upstream_query)) {
        timer_arm(loop, &upstream_query->deadline, 0.);
    }
}

/* Returns whether each server has responded with nothing usable: none needs a second try. */
static bool are_all_malformed(const struct upstream_query *upstream_query)
{
    bool has_one = false;
    for (size_t i = 0; i < upstream_query->begun; i++) {
        const struct try *t = &upstream_query->tries[i];
        if (t->exchange && !exchange_is_malformed(t->exchange)) {
            return false;
        }
        has_one = has_one || t->exchange;
    }
    return has_one && upstream_query->begun >= upstream_query->server_count;
}

static void on_step(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct upstream_query *upstream_query = timer->data;
    struct try *last = &upstream_query->tries[upstream_query->begun - 1];
    if (last->exchange && !last->is_lost && !exchange_has_heard(last->exchange) &&
        !exchange_is_starved(last->exchange)) {
        log_debug("no response yet", LOG_SERVER(&last->server),
                  LOG_INT("after_ms", (int64_t)(upstream_query->step_s * 1000)));
        last->is_noted = true;
        if (upstream_health_may_be_plain(upstream_query->zone->health, &last->server)) {
            last->is_plain |= exchange_ask_plainly(last->exchange);
        }
        note_timeout(last);
    } else if (are_all_malformed(upstream_query)) {
        finish_late(upstream_query);
        return;
    }
    next_try(upstream_query);
}

/* Notes that the server is alive, but that this question needs another one. */
static void upstream_query_note_refusal(struct try *t)
{
    upstream_health_answered(t->upstream_query->zone->health, &t->server);
    t->upstream_query->is_refused = true;
}

static bool has_others_left(const struct upstream_query *upstream_query)
{
    return upstream_query->begun < upstream_query->server_count;
}

static void on_exchange(void *data, enum exchange_outcome outcome, struct parsed_response *reply)
{
    struct try *t = data;
    struct upstream_query *upstream_query = t->upstream_query;
    struct exchange *exchange = upstream_query_detach(t); /* it owns the response */
    log_outcome(t, outcome, reply);
    if (outcome == EXCHANGE_UNREACHABLE || outcome == EXCHANGE_STARVED) {
        exchange_free(exchange);
        if (outcome == EXCHANGE_UNREACHABLE) {
            note_failure(t);
        }
        next_try(upstream_query);
        return;
    }
    histogram_observe_us(&t->figure->took, clock_monotonic_us() - t->begun_us);
    const bool is_usable = outcome == EXCHANGE_REPLIED && response_is_usable(reply);
    if (is_usable) {
        upstream_health_answered(upstream_query->zone->health, &t->server);
    }
    if (outcome == EXCHANGE_REPLIED) {
        upstream_health_edns(upstream_query->zone->health, &t->server,
                             reply->opt != NULL || !t->is_plain, t->is_plain && is_usable);
    }
    if (is_usable) {
        upstream_query_take_response(upstream_query, &t->server, reply);
        exchange_free(exchange);
        return;
    }
    exchange_free(exchange);
    count_failure(t);
    upstream_query_note_refusal(t);
    if (has_others_left(upstream_query) && !t->is_doubted) {
        next_try(upstream_query);
    } else if (!has_hope(upstream_query)) {
        finish_without(upstream_query);
    }
}

/* Lets the try go on listening: it counts as failed only when that was in vain. */
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
        upstream_query_note_refusal(t);
    }
    if (is_first && (outcome == EXCHANGE_UNREACHABLE || has_others_left(t->upstream_query))) {
        next_try(t->upstream_query);
    }
}

/* ---- The begin ---- */

/* Plans the tries: every server once, in order, then the first one again. */
static size_t plan_tries(struct upstream_query *upstream_query, unsigned rotation)
{
    unsigned first = upstream_query->owner->rules.rotate ? rotation : 0;
    struct nameserver order[UPSTREAMS_MAX];
    size_t n = upstream_health_order(upstream_query->zone->health, first, order);
    for (size_t i = 0; i < n; i++) {
        upstream_query->tries[i] =
            (struct try){.upstream_query = upstream_query, .server = order[i]};
    }
    upstream_query->tries[n] = (struct try){.upstream_query = upstream_query, .server = order[0]};
    return n;
}

/* Gives timers the lowest priority, so that arrived responses are read before a timeout counts. */
static void upstream_query_init_timer(ev_timer *timer,
                                      void (*fn)(struct ev_loop *, ev_timer *, int),
                                      struct upstream_query *upstream_query)
{
    ev_init(timer, fn);
    ev_set_priority(timer, EV_MINPRI);
    timer->data = upstream_query;
}

struct upstream_query *upstream_query_new(struct forwarder *f, struct upstream_zone *zone,
                                          const struct upstream_question *question,
                                          unsigned rotation, const struct addr *client)
{
    struct upstream_query *upstream_query = xcalloc(1, sizeof(*upstream_query));
    double timeout_s = f->rules.timeout_ms / 1000.0;
    upstream_query->owner = f;
    upstream_query->zone = zone;
    upstream_zone_ref(zone);
    upstream_query->question = *question;
    upstream_query->client = client ? *client : (struct addr){.len = 0};
    upstream_query->server_count = plan_tries(upstream_query, rotation);
    upstream_query->step_s = 2 * timeout_s / (double)(upstream_query->server_count + 1);
    TAILQ_INIT(&upstream_query->waits);
    buf_init(&upstream_query->chain, ONWARD_CHAIN_MAX);
    upstream_query_join_background(upstream_query); /* until a query waits */
    upstream_query_init_timer(&upstream_query->step, on_step, upstream_query);
    upstream_query_init_timer(&upstream_query->deadline, upstream_query_on_deadline,
                              upstream_query);
    timer_arm(f->config.loop, &upstream_query->deadline, 2 * timeout_s);
    return upstream_query;
}

void upstream_query_begin(struct upstream_query *upstream_query)
{
    next_try(upstream_query);
}

void upstream_query_drop(struct upstream_query *upstream_query)
{
    upstream_query_withdraw(upstream_query);
    while (upstream_query_next_wait(upstream_query)) {
    }
    free_upstream_query(upstream_query);
}
