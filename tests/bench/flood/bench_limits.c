/* Measures the cost of rate limits and cookies for a query, in process: engine_answer without and
 * with a cookie, as the workers call it, and rate_limit_take. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/seeded_hash.h"
#include "skydns/engine/rate_limit.h"
#include "tests/bench/bench.h"
#include "tests/support/skydns/fixture.h"

enum { ROUNDS = 7, QUERIES = 1 << 20, CLIENTS = 1 << 14 };

/* The best of some rounds: the others had company. */
#define BEST(ret, body)                                                             \
    do {                                                                            \
        (ret) = 1e9;                                                                \
        for (unsigned round = 0; round < ROUNDS; round++) {                         \
            uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);                          \
            for (unsigned n = 0; n < QUERIES; n++) {                                \
                body;                                                               \
            }                                                                       \
            double each = (double)(clock_ns(CLOCK_MONOTONIC) - begun_ns) / QUERIES; \
            (ret) = each < (ret) ? each : (ret);                                    \
        }                                                                           \
    } while (0)

static double time_answers(struct fixture *f)
{
    struct engine_query query = {.wire = f->query,
                                 .len = f->query_len,
                                 .client = &f->local,
                                 .local = &f->local,
                                 .now_s = FIXTURE_NOW_S};
    const struct slice eight[ENGINE_AHEAD_MAX] = {
        slice_of(f->query, f->query_len), slice_of(f->query, f->query_len),
        slice_of(f->query, f->query_len), slice_of(f->query, f->query_len),
        slice_of(f->query, f->query_len), slice_of(f->query, f->query_len),
        slice_of(f->query, f->query_len), slice_of(f->query, f->query_len)};
    double best;
    BEST(best, {
        query.ahead = n % ENGINE_AHEAD_MAX + 1;
        if (query.ahead == 1) {
            engine_look_ahead(f->engine, f->store, eight, ENGINE_AHEAD_MAX);
        }
        (void)!engine_answer(f->engine, f->store, &query, NULL, &f->response, &f->deferral);
    });
    return best;
}

static double time_rates(void)
{
    static const struct rate rate = {1000, 1000};
    struct rate_limit *limit = rate_limit_new();
    struct addr clients[64];
    double best;
    for (unsigned i = 0; i < 64; i++) {
        const struct ip ip = {4, {10, 1, 0, (uint8_t)i}};
        clients[i] = addr_of_ip(&ip, 53);
    }
    BEST(best, {
        uint64_t client = rate_limit_client(&clients[n % 64]) + (n / 64 % (CLIENTS / 64) << 8);
        rate_limit_prepare(limit, client);
        (void)!rate_limit_take(limit, client, &rate, 1000000 + (int64_t)n);
    });
    rate_limit_free(limit);
    return best;
}

int main(void)
{
    static const struct fixture_key key = {"local/cluster/web", "{'host':'10.0.0.1'}"};
    static const uint8_t option[] = {0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8};
    seeded_hash_init();
    struct fixture *f = fixture_new(&key, 1);
    const struct ip ip = {4, {10, 1, 2, 3}};
    f->local = addr_of_ip(&ip, 53);
    (void)fixture_ask(f, "web.cluster.local. A edns=1232");
    double off = time_answers(f);
    f->config.cookies.count = 1;
    (void)fixture_ask(f, "web.cluster.local. A edns=1232");
    double on = time_answers(f);
    memcpy(f->query + f->query_len, option, sizeof(option));
    f->query_len += sizeof(option);
    f->query[f->query_len - sizeof(option) - 1] = sizeof(option);
    double first = time_answers(f);
    /* From now on with the cookie of the last reply. */
    memcpy(f->query + f->query_len - sizeof(option), f->reply + f->reply_len - 28, 28);
    f->query_len += 16;
    f->query[f->query_len - 29] = 28;
    double again = time_answers(f);
    printf(
        "answer, cookies off %.0f ns; on, without one %.0f; with a client's %.0f; with ours %.0f\n"
        "rate of %d clients %.0f ns\n",
        off, on, first, again, CLIENTS, time_rates());
    fixture_free(f);
    return 0;
}
