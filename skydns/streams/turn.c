#include "skydns/streams/turn_internal.h"

#include "common/base/clock.h"
#include "common/dns/dns.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"
#include "skydns/streams/transfer_inbox_internal.h"
#include "skydns/tap/query_log.h"
#include "skydns/tap/query_tap.h"

const struct engine_config *turn_begin(struct turn *turn)
{
    turn->store = publisher_enter(turn->reader);
    const struct engine_config *config = publisher_config(turn->reader);
    engine_configure(turn->engine, config);
    turn->expensive_left = TURN_EXPENSIVE_MAX;
    turn->is_entered = true;
    return config;
}

/* The replies that left together, by one look at the clock. */
static void count_times(struct turn *turn, struct query_counts *counts, int64_t begun_us)
{
    const int64_t took_us = clock_monotonic_us() - begun_us;
    for (; turn->untimed > 0; turn->untimed--) {
        query_counts_took(counts, took_us);
    }
}

/* Those whose last one got no reply. */
static void count_times_left(struct turn *turn)
{
    if (turn->untimed > 0) {
        count_times(turn, turn->untimed_counts, turn->ahead_us);
    }
}

void turn_end(struct turn *turn)
{
    if (turn->is_entered) {
        count_times_left(turn);
        turn->is_entered = false;
        turn->store = NULL;
        publisher_leave(turn->reader);
    }
}

static enum engine_verdict answer(struct turn *turn, const struct engine_query *query,
                                  const struct external_answers *externals, uint8_t *reply,
                                  size_t *ret_len)
{
    enum engine_verdict verdict =
        engine_answer(turn->engine, turn->store, query, externals, reply, ret_len, &turn->deferral);
    if (verdict != ENGINE_DEFER && turn->deferral.is_barred) {
        struct query_counts *counts = turn->counts[query->transport];
        if (counts) {
            counter_add(&counts->not_allowed, 1);
        }
        query_log_not_allowed(query->client);
    }
    return verdict;
}

enum engine_verdict turn_answer(struct turn *turn, const struct engine_query *query,
                                const struct external_answers *externals, uint8_t *reply,
                                size_t *ret_len)
{
    struct engine_query brief = *query;
    brief.is_brief = true;
    enum engine_verdict verdict = answer(turn, &brief, externals, reply, ret_len);
    if (verdict != ENGINE_DEFER || turn->deferral.kind != ENGINE_DEFER_WALK ||
        turn->expensive_left == 0) {
        return verdict;
    }
    turn->expensive_left--;
    return answer(turn, query, externals, reply, ret_len);
}

void turn_refresh_if_wanted(struct turn *turn, const struct engine_query *query)
{
    const struct engine_deferral *deferral = &turn->deferral;
    if (deferral->wants_refresh) {
        struct engine_query refresh = *query;
        if (deferral->refresh_len) {
            refresh.wire = deferral->refresh;
            refresh.len = deferral->refresh_len;
        }
        turn->refresh(turn->data, &refresh);
    }
}

void turn_show(const struct turn *turn, struct query_counts *counts,
               const struct engine_query *query, const uint8_t *reply, size_t len, size_t rcode,
               int64_t begun_us)
{
    const struct query_seen seen = {
        .query = query,
        .reply = reply,
        .reply_len = len,
        .rcode = rcode,
        .clients = turn->is_entered ? publisher_config(turn->reader)->clients : NULL,
        .took_us = clock_monotonic_us() - begun_us,
    };
    query_tap_show(turn->tap, counts, &seen);
}

/* ---- Connections ---- */

static void note_time(struct turn *turn, struct query_counts *counts, unsigned ahead,
                      int64_t begun_us)
{
    const bool is_together = ahead > 0 && ahead <= turn->together;
    if (!is_together) {
        count_times_left(turn);
    }
    turn->untimed++;
    turn->untimed_counts = counts;
    if (!is_together || ahead == turn->together) {
        count_times(turn, counts, begun_us);
    }
}

/* Counts, pads and shows it; returns its length. */
static size_t finish_reply(struct turn *turn, const struct engine_query *query,
                           const struct transport_edns *edns, uint8_t *reply, size_t len,
                           int64_t begun_us)
{
    struct query_counts *counts = turn->counts[query->transport];
    const bool is_shown = query_tap_wants(turn->tap, counts);
    const size_t rcode = is_shown ? query_counts_rcode(reply, len) : 0;
    query_counts_reply(counts, reply, len, turn->deferral.name_len);
    len = transport_edns_add(edns, turn->idle_ms, reply, len);
    note_time(turn, counts, query->ahead, begun_us);
    if (is_shown) {
        turn_show(turn, counts, query, reply, len, rcode, begun_us);
    }
    return len;
}

/* A client may have as many late answers due as places are left, so that its bursts leave the
 * others some. */
static bool defer(struct turn *turn, const struct tcp_query *tcp, const struct engine_query *query,
                  struct transport_edns edns)
{
    const struct deferred_origin origin = {
        .transport = tcp->transport, .tcp = tcp->connection, .tag = tcp->tag, .edns = edns};
    if (turn->deferral.kind == ENGINE_DEFER_TRANSFER) {
        return turn->transfers && transfer_inbox_ask(turn->transfers, tcp, query,
                                                     publisher_config(turn->reader)->tsig);
    }
    const size_t room = resolver_room(turn->resolver, turn->producer);
    const size_t left = turn->late_max - turn->late;
    struct engine_query deferred = *query;
    deferred.is_signed = turn->deferral.is_signed;
    if (tcp->client_waiting >= (room < left ? room : left) ||
        !resolver_defer(turn->resolver, turn->producer, &deferred, turn->deferral.kind, &origin)) {
        return false;
    }
    turn->late++;
    return true;
}

/* A query that gets no answer comes from a nameserver of a stub zone that we ask: its connection
 * is closed, as it would wait. What is no query is passed over. Other protocols say that there is
 * none. */
static void drop(struct turn *turn, const struct tcp_query *tcp)
{
    bool is_query = tcp->len >= DNS_HEADER_SIZE && !(tcp->wire[2] & DNS_FLAG_QR >> 8);
    if (is_query && (tcp->transport == ENGINE_TCP || tcp->transport == ENGINE_TLS)) {
        tcp_server_end(turn->tcp, tcp->connection);
    }
}

enum engine_verdict turn_answer_connection(void *data, const struct tcp_query *tcp, uint8_t *reply,
                                           size_t *ret_len)
{
    struct turn *turn = data;
    /* One that was announced has waited since then: its answer takes that long. */
    const int64_t begun_us = tcp->ahead > 0 ? turn->ahead_us : clock_monotonic_us();
    const struct engine_query query = {
        .wire = tcp->wire,
        .len = tcp->len,
        .client = tcp->client,
        .local = tcp->local,
        .transport = tcp->transport,
        .now_s = tcp->ahead > 0 ? turn->ahead_s : clock_wall_s(),
        .now_ms = begun_us / 1000,
        .random = rng_next(&turn->rng),
        .ahead = tcp->ahead,
    };
    struct transport_edns edns = {0};
    if (tcp->transport != ENGINE_TCP) {
        edns = transport_edns_read(tcp->transport, tcp->wire, tcp->len);
    }
    struct query_counts *counts = turn->counts[tcp->transport];
    query_counts_begin(counts);
    enum engine_verdict verdict = turn_answer(turn, &query, NULL, reply, ret_len);
    if (verdict == ENGINE_DEFER) {
        if (defer(turn, tcp, &query, edns)) {
            counter_add(&counts->deferred, 1);
            return ENGINE_DEFER;
        }
        *ret_len = engine_servfail(turn->engine, &query, EDNS_ERROR_OTHER, reply);
        counter_add(&counts->refused, 1);
        verdict = ENGINE_REPLY;
    } else if (verdict == ENGINE_REPLY) {
        counter_add(&counts->answered, 1);
        turn_refresh_if_wanted(turn, &query);
    } else {
        counter_add(&counts->dropped, 1);
        drop(turn, tcp);
    }
    if (verdict == ENGINE_REPLY) {
        *ret_len = finish_reply(turn, &query, &edns, reply, *ret_len, begun_us);
    }
    return verdict;
}

void turn_part_left(void *data, uint64_t transfer, bool is_gone)
{
    const struct turn *turn = data;
    transfers_left(turn->transfers->transfers, transfer, is_gone);
}

void turn_look_ahead(void *data, const struct slice *queries, size_t count, bool are_together)
{
    struct turn *turn = data;
    count_times_left(turn);
    turn->ahead_us = clock_monotonic_us();
    turn->ahead_s = clock_wall_s();
    turn->together = are_together ? (unsigned)count : 0;
    engine_look_ahead(turn->engine, turn->store, queries, count);
}

void turn_reply_late(struct turn *turn, const struct deferred_origin *origin, const uint8_t *reply,
                     size_t len)
{
    turn->late--;
    (void)tcp_server_reply(turn->tcp, origin->tcp, origin->tag, reply, len); /* false: it is gone */
}
