/* Readers while one thread fills, replaces, evicts and drops (most useful under the thread
 * sanitizer): whatever a reader gets was put like that, whole, under its own key. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/skydns/hash_seed.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/external/cache_bed.h"

enum { READERS = 4, KEYS = 64, ENTRIES = 24, HITS_EACH = 20000, PUTS_MIN = 20000 };

static struct cache *cache;
static struct cache_key keys[KEYS];
static atomic_uint readers_left, wrong;

/* Versions tell their key and their number of records. */
static uint32_t version_of(unsigned number, unsigned addresses)
{
    return number << 16 | addresses;
}

static void *read_replies(void *data)
{
    const struct cache_limits limits = {.ttl_max_s = 60, .stale_ms = 1000};
    uint32_t random = *(const uint32_t *)data, version;
    CLEANUP_FREE uint8_t *records = malloc(65535);
    for (unsigned hits = 0; hits < HITS_EACH && records;) {
        struct cache_hit hit;
        random = random * 1664525 + 1013904223;
        unsigned number = (random >> 16) % KEYS;
        cache_look_ahead(cache, &keys[(number + 1) % KEYS]);
        cache_read(cache, &keys[number], &limits, 0, CACHE_ANSWER, random & 1, records, 65535,
                   &hit);
        if (hit.state == CACHE_FRESH) {
            hits++;
            if (!bed_is_whole(records, &hit, &version) ||
                version != version_of(number, hit.answers)) {
                atomic_fetch_add(&wrong, 1);
            }
        }
    }
    atomic_fetch_sub(&readers_left, 1);
    return NULL;
}

UNIT_TESTS_ONCE(hash_seed, NULL)
UNIT_TESTS_HAVE_THREADS

UNIT_TEST(test_readers)
{
    pthread_t threads[READERS];
    uint32_t seeds[READERS], random = 1;
    cache = cache_new(ENTRIES);
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i] = bed_key(i);
    }
    atomic_store(&readers_left, READERS);
    for (unsigned i = 0; i < READERS; i++) {
        seeds[i] = i * 77u + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, read_replies, &seeds[i]), 0);
    }
    for (unsigned puts = 0; puts < PUTS_MIN || atomic_load(&readers_left) > 0; puts++) {
        random = random * 1664525 + 1013904223;
        unsigned number = (random >> 16) % KEYS, addresses = 1 + (random >> 8) % 60;
        if (random >> 28 == 0) {
            cache_fail(cache, &keys[number], CACHE_PLAIN, 0);
            cache_refresh_over(cache, &keys[number]);
        }
        assert_int_equal(
            bed_put(cache, &keys[number], version_of(number, addresses), addresses, 60, 0),
            CACHE_HIT);
    }
    for (unsigned i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&wrong), 0);
    cache_unref(cache);
}
