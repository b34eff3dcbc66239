#include "skydns/tap/query_tap.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/clients/client_index.h"
#include "skydns/dnstap/dnstap.h"
#include "skydns/wire/owned_query.h"

void query_tap_init(struct query_tap *tap, struct name_samples *samples,
                    struct name_samples *missing, struct dnstap *dnstap)
{
    atomic_init(&tap->watched,
                (unsigned)((dnstap ? QUERY_TAP_DNSTAP : 0) | (missing ? QUERY_TAP_MISSING : 0)));
    atomic_init(&tap->rule, 0);
    atomic_init(&tap->are_clients_wanted, false);
    tap->samples = samples;
    tap->missing = missing;
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

/* Counts a denial; returns whether it is the next sample. The gaps of each thread are others:
 * `missing_random` begins as the address of its counts. Knuth's generator, of which the upper bits
 * are good. */
static bool is_missing_due(struct query_counts *counts)
{
    if (counts->missing_left == 0) {
        if (counts->missing_random == 0) {
            counts->missing_random = (uint32_t)((uintptr_t)counts >> 4) | 1;
        }
        counts->missing_random = counts->missing_random * 1664525 + 1013904223;
        counts->missing_left =
            QUERY_TAP_MISSING_GAP_MIN + (counts->missing_random >> 16) % QUERY_TAP_MISSING_GAPS;
    }
    return --counts->missing_left == 0;
}

static bool is_missing_denial(const struct response *response)
{
    return response->len > 0 && (response_low_rcode(response) == DNS_RCODE_NXDOMAIN ||
                                 (response->lacks_target && response_has_answer(response)));
}

bool query_tap_is_due(struct query_counts *counts, unsigned watched,
                      const struct response *response)
{
    counts->is_sample = watched & QUERY_TAP_SAMPLES && ++counts->sampled % QUERY_TAP_SAMPLE_OF == 0;
    counts->is_missing_sample =
        watched & QUERY_TAP_MISSING && is_missing_denial(response) && is_missing_due(counts);
    return watched & QUERY_TAP_ALL || counts->is_sample || counts->is_missing_sample;
}

/* Puts it where query_tap_is_due wants it. */
static void query_tap_sample(const struct query_tap *tap, const struct query_counts *counts,
                             const struct query_seen *seen)
{
    if (counts->is_sample) {
        name_samples_put(tap->samples, seen);
    }
    if (counts->is_missing_sample) {
        name_samples_put(tap->missing, seen);
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

struct name_samples *name_samples_new(uint32_t size)
{
    assert(size > 0 && (size & (size - 1)) == 0);
    struct name_samples *samples = xcalloc(1, sizeof(*samples) + size * sizeof(samples->places[0]));
    samples->size = size;
    for (uint32_t i = 0; i < size; i++) {
        atomic_init(&samples->places[i].turn, i);
    }
    return samples;
}

void name_samples_free(struct name_samples *samples)
{
    free(samples);
}

uint64_t name_samples_dropped(const struct name_samples *samples)
{
    return atomic_load_explicit(&samples->dropped, memory_order_relaxed);
}

/* Puts as D. Vyukov's bounded queues do: a thread owns the slot whose number it has advanced `put`
 * past. */
void name_samples_put(struct name_samples *samples, const struct query_seen *seen)
{
    const struct response *response = seen->response;
    uint32_t number = atomic_load_explicit(&samples->put, memory_order_relaxed);
    struct name_place *place = &samples->places[number % samples->size];
    if (response->name_len == 0) {
        return; /* there is no question */
    }
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != number ||
        !atomic_compare_exchange_strong_explicit(&samples->put, &number, number + 1,
                                                 memory_order_relaxed, memory_order_relaxed)) {
        (void)atomic_fetch_add_explicit(&samples->dropped, 1, memory_order_relaxed);
        return; /* full, or another thread is at it */
    }
    struct name_sample *sample = &place->sample;
    sample->type = response_type(response);
    sample->client = addr_ip(seen->query->client);
    sample->name.len = response->name_len;
    memcpy(sample->name.wire, response_name(response), response->name_len);
    atomic_store_explicit(&place->turn, number + 1, memory_order_release);
}

bool name_samples_take(struct name_samples *samples, struct name_sample *ret)
{
    uint32_t number = atomic_load_explicit(&samples->taken, memory_order_relaxed);
    struct name_place *place = &samples->places[number % samples->size];
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != number + 1) {
        return false;
    }
    *ret = place->sample;
    atomic_store_explicit(&place->turn, number + samples->size, memory_order_release);
    atomic_store_explicit(&samples->taken, number + 1, memory_order_relaxed);
    return true;
}
