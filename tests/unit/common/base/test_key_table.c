/* key_table against a plain array, over random sequences; small keys, so that many share a home
 * slot and gaps close across the table's end. */
#include "common/base/key_table.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

enum { THINGS = 300, STEPS = 30000 };

struct thing {
    char key[8];
    unsigned number;
    unsigned seen;
};

static struct thing things[THINGS];
static struct thing *expected[THINGS]; /* by number; NULL = not in the table */
static struct thing twins[THINGS];     /* the same keys */

static unsigned touched; /* how often the memory of a thing was read */

static struct slice key_table_key_of(const void *thing)
{
    touched++;
    return slice_str(((const struct thing *)thing)->key);
}

static void set_up_things(void)
{
    for (unsigned i = 0; i < THINGS; i++) {
        (void)snprintf(things[i].key, sizeof(things[i].key), "k%u", i);
        things[i].number = i;
        twins[i] = things[i];
        expected[i] = NULL;
    }
}

static size_t count_expected(void)
{
    size_t count = 0;
    for (unsigned i = 0; i < THINGS; i++) {
        count += expected[i] != NULL;
    }
    return count;
}

static void key_table_check(const struct key_table *table)
{
    struct thing *thing;
    size_t met = 0;
    for (unsigned i = 0; i < THINGS; i++) {
        assert_ptr_equal(key_table_find(table, slice_str(things[i].key)), expected[i]);
    }
    for (size_t at = 0; (thing = key_table_next(table, &at)); at++) {
        assert_ptr_equal(thing, expected[thing->number]);
        met++;
    }
    assert_int_equal(met, count_expected());
    assert_int_equal(table->count, met);
}

UNIT_TEST(test_random_sequences)
{
    CLEANUP(key_table_fini) struct key_table table;
    random_state = 77;
    set_up_things();
    key_table_init(&table, key_table_key_of);
    assert_null(key_table_find(&table, slice_str("k1")));
    assert_null(key_table_take(&table, slice_str("k1")));
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = random_below(THINGS);
        if (random_below(2)) {
            struct thing *thing = random_below(2) ? &things[i] : &twins[i];
            assert_ptr_equal(key_table_put(&table, thing), expected[i]);
            expected[i] = thing;
        } else {
            assert_ptr_equal(key_table_take(&table, slice_str(things[i].key)), expected[i]);
            expected[i] = NULL;
        }
        if (step % 16 == 0) {
            key_table_check(&table);
        }
    }
    key_table_check(&table);
}

/* A loop that removes every third item visits each of the others at least once. */
UNIT_TEST(test_taking_out_in_a_loop)
{
    CLEANUP(key_table_fini) struct key_table table;
    struct thing *thing;
    set_up_things();
    key_table_init(&table, key_table_key_of);
    for (unsigned i = 0; i < THINGS; i++) {
        (void)key_table_put(&table, &things[i]);
        expected[i] = i % 3 ? &things[i] : NULL;
    }
    size_t at = 0;
    while ((thing = key_table_next(&table, &at))) {
        thing->seen++;
        if (expected[thing->number]) {
            at++;
        } else {
            (void)key_table_take(&table, key_table_key_of(thing));
        }
    }
    for (unsigned i = 0; i < THINGS; i++) {
        assert_in_range(things[i].seen, 1, 2);
    }
    key_table_check(&table);
}

/* In a large table, memory is what a search costs: one that finds nothing reads no thing, one that
 * finds a thing reads that one, and growing reads none. */
UNIT_TEST(test_a_search_touches_nothing_else)
{
    CLEANUP(key_table_fini) struct key_table table;
    set_up_things();
    key_table_init(&table, key_table_key_of);
    for (unsigned i = 0; i < THINGS / 2; i++) {
        touched = 0;
        assert_null(key_table_put(&table, &things[i]));
        assert_int_equal(touched, 1); /* its own key */
    }
    touched = 0;
    for (unsigned i = 0; i < THINGS; i++) {
        (void)key_table_find(&table, slice_str(things[i].key));
    }
    assert_int_equal(touched, THINGS / 2);
}

/* A thing has a copy of its key in its own block, and may be longer than the key. */
UNIT_TEST(test_things_that_begin_with_their_key)
{
    struct numbered {
        struct slice key;
        unsigned number;
    };
    static const char *const texts[] = {"web", "", "a\0b"};
    static const size_t lengths[] = {3, 0, 3};
    struct key_table table;
    key_table_init_keyed(&table);
    for (unsigned i = 0; i < 3; i++) {
        char text[4];
        memcpy(text, texts[i], lengths[i]);
        struct numbered *thing = key_table_get(&table, slice_of(text, lengths[i]), sizeof(*thing));
        assert_ptr_equal(key_table_get(&table, slice_of(text, lengths[i]), sizeof(*thing)), thing);
        assert_int_equal(thing->number, 0);
        assert_int_equal(thing->key.ptr[thing->key.len], '\0');
        thing->number = i;
    }
    for (unsigned i = 0; i < 3; i++) {
        const struct numbered *thing = key_table_find(&table, slice_of(texts[i], lengths[i]));
        assert_int_equal(thing->number, i);
    }
    assert_null(key_table_find(&table, slice_str("a")));
    key_table_fini_things(&table);
}
