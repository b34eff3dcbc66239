/* Carries a deferred query from resolver_take to its response. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/engine/engine.h"
#include "skydns/publish/publisher.h"
#include "skydns/publish/recursion.h"
#include "skydns/records/store.h"
#include "skydns/resolver/resolver_internal.h"
#include "skydns/tap/client_counts.h"
#include "skydns/tap/query_tap.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/fetcher.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/upstream/loop_check.h"
#include "skydns/wire/response_parse.h"

/* Waits as the turn's deferral says; it may end with the query's response. */
static void resolver_work_wait_for(struct resolver *r, struct deferred *d);
/* Does the same, after asking the engine again. */
static void answer_now(struct resolver *r, struct deferred *d);

/* Time between log lines about refused clients. */
enum { REFUSAL_PAUSE_MS = 60 * 60 * 1000 };

struct engine_query resolver_query(struct resolver *r, const struct deferred *d)
{
    return owned_query_open(&d->query, clock_wall_s(), clock_monotonic_ms(),
                            rng_next(&r->turn.rng));
}

/* ---- The end of a query ---- */

void resolver_release(struct resolver *r, struct deferred *d)
{
    TAILQ_REMOVE(&r->in_hand, d, entry);
    counter_sub(&r->counts.in_hand, 1);
    client_loads_drop(r->loads, &d->query.client);
    resolver_be_patient_no_more(r, d);
    forwarder_forget(&d->wait);
    resolver_free_lookup(r, d);
    resolver_leave_pool(r, d);
    deferred_free(d);
}

static void count_late(struct query_counts *counts, const struct deferred *d,
                       const struct response *response)
{
    if (counts->skydns) {
        skydns_counts_begin(counts->skydns, d->begun_us, d->kind == ENGINE_DEFER_FORWARD);
    }
    query_counts_response(counts, response);
}

static void send_datagram(struct resolver *r, const struct deferred *d,
                          const struct response *response)
{
    count_late(&r->counts.udp, d, response);
    const struct reply_to *to = d->origin.to;
    const bool is_there = response->len > 0;
    if (is_there && !to->send(to->data, d, response)) {
        counter_add(&r->counts.udp.unsent, 1); /* lost as on any network: the client retries */
    } else if (is_there && d->query.received_ns > 0) {
        query_counts_took(&r->counts.udp, (clock_wall_ns() - d->query.received_ns) / 1000);
    }
}

/* Sends a response to a connection. The streams count theirs. */
static void send_to_connection(struct resolver *r, const struct deferred *d,
                               const struct response *response)
{
    if (d->query.transport == ENGINE_TCP) {
        count_late(&r->counts.tcp, d, response);
        query_counts_took(&r->counts.tcp, clock_monotonic_us() - d->begun_us);
    }
    (void)d->origin.to->send(d->origin.to->data, d, response); /* false: the connection is gone */
}

static void resolver_work_log(struct resolver *r, const struct deferred *d,
                              const struct response *response)
{
    if (query_tap_wants_clients(r->config.tap)) {
        client_counts_note(r->config.clients, &d->query.client, response);
    }
    if (query_tap_wants(r->config.tap, &r->counts.udp, response)) {
        struct engine_query query = resolver_query(r, d);
        turn_show(&r->turn, &r->counts.udp, &query, response, d->begun_us);
    }
}

void resolver_finish(struct resolver *r, struct deferred *d, const struct response *response)
{
    assert(response->bytes); /* set even without a response: its receivers may copy it */
    if (response->len > 0) {
        resolver_work_log(r, d, response);
    }
    if (d->query.transport == ENGINE_UDP) {
        send_datagram(r, d, response);
    } else {
        send_to_connection(r, d, response);
    }
    resolver_release(r, d);
}

void resolver_drop(struct resolver *r, struct deferred *d)
{
    r->response.len = 0;
    resolver_finish(r, d, &r->response);
}

bool resolver_drop_if_gone(struct resolver *r, struct deferred *d)
{
    const struct reply_to *to = d->origin.to;
    const bool is_gone = to->is_there && !to->is_there(to->data, d);
    if (is_gone) {
        resolver_drop(r, d);
    }
    return is_gone;
}

/* Answers SERVFAIL, for this reason. */
static void finish_failed(struct resolver *r, struct deferred *d, enum edns_error error)
{
    const struct engine_query query = resolver_query(r, d);
    (void)!engine_servfail(r->config.engine, &query, error, &r->response); /* false: none */
    resolver_finish(r, d, &r->response);
}

void resolver_refuse(struct resolver *r, struct deferred *d)
{
    finish_failed(r, d, EDNS_ERROR_OTHER);
}

/* ---- Search lists ---- */

void resolver_keep_place(struct resolver *r, struct deferred *d)
{
    d->query.search_list_at = r->turn.deferral.search_list_at;
    d->query.search_list_seen = r->turn.deferral.search_list_seen;
    d->query.search_list_serial = r->turn.deferral.search_list_serial;
    d->query.keeps_name = r->turn.deferral.keeps_name;
}

bool resolver_goes_on(struct resolver *r, struct deferred *d)
{
    const struct engine_deferral *deferral = &r->turn.deferral;
    if (deferral->search_list_at <= d->query.search_list_at &&
        deferral->kind != ENGINE_DEFER_SIGN) {
        return false;
    }
    resolver_free_lookup(r, d);
    forwarder_forget(&d->wait);
    resolver_work_wait_for(r, d);
    return true;
}

/* Goes on after a candidate name without an answer: the next ones may have one. Returns false when
 * the query has no search list. */
static bool try_next_place(struct resolver *r, struct deferred *d, unsigned seen)
{
    if (d->query.search_list_at == 0 || d->query.search_list_at == ENGINE_PATH_OVER) {
        return false;
    }
    d->query.search_list_at++;
    d->query.search_list_seen = (uint8_t)(d->query.search_list_seen | seen);
    answer_now(r, d);
    return true;
}

/* ---- FORWARD ---- */

static bool keeps_stale(const struct resolver *r)
{
    const struct engine_config *config = publisher_config(r->config.reader);
    return config->cache && config->cache_limits.stale_ms > 0;
}

/* Answers with a stale answer, or if the question needs no upstream any more. Returns true when it
 * did, or when the search list goes on. */
static bool answer_stale(struct resolver *r, struct deferred *d)
{
    struct engine_query query = resolver_query(r, d);
    query.takes_stale = true;
    if (!keeps_stale(r)) {
        return false;
    }
    switch (turn_answer(&r->turn, &query, NULL, &r->response)) {
    case ENGINE_DEFER:
        return resolver_goes_on(r, d); /* a stale answer denied the name */
    case ENGINE_REPLY:
        turn_refresh_if_wanted(&r->turn, &query);
        resolver_finish(r, d, &r->response);
        break;
    case ENGINE_DROP:
        resolver_drop(r, d);
        break;
    }
    return true;
}

/* Treats the upstream's failure about AAAA as DNS64 treats a name without IPv6 addresses (RFC 6147
 * 5.1.2). Returns true if IPv4 addresses are being looked up, or cached ones have answered. */
static bool map_failure(struct resolver *r, struct deferred *d)
{
    struct engine_query query = resolver_query(r, d);
    if (!resolver_may_map(r, d)) {
        return false;
    }
    const enum engine_verdict verdict = turn_answer(&r->turn, &query, NULL, &r->response);
    if (verdict == ENGINE_REPLY && response_low_rcode(&r->response) == DNS_RCODE_NOERROR) {
        resolver_finish(r, d, &r->response);
        return true;
    }
    if (verdict != ENGINE_DEFER || r->turn.deferral.search_list_at > d->query.search_list_at) {
        return false;
    }
    if (r->turn.deferral.kind == ENGINE_DEFER_LOOKUP) {
        resolver_note_mapped(d);
        resolver_work_wait_for(r, d);
        return true;
    }
    struct query parsed;
    owned_query_read(&d->query, &parsed);
    return r->turn.deferral.kind == ENGINE_DEFER_FORWARD &&
           resolver_look_up_ipv4(r, d,
                                 r->turn.deferral.forward.len > 0 ? &r->turn.deferral.forward
                                                                  : &parsed.question.name,
                                 NULL);
}

void resolver_answer_unmapped(struct resolver *r, struct deferred *d, bool has_failed)
{
    resolver_free_lookup(r, d);
    resolver_note_mapped(d);
    if (!has_failed) {
        resolver_work_wait_for(r, d);
    } else if (!try_next_place(r, d, ENGINE_PATH_SAW_FAILURE)) {
        finish_failed(r, d, EDNS_ERROR_NO_AUTHORITY);
    }
}

/* Answers a query that no upstream has a usable response to, for this reason. */
static void resolver_work_answer_without_upstream(struct resolver *r, struct deferred *d,
                                                  enum edns_error error)
{
    counter_add(&r->counts.failures, 1);
    if (!answer_stale(r, d) && !map_failure(r, d) &&
        !try_next_place(r, d, ENGINE_PATH_SAW_FAILURE)) {
        finish_failed(r, d, error);
    }
}

/* Returns whether the response is a denial, after which a search list goes on: it is no failure. */
static bool is_forwarded_denial(const struct forwarder_reply *reply, unsigned *ret_seen)
{
    const struct response_head *head = &reply->response->head;
    const unsigned rcode = head->flags & DNS_MASK_RCODE;
    const bool is_no_data = rcode == DNS_RCODE_NOERROR && head->counts[RESPONSE_ANSWER] == 0 &&
                            (head->flags & DNS_FLAG_TC) == 0;
    *ret_seen = is_no_data ? ENGINE_PATH_SAW_NO_DATA : 0;
    return is_no_data || rcode == DNS_RCODE_NXDOMAIN;
}

/* Takes the outcome of a forwarded query. A response that is malformed or too long gives no answer,
 * nor does a truncated one over TCP: the client cannot get more over TCP than we did. */
static void on_forwarded(void *data, const struct forwarder_reply *reply)
{
    struct deferred *d = data;
    struct resolver *r = d->resolver;
    if (resolver_drop_if_gone(r, d)) {
        return;
    }
    struct engine_query query = resolver_query(r, d);
    bool is_answered = false;
    unsigned seen = 0;
    switch (reply->outcome) {
    case FORWARDER_REPLIED:
        if (resolver_lead_home(r, d, reply) ||
            resolver_look_up_ipv4(r, d, &reply->response->head.name, reply)) {
            return;
        }
        is_answered = engine_forwarded(r->config.engine, &query, reply->response,
                                       &reply->forms->image, &r->response);
        break;
    case FORWARDER_FAILED:
        resolver_work_answer_without_upstream(r, d, EDNS_ERROR_NO_AUTHORITY);
        return;
    case FORWARDER_SILENT:
        resolver_work_answer_without_upstream(r, d, EDNS_ERROR_NETWORK);
        return;
    case FORWARDER_DROPPED:
        resolver_work_answer_without_upstream(r, d, EDNS_ERROR_OTHER);
        return;
    }
    if (is_answered) {
        resolver_finish(r, d, &r->response);
    } else if (!is_forwarded_denial(reply, &seen) || !try_next_place(r, d, seen)) {
        resolver_work_answer_without_upstream(r, d,
                                              reply->response->head.flags & DNS_FLAG_TC
                                                  ? EDNS_ERROR_NETWORK
                                                  : EDNS_ERROR_NO_AUTHORITY);
    }
}

/* Answers REFUSED, and logs it once an hour. */
void resolver_refuse_recursion(struct resolver *r, struct deferred *d)
{
    char client[ADDR_TEXT_MAX];
    int64_t now_ms = clock_monotonic_ms();
    counter_add(&r->counts.not_allowed, 1);
    if (r->refusal_told_ms == 0 || now_ms - r->refusal_told_ms >= REFUSAL_PAUSE_MS) {
        r->refusal_told_ms = now_ms;
        log_warn("refusing queries for external names; set -allow-recursion to allow them",
                 LOG_STR("client", addr_format(&d->query.client, client)));
    }
    struct engine_query query = resolver_query(r, d);
    (void)!engine_refused(r->config.engine, &query, &r->response); /* false: none */
    resolver_finish(r, d, &r->response);
}

/* Answers a client whose network is newer than the published list, so that the engine has not read
 * the response cache. Returns true when the cache answers, or when its search list goes on. */
static bool answer_allowed(struct resolver *r, struct deferred *d)
{
    const struct engine_config *config = publisher_config(r->config.reader);
    const struct ip ip = addr_ip(&d->query.client);
    bool is_known = d->query.is_allowed || config->allows_all || !config->cache;
    for (size_t i = 0; i < config->allowed_count && !is_known; i++) {
        is_known = network_contains(&config->allowed[i], &ip);
    }
    if (is_known) {
        return false;
    }
    d->query.is_allowed = true;
    struct engine_query query = resolver_query(r, d);
    if (turn_answer(&r->turn, &query, NULL, &r->response) != ENGINE_REPLY) {
        return resolver_goes_on(r, d);
    }
    turn_refresh_if_wanted(&r->turn, &query);
    resolver_finish(r, d, &r->response);
    return true;
}

static int64_t timeout_left_us(const struct resolver *r, const struct deferred *d)
{
    return r->config.stale_wait_ms * INT64_C(1000) - (clock_monotonic_us() - d->begun_us);
}

/* Waits for upstreams. The stale timeout counts once for all candidate names. */
static void wait_patiently(struct resolver *r, struct deferred *d)
{
    if (d->query.search_list_at > 0 && timeout_left_us(r, d) <= 0) {
        (void)answer_stale(r, d); /* false: it goes on waiting */
    } else {
        resolver_be_patient(r, d);
    }
}

/* Asks upstreams; spreads the questions over them. SkyDNS used the client's id for that, but then
 * clients choose the upstream, and so the response that is cached for all. */
static void resolver_work_ask(struct resolver *r, struct deferred *d,
                              const struct upstream_question *question)
{
    d->wait.cb = on_forwarded;
    d->wait.data = d;
    d->wait.client = &d->query.client;
    if (fetcher_is_pausing(r->fetcher, question)) {
        resolver_work_answer_without_upstream(r, d, EDNS_ERROR_CACHED);
        return;
    }
    switch (fetcher_ask(r->fetcher, question, rng_next(&r->turn.rng), &d->wait)) {
    case FORWARDER_ASKED:
        counter_add(&r->counts.forwarded, 1);
        wait_patiently(r, d);
        break;
    case FORWARDER_NO_SERVER:
        resolver_work_answer_without_upstream(r, d, EDNS_ERROR_NETWORK);
        break;
    case FORWARDER_FULL:
        resolver_work_answer_without_upstream(r, d, EDNS_ERROR_OTHER);
        break;
    }
}

/* Forwards the query. A client that may not ask about a candidate name gets the first name's
 * answer, as if it had no search list. It is refused when it asks about that name itself. */
static void resolver_work_forward(struct resolver *r, struct deferred *d)
{
    struct query parsed;
    owned_query_read(&d->query, &parsed);
    if (r->turn.deferral.forward.len > 0) {
        parsed.question.name = r->turn.deferral.forward;
    }
    const struct upstream_question question = upstream_question_of(&parsed.question);
    if (loop_check_came_back(r->loop_check, &question.name)) {
        resolver_refuse(r, d);
    } else if (!recursion_allows(r->config.recursion, &d->query.client, clock_monotonic_ms())) {
        if (!try_next_place(r, d, 0)) {
            resolver_refuse_recursion(r, d);
        }
    } else if (!answer_allowed(r, d)) {
        resolver_work_ask(r, d, &question);
    }
}

/* ---- Stale timeouts ---- */

/* Sets the timer for the oldest; queries come nearly in the order of their age. */
static void set_timeout(struct resolver *r)
{
    const struct deferred *oldest = TAILQ_FIRST(&r->patient);
    ev_timer_stop(r->loop, &r->timeout);
    if (oldest) {
        int64_t left_us = timeout_left_us(r, oldest);
        ev_timer_set(&r->timeout, left_us > 0 ? (double)left_us / 1e6 : 0, 0.);
        ev_timer_start(r->loop, &r->timeout);
    }
}

void resolver_be_patient(struct resolver *r, struct deferred *d)
{
    bool is_first = TAILQ_EMPTY(&r->patient);
    if (keeps_stale(r) && !d->is_patient) {
        d->is_patient = true;
        TAILQ_INSERT_TAIL(&r->patient, d, timeout_entry);
        if (is_first) {
            set_timeout(r);
        }
    }
}

/* Ends the query's stale timeout. A timer that is now too early sets itself again. */
void resolver_be_patient_no_more(struct resolver *r, struct deferred *d)
{
    if (d->is_patient) {
        d->is_patient = false;
        TAILQ_REMOVE(&r->patient, d, timeout_entry);
    }
}

/* Takes the due timeouts in portions, like reply_portions: the timer goes on with the rest. */
void resolver_time_out(struct resolver *r)
{
    const int64_t begun_us = clock_monotonic_us();
    struct deferred *d;
    while ((d = TAILQ_FIRST(&r->patient)) && timeout_left_us(r, d) <= 0) {
        resolver_be_patient_no_more(r, d);
        if (d->lookup) {
            resolver_look_up_stale(r, d);
        } else {
            (void)answer_stale(r, d); /* false: it goes on waiting */
        }
        if (clock_monotonic_us() - begun_us >= FORWARDER_PORTION_US) {
            break;
        }
    }
    set_timeout(r);
}

/* ---- REFRESH ---- */

void resolver_refresh(struct resolver *r, const struct question *question)
{
    const struct upstream_question asked = upstream_question_of(question);
    fetcher_refresh(r->fetcher, &asked, rng_next(&r->turn.rng));
}

/* ---- The begin ---- */

static void resolver_work_wait_for(struct resolver *r, struct deferred *d)
{
    resolver_keep_place(r, d);
    switch (r->turn.deferral.kind) {
    case ENGINE_DEFER_LOOKUP:
        resolver_look_up(r, d, r->turn.store ? store_revision(r->turn.store) : 0);
        break;
    case ENGINE_DEFER_FORWARD:
        resolver_work_forward(r, d);
        break;
    case ENGINE_DEFER_SCAN:
        resolver_scan(r, d, 0, 0);
        break;
    case ENGINE_DEFER_SIGN:
        resolver_sign(r, d, 0, 0);
        break;
    case ENGINE_DEFER_TRANSFER: /* not one that was answered before */
        resolver_refuse(r, d);
        break;
    case ENGINE_DEFER_REFRESH: /* the engine never sets it */
        break;
    }
}

static void answer_now(struct resolver *r, struct deferred *d)
{
    struct engine_query query = resolver_query(r, d);
    switch (turn_answer(&r->turn, &query, NULL, &r->response)) {
    case ENGINE_REPLY:
        turn_refresh_if_wanted(&r->turn, &query);
        resolver_finish(r, d, &r->response);
        return;
    case ENGINE_DROP:
        resolver_drop(r, d);
        return;
    case ENGINE_DEFER:
        resolver_work_wait_for(r, d);
        return;
    }
}

void resolver_begin(struct resolver *r, struct deferred *d)
{
    if (d->kind == ENGINE_DEFER_SCAN) {
        resolver_scan(r, d, 0, 0);
    } else if (d->kind == ENGINE_DEFER_SIGN) {
        resolver_sign(r, d, 0, 0);
    } else {
        answer_now(r, d);
    }
}

/* Takes the query. A client may have as many as are free: half of them when alone. */
bool resolver_take(struct resolver *r, struct deferred *d)
{
    d->resolver = r;
    TAILQ_INSERT_TAIL(&r->in_hand, d, entry);
    counter_add(&r->counts.in_hand, 1);
    return client_loads_add(r->loads, &d->query.client) + counter_get(&r->counts.in_hand) <=
           RESOLVER_IN_HAND_MAX + 1;
}
