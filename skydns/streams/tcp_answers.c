#include "skydns/streams/tcp_answers_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "skydns/engine/namespace_rate.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"
#include "skydns/tap/client_counts.h"
#include "skydns/tap/query_tap.h"

/* ---- Messages of zone transfers ---- */

static void tcp_answers_send_part(const struct transfer_inbox *inbox,
                                  const struct transfer_part *part)
{
    bool is_there =
        tcp_server_reply_part(inbox->tcp, tcp_ref_unpack(part->origin.connection), part->transfer,
                              part->is_last, part->len ? part->bytes : NULL, part->len);
    if (!is_there && !part->is_last) {
        transfers_left(inbox->transfers, part->transfer, true);
    }
}

static void tcp_answers_on_filled(struct ev_loop *loop UNUSED, ev_async *filled, int revents UNUSED)
{
    struct transfer_inbox *inbox = filled->data;
    struct transfer_parts parts = TAILQ_HEAD_INITIALIZER(parts);
    struct transfer_part *part;
    (void)pthread_mutex_lock(&inbox->lock); /* cannot fail: a plain mutex, not held */
    TAILQ_CONCAT(&parts, &inbox->parts, entry);
    (void)pthread_mutex_unlock(&inbox->lock); /* the same */
    while ((part = TAILQ_FIRST(&parts))) {
        TAILQ_REMOVE(&parts, part, entry);
        tcp_answers_send_part(inbox, part);
        free(part);
    }
}

void transfer_inbox_init(struct transfer_inbox *inbox, struct ev_loop *loop, struct tcp_server *tcp,
                         struct transfers *transfers)
{
    *inbox = (struct transfer_inbox){.loop = loop, .tcp = tcp, .transfers = transfers};
    TAILQ_INIT(&inbox->parts);
    (void)pthread_mutex_init(&inbox->lock, NULL); /* cannot fail without attributes */
    ev_async_init(&inbox->filled, tcp_answers_on_filled);
    inbox->filled.data = inbox;
    ev_async_start(loop, &inbox->filled);
}

void transfer_inbox_fini(struct transfer_inbox *inbox)
{
    struct transfer_part *part;
    while ((part = TAILQ_FIRST(&inbox->parts))) {
        TAILQ_REMOVE(&inbox->parts, part, entry);
        free(part);
    }
    (void)pthread_mutex_destroy(&inbox->lock); /* nobody holds it */
}

void transfer_inbox_put(struct transfer_inbox *inbox, struct transfer_part *part)
{
    (void)pthread_mutex_lock(&inbox->lock); /* as above */
    TAILQ_INSERT_TAIL(&inbox->parts, part, entry);
    (void)pthread_mutex_unlock(&inbox->lock);
    ev_async_send(inbox->loop, &inbox->filled);
}

bool transfer_inbox_ask(const struct transfer_inbox *inbox, const struct tcp_query *tcp,
                        const struct engine_query *query, struct tsig_keys *keys)
{
    const struct transfer_origin origin = {.transport = tcp->transport,
                                           .connection = tcp_ref_pack(tcp->connection)};
    return inbox->transfers && transfers_ask(inbox->transfers, &origin, query, keys);
}

/* ---- Queries ---- */

/* Counts the times of responses that left together, by one look at the clock. */
static void count_times(struct tcp_answers *a, struct query_counts *counts, int64_t begun_us)
{
    const int64_t took_us = clock_monotonic_us() - begun_us;
    for (; a->untimed > 0; a->untimed--) {
        query_counts_took(counts, took_us);
    }
}

/* Counts responses that left together although the last of their queries got none. */
void tcp_answers_end_turn(struct tcp_answers *a)
{
    if (a->untimed > 0) {
        count_times(a, a->untimed_counts, a->ahead_us);
    }
}

static void note_time(struct tcp_answers *a, struct query_counts *counts, unsigned ahead,
                      int64_t begun_us)
{
    const bool is_together = ahead > 0 && ahead <= a->together;
    if (!is_together) {
        tcp_answers_end_turn(a);
    }
    a->untimed++;
    a->untimed_counts = counts;
    if (!is_together || ahead == a->together) {
        count_times(a, counts, begun_us);
    }
}

/* Counts the response and shows it to what watches. */
static void count_response(struct tcp_answers *a, const struct engine_query *query,
                           const struct response *response, int64_t begun_us)
{
    const struct turn *turn = a->turn;
    struct query_counts *counts = turn->counts[query->transport];
    query_counts_response(counts, response);
    note_time(a, counts, query->ahead, begun_us);
    if (query_tap_wants_clients(turn->tap)) {
        client_counts_note(turn->clients, query->client, response);
    }
    if (query_tap_wants(turn->tap, counts, response)) {
        turn_show(turn, counts, query, response, begun_us);
    }
}

/* Defers a query. A client may have as many late answers due as the ring has free, so that its
 * bursts leave the others some. */
static bool tcp_answers_defer(struct tcp_answers *a, const struct tcp_query *tcp,
                              const struct engine_query *query)
{
    const struct turn *turn = a->turn;
    const struct deferred_origin origin = {
        .to = &a->reply_to, .tcp = tcp->connection, .tag = tcp->tag};
    if (turn->deferral.kind == ENGINE_DEFER_TRANSFER) {
        return a->transfers &&
               transfer_inbox_ask(a->transfers, tcp, query, publisher_config(turn->reader)->tsig);
    }
    const size_t room = resolver_room(a->resolver, a->producer);
    const size_t left = a->late_max - a->late;
    if (tcp->client_waiting >= (room < left ? room : left) ||
        !resolver_defer(a->resolver, a->producer, query, turn->deferral.kind, &origin)) {
        return false;
    }
    a->late++;
    query_tap_show_query(turn->tap, query,
                         turn->is_entered ? publisher_config(turn->reader)->clients : NULL);
    return true;
}

enum engine_verdict tcp_answers_query(void *data, const struct tcp_query *tcp,
                                      struct response *response)
{
    struct tcp_answers *a = data;
    struct turn *turn = a->turn;
    /* An announced query has waited since then: its answer takes that long. */
    const int64_t begun_us = tcp->ahead > 0 ? a->ahead_us : clock_monotonic_us();
    struct engine_query query = {
        .wire = tcp->wire,
        .len = tcp->len,
        .client = tcp->client,
        .local = tcp->local,
        .transport = tcp->transport,
        .idle_ms = a->idle_ms,
        .now_s = tcp->ahead > 0 ? a->ahead_s : clock_wall_s(),
        .now_ms = begun_us / 1000,
        .random = rng_next(&turn->rng),
        .ahead = tcp->ahead,
    };
    struct query_counts *counts = turn->counts[tcp->transport];
    query_counts_begin(counts);
    enum engine_verdict verdict = turn_answer(turn, &query, NULL, response);
    if (verdict == ENGINE_DEFER) {
        if (tcp_answers_defer(a, tcp, &query)) {
            counter_add(&counts->deferred, 1);
            return ENGINE_DEFER;
        }
        (void)!engine_servfail(turn->engine, &query, EDNS_ERROR_OTHER, response);
        counter_add(&counts->refused, 1);
        verdict = ENGINE_REPLY;
    } else if (verdict == ENGINE_REPLY) {
        counter_add(&counts->answered, 1);
        turn_refresh_if_wanted(turn, &query);
    } else {
        counter_add(&counts->dropped, 1);
    }
    if (verdict == ENGINE_REPLY) {
        count_response(a, &query, response, begun_us);
    }
    return verdict;
}

int64_t tcp_answers_admit(void *data, const struct addr *client, enum engine_transport transport,
                          bool is_again)
{
    const struct tcp_answers *a = data;
    const struct engine_config *config = publisher_config(a->turn->reader);
    const struct rate rate = {config->settings.rate_namespace,
                              config->settings.rate_namespace_burst};
    const struct ip ip = addr_ip(client);
    const struct client_space *space =
        rate.per_s > 0 && config->clients ? client_index_find(config->clients, &ip) : NULL;
    const int64_t wait_us =
        space ? namespace_rate_take(a->namespace_rate, space, &ip, &rate, clock_monotonic_us()) : 0;
    if (wait_us > 0 && !is_again) {
        counter_add(&a->turn->counts[transport]->namespace_delays, 1);
    }
    return wait_us;
}

void tcp_answers_part_left(void *data, uint64_t transfer, bool is_gone)
{
    const struct tcp_answers *a = data;
    transfers_left(a->transfers->transfers, transfer, is_gone);
}

void tcp_answers_look_ahead(void *data, const struct slice *queries, size_t count,
                            bool are_together)
{
    struct tcp_answers *a = data;
    tcp_answers_end_turn(a);
    a->ahead_us = clock_monotonic_us();
    a->ahead_s = clock_wall_s();
    a->together = are_together ? (unsigned)count : 0;
    engine_look_ahead(a->turn->engine, a->turn->store, queries, count);
}

bool tcp_answers_late(struct tcp_answers *answers, const struct deferred_origin *origin,
                      const struct response *response)
{
    answers->late--;
    return tcp_server_reply(answers->tcp, origin->tcp, origin->tag, response);
}
