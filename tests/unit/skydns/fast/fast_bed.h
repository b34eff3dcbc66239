/* Both paths of an engine over one store, for the tests that compare them: what the fast path
 * answers at all has the slow path's bytes. */
#ifndef TESTS_UNIT_SKYDNS_FAST_FAST_BED_H
#define TESTS_UNIT_SKYDNS_FAST_FAST_BED_H

#include "common/dns/dns.h"
#include "skydns/answer/answer.h"
#include "skydns/answer/cache_access.h"
#include "skydns/fast/fast.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/encode.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/reply_limit.h"
#include "skydns/wire/response.h"
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

enum { KEYS_MAX = 64, KEY_SIZE = 200 };

struct bed {
    struct fixture *f;
    struct encoder *encoder;
    struct fast *fast;
    struct answer *answer; /* for plans that the fast path makes */
    struct cache_access cached;
    unsigned long asked, answered, built, with_targets, cut, cached_count, stale, failed;
    struct zone_table *others;
    struct hosts_table *hosts;
    struct cache *cache;
    struct client_index *clients;   /* NULL: answers have all addresses */
    struct client_record *client;   /* the one client, if clients */
    const struct client_name *zone; /* the client's */
    unsigned long near;             /* questions of a client in a zone */
    char config[200];               /* for messages */
    char put[KEYS_MAX][KEY_SIZE];   /* the last keys */
    unsigned put_count;
};

static inline void add_reverse_zone(struct fixture *f, const char *address, uint8_t bits)
{
    struct network *network =
        &f->config.settings.reverse_zones[f->config.settings.reverse_zone_count++];
    assert_true(ip_parse(slice_str(address), &network->ip));
    network->prefix_bits = bits;
}

/* ---- Both paths ---- */

static inline void open_paths(struct bed *b)
{
    b->encoder = encoder_new(b->f->config.settings.max_udp_size);
    cache_access_init(&b->cached, &b->f->config);
    b->fast = fast_new(&b->f->config, b->encoder, &b->cached);
    b->answer = answer_new(&b->f->config);
}

static inline void close_paths(struct bed *b)
{
    answer_free(b->answer);
    fast_free(b->fast);
    encoder_free(b->encoder);
}

static inline void want_same(const struct bed *b, const char *question, unsigned long seed,
                             const struct response *quick, const struct response *slow)
{
    static char quick_text[DNS_TEXT_MAX], slow_text[DNS_TEXT_MAX];
    assert_that(slow->len == quick->len && slow->name_len == quick->name_len &&
                    memcmp(quick->bytes, slow->bytes, quick->len) == 0,
                "seed %lu: %s: `%s`\nfast path:\n%s\nslow path:\n%s\n", seed, b->config, question,
                dns_text(quick->bytes, quick->len, quick_text, sizeof(quick_text)),
                dns_text(slow->bytes, slow->len, slow_text, sizeof(slow_text)));
}

/* For a query whose answer would be signed. */
static inline void compare_prepared(struct bed *b, const char *text, unsigned long seed,
                                    const struct engine_query *query, const struct response *slow)
{
    static uint8_t bytes[ENGINE_REPLY_MAX];
    struct fixture *f = b->f;
    const struct question *question = query_question(query->parsed);
    struct engine_deferral deferral = {.wants_refresh = false};
    struct response quick = {.bytes = bytes};
    answer_configure(b->answer, &f->config);
    switch (fast_prepare(b->fast, f->store, query, b->answer, &quick, &deferral)) {
    case FAST_LEFT:
        return;
    case FAST_ANSWERED:
        break;
    case FAST_BUILT:
        b->built++;
        encode_plan(b->encoder, question, answer_get_plan(b->answer),
                    reply_limit_of(query, question->has_edns, question->udp_size,
                                   f->config.settings.max_udp_size),
                    &quick);
        break;
    }
    want_same(b, text, seed, &quick, slow);
}

static inline void compare(struct bed *b, const char *question, unsigned long seed)
{
    static uint8_t quick[ENGINE_REPLY_MAX], slow[ENGINE_REPLY_MAX];
    static const struct external_answers none = {0};
    struct fixture *f = b->f;
    struct engine_deferral deferral = {.wants_refresh = false};
    struct query parsed;
    struct engine_query query = {.transport = fixture_query(f, question),
                                 .client = &f->local,
                                 .local = &f->local,
                                 .now_s = FIXTURE_NOW_S,
                                 .now_ms = random_below(4000),
                                 .takes_stale = random_below(4) == 0,
                                 .random = random_below(UINT32_MAX),
                                 .may_scan = true,
                                 .view = {.zone = b->zone}};
    query.wire = f->query;
    query.len = f->query_len;
    query_parse(query.wire, query.len, &parsed);
    query.parsed = &parsed;
    b->asked++;
    if (!parsed.is_ordinary) {
        return;
    }
    if (random_below(2)) {
        const struct fast_query *const queries[] = {&parsed.fast, NULL, &parsed.fast};
        fast_look_ahead(b->fast, f->store, queries, 1 + random_below(3));
        query.ahead = random_below(2) ? 1 : 0;
    }
    struct engine_query again = query;
    struct response slowly = {.bytes = slow};
    /* Given externals, the engine takes the slow path. */
    enum engine_verdict verdict =
        engine_answer(f->engine, f->store, &again, &none, &slowly, &f->deferral);
    b->near += b->zone && verdict == ENGINE_REPLY;
    if (verdict == ENGINE_REPLY && !f->config.topology) { /* which excludes signatures */
        compare_prepared(b, question, seed, &query, &slowly);
    }
    struct response response = {.bytes = quick};
    if (!fast_answer(b->fast, f->store, &query, &response, &deferral)) {
        return;
    }
    size_t len = response.len;
    assert_int_equal(response.opt_at > 0, parsed.fast.has_edns);
    b->answered++;
    b->cut += (quick[2] & DNS_FLAG_TC >> 8) != 0;
    bool is_cached = (quick[2] & DNS_FLAG_AA >> 8) == 0;
    b->cached_count += is_cached;
    b->failed += is_cached && (quick[3] & DNS_MASK_RCODE) == DNS_RCODE_SERVFAIL;
    b->stale += is_cached && len > 6 && quick[len - 6] == 0 && quick[len - 5] == 15 &&
                (quick[len - 1] == EDNS_ERROR_STALE || quick[len - 1] == EDNS_ERROR_STALE_NXDOMAIN);
    b->with_targets += strstr(question, " SRV") && quick[7] > 0 && quick[11] > 0;
    assert_int_equal(verdict, ENGINE_REPLY);
    want_same(b, question, seed, &response, &slowly);
}

static inline void compare_all(struct bed *b, const char *const *questions, size_t count)
{
    open_paths(b);
    for (size_t i = 0; i < count; i++) {
        compare(b, questions[i], 0);
    }
    close_paths(b);
    fixture_free(b->f);
}

/* A name with a CNAME has nothing else, whatever a prepared record would give. */
#endif
