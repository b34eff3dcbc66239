/* Random puts, reads, failures and refreshes against a model that knows what the header says, and
 * that forgets nothing: where the cache has forgotten, it must have evicted. Each name has a zone
 * of its own, which recovers at times. */
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/hash_seed.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/external/cache_bed.h"

enum { KEYS = 40, STEPS = 60000, TTL_MAX_S = 20, STALE_MS = 15000 };

static const struct cache_limits limits = {.ttl_max_s = TTL_MAX_S, .stale_ms = STALE_MS};

struct modelled {
    bool has_reply, is_refreshing;
    uint32_t version, ttl_s;
    unsigned addresses, hits;
    int64_t cached_at_ms;
    int64_t failed_at_ms, failed_ms; /* 0: not failing */
    int64_t recovered_at_ms;         /* 0: never */
};

struct model {
    struct modelled items[KEYS];
    int64_t now_ms;
    bool forgets; /* the cache is too small for all keys */
};

static struct cache_key cache_model_key_of(unsigned number)
{
    struct cache_key key = bed_key(number);
    key.zone_serial = 1000 + number;
    return key;
}

static void cache_model_put(struct model *m, struct cache *cache, unsigned number)
{
    struct modelled *item = &m->items[number];
    struct cache_key key = cache_model_key_of(number);
    *item = (struct modelled){
        .has_reply = true,
        .version = random_below(1u << 30),
        .ttl_s = 1 + random_below(30),
        .addresses = 1 + random_below(random_below(20) == 0 ? 200 : 20),
        .cached_at_ms = m->now_ms,
        .recovered_at_ms = item->recovered_at_ms,
    };
    assert_int_equal(bed_put(cache, &key, item->version, item->addresses, item->ttl_s, m->now_ms),
                     CACHE_HIT);
}

static void fail_question(struct model *m, struct cache *cache, unsigned number)
{
    struct modelled *item = &m->items[number];
    struct cache_key key = cache_model_key_of(number);
    int64_t over_ms = item->failed_at_ms + item->failed_ms;
    cache_fail(cache, &key, CACHE_PLAIN, m->now_ms);
    if (item->failed_ms != 0 && m->now_ms < item->failed_at_ms + 1000) {
        return;
    }
    if (item->failed_ms == 0 || m->now_ms > over_ms + 30000 ||
        item->recovered_at_ms >= item->failed_at_ms) {
        item->failed_ms = 1000;
    } else if (m->now_ms >= over_ms) {
        item->failed_ms = item->failed_ms >= 15000 ? 30000 : item->failed_ms * 2;
        item->failed_ms = item->failed_ms == 32000 ? 30000 : item->failed_ms;
    }
    item->failed_at_ms = m->now_ms;
}

/* Known only of a zone that has failed. */
static void cache_model_recover(struct model *m, struct cache *cache, unsigned number)
{
    struct modelled *item = &m->items[number];
    cache_zone_revived(cache, cache_model_key_of(number).zone_serial, true, m->now_ms);
    item->recovered_at_ms = item->failed_ms > 0 ? m->now_ms : item->recovered_at_ms;
}

static bool cache_model_is_failing(const struct model *m, const struct modelled *item)
{
    int64_t since_ms = m->now_ms - item->failed_at_ms;
    bool is_forgiven = item->recovered_at_ms >= item->failed_at_ms;
    return item->failed_ms > 0 && since_ms < (is_forgiven ? 1000 : item->failed_ms);
}

struct expected {
    enum cache_state state;
    bool is_failing, wants_refresh;
    int64_t age_ms, ttl_ms;
};

static struct expected cache_model_expect(struct model *m, struct modelled *item,
                                          enum cache_use use)
{
    struct expected e = {.state = CACHE_MISS};
    e.is_failing = cache_model_is_failing(m, item);
    if (e.is_failing) {
        e.state = CACHE_FAILED;
    }
    if (!item->has_reply) {
        return e;
    }
    e.age_ms = m->now_ms - item->cached_at_ms;
    e.ttl_ms = 1000 * (int64_t)(item->ttl_s < TTL_MAX_S ? item->ttl_s : TTL_MAX_S);
    if (e.age_ms < e.ttl_ms) {
        e.state = CACHE_FRESH;
    } else if (e.age_ms < e.ttl_ms + STALE_MS) {
        e.state = CACHE_STALE;
    }
    if (use == CACHE_ANSWER && (e.state == CACHE_FRESH || e.state == CACHE_STALE)) {
        item->hits++;
        int64_t left_ms = e.ttl_ms - e.age_ms;
        e.wants_refresh = e.state == CACHE_FRESH && item->hits >= 3 && left_ms >= 1000 &&
                          left_ms * 10 < e.ttl_ms && !item->is_refreshing && !e.is_failing;
        item->is_refreshing |= e.wants_refresh;
    }
    return e;
}

static uint32_t cache_model_shown_ttl_s(const uint8_t *records)
{
    return (uint32_t)records[6] << 24 | (uint32_t)records[7] << 16 | (uint32_t)records[8] << 8 |
           records[9];
}

static void check_reply(const struct modelled *item, const struct expected *e,
                        const struct cache_hit *hit, const uint8_t *records)
{
    uint32_t version, age_s = (uint32_t)(e->age_ms / 1000), ttl_s = (uint32_t)(e->ttl_ms / 1000);
    assert_int_equal(hit->answers, item->addresses);
    assert_true(bed_is_whole(records, hit, &version));
    assert_int_equal(version, item->version);
    assert_int_equal(hit->cached_s, age_s);
    if (e->state == CACHE_FRESH) {
        assert_int_equal(cache_model_shown_ttl_s(records), ttl_s - age_s);
        assert_int_equal(hit->left_s, ttl_s - age_s);
        assert_int_equal(hit->wants_refresh, e->wants_refresh);
    } else {
        assert_int_equal(cache_model_shown_ttl_s(records), CACHE_STALE_TTL_S);
        assert_int_equal(hit->is_failing, e->is_failing);
        assert_false(hit->wants_refresh);
    }
}

static void cache_model_check(struct model *m, struct cache *cache, unsigned number,
                              enum cache_use use)
{
    static uint8_t records[65535];
    struct modelled *item = &m->items[number];
    struct cache_key key = cache_model_key_of(number);
    struct cache_hit hit;
    struct expected e = cache_model_expect(m, item, use);
    cache_read(cache, &key, &limits, m->now_ms, use, random_below(2), records, sizeof(records),
               &hit);
    if (m->forgets && hit.state == CACHE_MISS && e.state != CACHE_MISS) {
        *item = (struct modelled){0}; /* evicted */
        return;
    }
    assert_int_equal(hit.state, e.state);
    if (e.state == CACHE_FRESH || e.state == CACHE_STALE) {
        check_reply(item, &e, &hit, records);
    }
}

static unsigned count_replies(const struct model *m)
{
    unsigned count = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        count += m->items[i].has_reply;
    }
    return count;
}

/* No failures where entries are evicted: those of an evicted one start again at 1 s. */
static void cache_model_step(struct model *m, struct cache *cache)
{
    unsigned number = random_below(KEYS);
    switch (random_below(10)) {
    case 0:
    case 1:
        cache_model_put(m, cache, number);
        break;
    case 2:
        if (!m->forgets) {
            fail_question(m, cache, number);
        }
        if (random_below(4) == 0) {
            cache_model_recover(m, cache, random_below(KEYS));
        }
        break;
    case 3: {
        struct cache_key key = cache_model_key_of(number);
        cache_refresh_over(cache, &key);
        m->items[number].is_refreshing = false;
        break;
    }
    case 4:
        cache_model_check(m, cache, number, CACHE_PEEK);
        break;
    case 5:
        m->now_ms += random_below(4000);
        break;
    default:
        cache_model_check(m, cache, number, CACHE_ANSWER);
        break;
    }
}

UNIT_TESTS_ONCE(hash_seed, NULL)

UNIT_TEST(test_all_fits)
{
    struct model m = {.now_ms = 123456};
    struct cache *cache = cache_new(1000);
    for (unsigned i = 0; i < STEPS; i++) {
        cache_model_step(&m, cache);
        assert_int_equal(cache_figures(cache).entries, count_replies(&m));
    }
    assert_int_equal(cache_figures(cache).evictions, 0);
    cache_unref(cache);
}

/* Room for half of the keys: each is gone, or as the model has it; never another's, nor older. */
UNIT_TEST(test_evictions)
{
    struct model m = {.now_ms = 123456, .forgets = true};
    struct cache *cache = cache_new(KEYS / 2);
    for (unsigned i = 0; i < STEPS; i++) {
        cache_model_step(&m, cache);
        assert_in_range(cache_figures(cache).entries, 0, KEYS / 2);
    }
    struct cache_figures figures = cache_figures(cache);
    assert_in_range(figures.evictions, STEPS / 100, STEPS);
    assert_in_range(figures.entries, KEYS / 4, KEYS / 2);
    cache_unref(cache);
}
