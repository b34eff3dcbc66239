/* Why replies were not kept: found by question, by one thread while another writes. */
#include <pthread.h>
#include <stdatomic.h>

#include "skydns/upstream/uncached_internal.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

static struct cache_key uncached_key_of(const char *name, uint16_t type)
{
    struct cache_key key = {.type = type, .qclass = 1, .zone_serial = 1};
    assert_true(dname_from_text(slice_str(name), &key.name));
    return key;
}

/* All parts of it follow from the number. */
static struct fetcher_uncached what_of(unsigned number)
{
    struct fetcher_uncached what = {.verdict = (enum cache_verdict)(CACHE_NO_TIME + number % 3),
                                    .at_ms = number};
    what.nameserver.len = sizeof(what.nameserver.v6);
    memset(&what.nameserver.v6, (int)(number % 251), sizeof(what.nameserver.v6));
    return what;
}

static void assert_is(const struct fetcher_uncached *found, unsigned number)
{
    const struct fetcher_uncached want = what_of(number);
    assert_int_equal(found->verdict, want.verdict);
    assert_int_equal(found->at_ms, want.at_ms);
    assert_int_equal(found->nameserver.len, want.nameserver.len);
    assert_memory_equal(&found->nameserver.v6, &want.nameserver.v6, sizeof(want.nameserver.v6));
}

UNIT_TEST(test_each_part_of_the_question_counts)
{
    struct uncached *uncached = uncached_new();
    const struct cache_key base = uncached_key_of("www.test.", 1);
    struct cache_key others[6] = {base, base, base, base, base, base};
    struct fetcher_uncached what = what_of(7), found;
    others[0] = uncached_key_of("www2.test.", 1);
    others[1].type = 28;
    others[2].qclass = 3;
    others[3].dnssec_ok = true;
    others[4].checking_disabled = true;
    others[5].zone_serial = 2;
    assert_false(uncached_find(uncached, &base, &found));
    uncached_note(uncached, &base, &what);
    assert_true(uncached_find(uncached, &base, &found));
    assert_is(&found, 7);
    for (int i = 0; i < 6; i++) {
        assert_false(uncached_find(uncached, &others[i], &found));
    }
    what = what_of(8);
    uncached_note(uncached, &base, &what); /* the newest counts */
    assert_true(uncached_find(uncached, &base, &found));
    assert_is(&found, 8);
    uncached_free(uncached);
}

struct race {
    struct uncached *uncached;
    atomic_bool is_over;
};

static void *note_many(void *data)
{
    enum { COUNT = 100000 };
    struct race *race = data;
    const struct cache_key key = uncached_key_of("www.test.", 1);
    for (unsigned i = 1; i <= COUNT; i++) {
        const struct fetcher_uncached what = what_of(i);
        uncached_note(race->uncached, &key, &what);
    }
    atomic_store(&race->is_over, true);
    return NULL;
}

/* Every reason that is found was noted, whole. */
UNIT_TEST(test_reading_while_it_is_written)
{
    struct race race = {.uncached = uncached_new()};
    const struct cache_key key = uncached_key_of("www.test.", 1);
    struct fetcher_uncached found;
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, note_many, &race), 0);
    while (!atomic_load(&race.is_over)) {
        if (uncached_find(race.uncached, &key, &found)) {
            assert_is(&found, (unsigned)found.at_ms);
        }
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_true(uncached_find(race.uncached, &key, &found));
    uncached_free(race.uncached);
}
