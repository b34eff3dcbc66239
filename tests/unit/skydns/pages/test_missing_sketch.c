/* missing_sketch.h: its error against exact counts, on a Zipf stream and on streams of an attacker,
 * and that an hour is forgotten. */
#include "skydns/pages/missing_sketch.h"

#include <math.h>

#include "tests/support/from_text.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

enum { SPACES = 20, TOP = 100 };

static struct dname missing_name(const char *prefix, unsigned number)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "%s%u.svc.cluster.local.", prefix, number);
    struct dname name = dname_from(text);
    return name;
}

/* Adds a sample, and admits the name if it may have a place. */
static void missing_sample(struct missing_sketch *sketch, const char *prefix, unsigned number,
                           const char *space)
{
    const struct dname name = missing_name(prefix, number);
    const struct missing_key key = {&name, slice_str(space)};
    if (missing_sketch_add(sketch, key, 1)) {
        missing_sketch_admit(sketch, key, 1);
    }
}

static const char *space_name(unsigned number, char text[16])
{
    (void)snprintf(text, 16, "team-%u", number);
    return text;
}

/* Returns the count of an entry; 0: it is none. */
static uint32_t sketch_entry_count(const struct missing_sketch *sketch, const char *prefix,
                                   unsigned number, const char *space, size_t first)
{
    const struct missing_entry *entries[MISSING_ENTRIES_MAX];
    const struct dname name = missing_name(prefix, number);
    const size_t count = missing_sketch_entries(sketch, entries);
    for (size_t i = 0; i < count && i < first; i++) {
        if (dname_equal(&entries[i]->name, &name) &&
            slice_equal(missing_entry_space(entries[i]), slice_str(space))) {
            return entries[i]->count;
        }
    }
    return 0;
}

UNIT_FIXTURE_MADE(missing_sketch_new(), missing_sketch_free)

/* On a Zipf stream over more names than there are traces, the most frequent hundred are those of
 * the exact counts, and their counts are exact but for the first sample or two. */
UNIT_TEST_ON(test_zipf, struct missing_sketch *sketch)
{
    enum { NAMES = 100000, SAMPLES = 1000000, LOST_MAX = 3 };
    static uint32_t exact[NAMES];
    static double sums[NAMES];
    double sum = 0;
    char space[16];
    random_state = 7;
    missing_sketch_set_time(sketch, 100000);
    for (unsigned i = 0; i < NAMES; i++) {
        sum += 1. / (i + 1);
        sums[i] = sum;
    }
    for (unsigned i = 0; i < SAMPLES; i++) {
        const double at = sum * random_below(UINT32_MAX) / 4294967295.;
        unsigned low = 0, high = NAMES - 1;
        while (low < high) {
            const unsigned middle = (low + high) / 2;
            low = sums[middle] < at ? middle + 1 : low;
            high = sums[middle] < at ? high : middle;
        }
        exact[low]++;
        missing_sample(sketch, "n", low, space_name(low % SPACES, space));
    }
    for (unsigned i = 0; i < TOP; i++) {
        const uint32_t count =
            sketch_entry_count(sketch, "n", i, space_name(i % SPACES, space), TOP + 20);
        assert_that(count <= exact[i] && count + LOST_MAX >= exact[i], "name %u: %u, expected %u",
                    i, count, exact[i]);
    }
}

/* Samples of 100 real names of ten namespaces between random ones, `flood` of these in all, from
 * so many namespaces. `flood_first`: so many come before. */
static void real_names_in_flood(unsigned flood, unsigned flood_first, unsigned spaces)
{
    enum { REAL = 100, REAL_SPACES = 10, ROUNDS = 40 };
    struct missing_sketch *sketch = missing_sketch_new();
    char space[16];
    unsigned sent = 0;
    missing_sketch_set_time(sketch, 100000);
    for (; sent < flood_first; sent++) {
        missing_sample(sketch, "random", sent,
                       spaces > 1 ? space_name(sent % spaces, space) : "evil");
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < REAL; i++) {
            missing_sample(sketch, "real", i, space_name(i % REAL_SPACES, space));
        }
        for (; sent < flood_first + (flood - flood_first) / ROUNDS * (round + 1); sent++) {
            missing_sample(sketch, "random", sent,
                           spaces > 1 ? space_name(sent % spaces, space) : "evil");
        }
    }
    for (unsigned i = 0; i < REAL; i++) {
        const uint32_t count =
            sketch_entry_count(sketch, "real", i, space_name(i % REAL_SPACES, space), TOP);
        assert_that(count <= ROUNDS && count + 4 >= ROUNDS,
                    "real name %u among the first %d: %u samples, expected about %d", i, TOP, count,
                    ROUNDS);
    }
    missing_sketch_free(sketch);
}

UNIT_TEST(test_flood_of_one_client)
{
    real_names_in_flood(1200000, 0, 1);
    real_names_in_flood(1200000, 600000, 1);
}

UNIT_TEST(test_flood_of_many_clients)
{
    real_names_in_flood(1200000, 0, 50);
    real_names_in_flood(1200000, 600000, 50);
}

/* An attacker who repeats names more often than anybody pushes out no entry of another namespace:
 * only the least of its own. */
UNIT_TEST_ON(test_shares, struct missing_sketch *sketch)
{
    enum { EVIL = 2000, REPEATED = 50, REAL = 100 };
    char space[16];
    missing_sketch_set_time(sketch, 100000);
    for (unsigned i = 0; i < REAL * 3; i++) {
        missing_sample(sketch, "real", i % REAL, space_name(i % 4, space));
    }
    for (unsigned i = 0; i < EVIL * REPEATED; i++) {
        missing_sample(sketch, "evil", i / REPEATED, "evil");
    }
    for (unsigned i = 0; i < REAL; i++) {
        assert_int_equal(
            sketch_entry_count(sketch, "real", i, space_name(i % 4, space), MISSING_ENTRIES_MAX),
            3);
    }
    /* A namespace that comes late has its share, too */
    for (unsigned i = 0; i < 3 * 20; i++) {
        missing_sample(sketch, "late", i % 20, "late");
    }
    for (unsigned i = 0; i < 20; i++) {
        assert_in_range(sketch_entry_count(sketch, "late", i, "late", MISSING_ENTRIES_MAX), 2, 3);
    }
}

UNIT_TEST_ON(test_an_hour, struct missing_sketch *sketch)
{
    const struct dname name = missing_name("real", 1);
    const struct missing_key key = {&name, slice_str("prod")};
    int64_t now_s = 30000;
    for (unsigned i = 0; i < 24; i++, now_s += MISSING_PERIOD_S) {
        missing_sketch_set_time(sketch, now_s);
        missing_sample(sketch, "real", 1, "prod");
        missing_sample(sketch, "real", 1, "prod");
        assert_int_equal(missing_sketch_count(sketch, key), 2 * (i < 12 ? i + 1 : 12));
    }
    missing_sketch_set_time(sketch, now_s + 5 * MISSING_PERIOD_S);
    assert_int_equal(missing_sketch_count(sketch, key), 2 * 6);
    missing_sketch_set_time(sketch, now_s + 100 * MISSING_PERIOD_S);
    assert_int_equal(missing_sketch_count(sketch, key), 0);
}

/* A name that was found not worth a place is looked at again when it is counted twice as often. */
UNIT_TEST_ON(test_declined, struct missing_sketch *sketch)
{
    const struct dname name = missing_name("real", 1);
    const struct missing_key key = {&name, slice_str("")};
    unsigned looked = 0;
    missing_sketch_set_time(sketch, 30000);
    for (unsigned i = 0; i < 1000; i++) {
        if (missing_sketch_add(sketch, key, 28)) {
            missing_sketch_decline(sketch, key);
            looked++;
        }
    }
    assert_int_equal(looked, 10); /* at 1, 2, 4, ... 512 */
    assert_int_equal(missing_sketch_count(sketch, key), 1000);
    missing_sketch_admit(sketch, key, 28);
    const struct missing_entry *entries[MISSING_ENTRIES_MAX];
    assert_int_equal(missing_sketch_entries(sketch, entries), 1);
    assert_int_equal(entries[0]->count, 1000);
    assert_int_equal(entries[0]->type, 28);
}
