/* Measures the cost of zone transfers for their thread, in process, without sockets: a zone of
 * 10,000 and 100,000 Services as whole messages, the reverse zone likewise, and the difference
 * after one change, or a thousand. Prints milliseconds of thread time, the best of several rounds,
 * and the content of the messages. Exit status 1: the whole zone of 100,000 Services took more than
 * 2 s, or the difference of one change more than 1 ms. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/transfer/transfer_session_internal.h"
#include "skydns/transfer/zone_diff_internal.h"
#include "tests/bench/bench.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/services.h"

enum { ROUNDS = 5, MANY = 1000 };
#define WHOLE_MAX_MS 2000.0
#define STEP_MAX_MS  1.0

struct bench {
    struct fixture *fixture; /* for its configuration alone */
    struct services services;
    struct zone_answers *answers;
    const struct store *store;
    struct store_garbage *first;
};

static double thread_ms(void)
{
    return (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e6;
}

static void bench_init(struct bench *b, unsigned bench_transfer_count)
{
    struct err err;
    b->fixture = fixture_new(NULL, 0);
    b->fixture->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    b->fixture->config.settings.reverse_zone_count = 1;
    if (network_parse(slice_str("10.0.0.0/8"), &b->fixture->config.settings.reverse_zones[0],
                      &err) != 0) {
        abort();
    }
    services_init(&b->services, bench_transfer_count);
    b->store = services_fill(&b->services, &b->first);
    b->answers = zone_answers_new(&b->fixture->config);
}

static void bench_fini(struct bench *b)
{
    zone_answers_free(b->answers);
    store_garbage_free(b->first);
    services_fini(&b->services);
    fixture_free(b->fixture);
}

/* ---- A whole zone ---- */

struct whole {
    double best_ms;
    uint64_t records, messages, bytes;
};

static void run_whole(const struct bench *b, const struct dname *apex, struct whole *ret)
{
    static uint8_t out[DNS_MESSAGE_MAX];
    const struct transfer_query query = {.zone = *apex};
    const struct transfer_ask ask = {.kind = TRANSFER_WHOLE,
                                     .query = &query,
                                     .config = &b->fixture->config,
                                     .apex = apex,
                                     .serial = 1,
                                     .answers = b->answers,
                                     .store = b->store};
    double begun_ms = thread_ms();
    struct transfer_session *session = transfer_session_new(&ask);
    enum transfer_progress progress = TRANSFER_MORE;
    size_t len = 0;
    ret->messages = ret->bytes = 0;
    while (progress == TRANSFER_MORE) {
        progress = transfer_session_next(session, out, sizeof(out), &len);
        ret->messages++;
        ret->bytes += len;
    }
    ret->records = transfer_session_records(session);
    transfer_session_free(session);
    double took_ms = thread_ms() - begun_ms;
    if (progress != TRANSFER_DONE) {
        abort();
    }
    if (ret->best_ms == 0 || took_ms < ret->best_ms) {
        ret->best_ms = took_ms;
    }
}

static double show_whole(const struct bench *b, const char *zone)
{
    const struct dname apex = dname_from(zone);
    struct whole whole = {.best_ms = 0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        run_whole(b, &apex, &whole);
    }
    (void)printf("%7u Services  %-15s %8.1f ms  %lu records, %lu messages, %.1f MiB\n",
                 b->services.count, zone, whole.best_ms, (unsigned long)whole.records,
                 (unsigned long)whole.messages, (double)whole.bytes / (1 << 20));
    return whole.best_ms;
}

/* ---- A difference ---- */

static void bench_transfer_count(void *data, bool is_added, struct slice bytes)
{
    size_t *counts = data;
    (void)bytes;
    counts[is_added]++;
}

/* Measures the difference after that many changes at once. */
static double show_step(struct bench *b, unsigned changes)
{
    const struct dname apex = dname_from("cluster.local.");
    double best_ms = 0;
    size_t counts[2] = {0, 0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct store_garbage **garbage = xcalloc(changes, sizeof(struct store_garbage *));
        const struct store *after = b->store;
        for (unsigned i = 0; i < changes; i++) {
            after = services_change(&b->services, (round * changes + i) % b->services.count,
                                    &garbage[i]);
        }
        const struct zone_diff_ask ask = {.answers = b->answers,
                                          .config = &b->fixture->config,
                                          .before = b->store,
                                          .after = after,
                                          .apex = &apex,
                                          .fn = bench_transfer_count,
                                          .data = counts};
        counts[0] = counts[1] = 0;
        double begun_ms = thread_ms();
        enum zone_diff_result result = zone_diff(&ask);
        double took_ms = thread_ms() - begun_ms;
        if (result != ZONE_DIFF_DONE || counts[0] == 0) {
            abort();
        }
        best_ms = round == 0 || took_ms < best_ms ? took_ms : best_ms;
        b->store = after;
        for (unsigned i = 0; i < changes; i++) {
            store_garbage_free(garbage[i]);
        }
        free(garbage);
    }
    (void)printf("%7u Services  %u changes: %8.3f ms  %zu records removed, %zu added\n",
                 b->services.count, changes, best_ms, counts[0], counts[1]);
    return best_ms;
}

int main(void)
{
    static const unsigned sizes[] = {10000, 100000};
    bool is_missed = false;
    seeded_hash_init();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct bench b;
        bench_init(&b, sizes[i]);
        is_missed = show_whole(&b, "cluster.local.") > WHOLE_MAX_MS || is_missed;
        (void)show_whole(&b, "10.in-addr.arpa.");
        is_missed = show_step(&b, 1) > STEP_MAX_MS || is_missed;
        (void)show_step(&b, MANY);
        bench_fini(&b);
    }
    return is_missed;
}
