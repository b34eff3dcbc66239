#include "skydns/tap/query_tap.h"

#include <stdio.h>
#include <string.h>

#include "skydns/clients/client_index.h"
#include "skydns/dnstap/dnstap.h"
#include "skydns/wire/owned_query.h"
#include "skydns/wire/response.h"

void query_tap_init(struct query_tap *tap, struct name_samples *samples, struct dnstap *dnstap)
{
    atomic_init(&tap->watched, dnstap ? QUERY_TAP_DNSTAP : 0);
    atomic_init(&tap->rule, 0);
    atomic_init(&tap->are_clients_wanted, false);
    tap->samples = samples;
    tap->dnstap = dnstap;
}

static void set_watched(struct query_tap *tap, unsigned bit, bool is_set)
{
    if (is_set) {
        (void)atomic_fetch_or_explicit(&tap->watched, bit, memory_order_relaxed);
    } else {
        (void)atomic_fetch_and_explicit(&tap->watched, ~bit, memory_order_relaxed);
    }
}

void query_tap_set_log(struct query_tap *tap, struct query_log_rule rule)
{
    uint64_t word = (uint64_t)rule.mode << 32 | rule.every;
    atomic_store_explicit(&tap->rule, word, memory_order_relaxed);
    set_watched(tap, QUERY_TAP_LOG, rule.mode != QUERY_LOG_OFF);
}

void query_tap_set_sampling(struct query_tap *tap, bool is_sampling)
{
    set_watched(tap, QUERY_TAP_SAMPLES, is_sampling);
}

void query_tap_set_clients(struct query_tap *tap, bool are_wanted)
{
    atomic_store_explicit(&tap->are_clients_wanted, are_wanted, memory_order_relaxed);
}

/* Samples one query in QUERY_TAP_SAMPLE_OF, whatever else is watched. */
static void query_tap_sample(const struct query_tap *tap, struct query_counts *counts,
                             const struct query_seen *seen)
{
    unsigned watched = atomic_load_explicit(&tap->watched, memory_order_relaxed);
    if (watched == QUERY_TAP_SAMPLES ||
        (watched & QUERY_TAP_SAMPLES && ++counts->sampled % QUERY_TAP_SAMPLE_OF == 0)) {
        name_samples_put(tap->samples, seen->response);
    }
}

static struct query_log_rule log_rule(const struct query_tap *tap)
{
    uint64_t word = atomic_load_explicit(&tap->rule, memory_order_relaxed);
    return (struct query_log_rule){.mode = (enum query_log_mode)(word >> 32),
                                   .every = (uint32_t)word};
}

/* Returns how the query came: gRPC has no number of its own. */
static enum dnstap_protocol query_tap_protocol_of(enum engine_transport transport)
{
    switch (transport) {
    case ENGINE_UDP:
        return DNSTAP_UDP;
    case ENGINE_TLS:
        return DNSTAP_DOT;
    case ENGINE_HTTPS:
    case ENGINE_HTTP:
        return DNSTAP_DOH;
    case ENGINE_TCP:
    case ENGINE_GRPC:
    case ENGINE_TRANSPORTS:
        break;
    }
    return DNSTAP_TCP;
}

static struct dnstap_event event_of(const struct engine_query *query, int64_t query_ns)
{
    return (struct dnstap_event){
        .type = DNSTAP_CLIENT_QUERY,
        .protocol = query_tap_protocol_of(query->transport),
        .querier = query->client,
        .answerer = query->local,
        .query_ns = query->received_ns > 0 ? query->received_ns : query_ns,
        .message = slice_of(query->wire, query->len),
    };
}

/* Appends " name=text" to `out`, without the blank at its beginning; nothing if the text is
 * empty. */
static size_t add_extra(char out[DNSTAP_EXTRA_MAX], size_t len, const char *name, struct slice text)
{
    int n = text.len > 0 ? snprintf(out + len, DNSTAP_EXTRA_MAX - len, "%s%s=%.*s",
                                    len > 0 ? " " : "", name, (int)text.len, text.ptr)
                         : 0;
    return len + (size_t)n; /* fits: see DNSTAP_EXTRA_MAX */
}

/* Writes the `extra` field: who the client is, as far as that is known. */
static struct slice extra_of(const struct client_index *clients, const struct engine_query *query,
                             char out[DNSTAP_EXTRA_MAX])
{
    const struct ip ip = addr_ip(query->client);
    struct client_description client;
    if (!clients || !client_index_describe(clients, &ip, &client)) {
        return slice_of(NULL, 0);
    }
    size_t len = add_extra(out, 0, "namespace", client.ns);
    len = add_extra(out, len, "pod", client.pod);
    len = add_extra(out, len, "node", client.node);
    return slice_of(out, len);
}

void query_tap_show_query(const struct query_tap *tap, const struct engine_query *query,
                          const struct client_index *clients)
{
    char extra[DNSTAP_EXTRA_MAX];
    if (tap->dnstap) {
        struct dnstap_event event = event_of(query, dnstap_now_ns());
        event.extra = extra_of(clients, query, extra);
        dnstap_show(tap->dnstap, &event);
    }
}

static void show_dnstap(struct dnstap *dnstap, const struct query_seen *seen)
{
    const int64_t now_ns = dnstap_now_ns();
    char extra[DNSTAP_EXTRA_MAX];
    struct dnstap_event event = event_of(seen->query, now_ns - seen->took_us * 1000);
    event.extra = extra_of(seen->clients, seen->query, extra);
    if (!seen->query->owned) {
        dnstap_show(dnstap, &event);
    }
    event.type = DNSTAP_CLIENT_RESPONSE;
    event.response_ns = now_ns;
    event.message = slice_of(seen->response->bytes, seen->response->len);
    dnstap_show(dnstap, &event);
}

void query_tap_show(const struct query_tap *tap, struct query_counts *counts,
                    const struct query_seen *seen)
{
    query_tap_sample(tap, counts, seen);
    if (query_log_wants(log_rule(tap), seen) && !query_log_write(seen)) {
        counter_add(&counts->log_dropped, 1);
    }
    if (tap->dnstap) {
        show_dnstap(tap->dnstap, seen);
    }
}

void name_samples_init(struct name_samples *samples)
{
    atomic_init(&samples->put, 0);
    atomic_init(&samples->taken, 0);
    for (uint32_t i = 0; i < NAME_SAMPLES_MAX; i++) {
        atomic_init(&samples->places[i].turn, i);
    }
}

/* Puts as D. Vyukov's bounded queues do: a thread owns the slot whose number it has advanced `put`
 * past. */
void name_samples_put(struct name_samples *samples, const struct response *response)
{
    uint32_t number = atomic_load_explicit(&samples->put, memory_order_relaxed);
    struct name_place *place = &samples->places[number % NAME_SAMPLES_MAX];
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != number ||
        response->name_len == 0) {
        return; /* full, or another thread is at it; or there is no question */
    }
    if (atomic_compare_exchange_strong_explicit(&samples->put, &number, number + 1,
                                                memory_order_relaxed, memory_order_relaxed)) {
        place->sample =
            (struct name_sample){.name.len = response->name_len, .type = response_type(response)};
        memcpy(place->sample.name.wire, response_name(response), response->name_len);
        atomic_store_explicit(&place->turn, number + 1, memory_order_release);
    }
}

bool name_samples_take(struct name_samples *samples, struct name_sample *ret)
{
    uint32_t number = atomic_load_explicit(&samples->taken, memory_order_relaxed);
    struct name_place *place = &samples->places[number % NAME_SAMPLES_MAX];
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != number + 1) {
        return false;
    }
    *ret = place->sample;
    atomic_store_explicit(&place->turn, number + NAME_SAMPLES_MAX, memory_order_release);
    atomic_store_explicit(&samples->taken, number + 1, memory_order_relaxed);
    return true;
}
