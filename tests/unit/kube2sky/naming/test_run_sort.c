/* run_sort: the order of a stable sort, at a cost that depends on how much is in order already. */
#include "kube2sky/naming/run_sort_internal.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

enum { ITEMS = 1000 };

struct item {
    uint16_t key;
    uint16_t place; /* before sorting */
    uint32_t mark;
};

static int compare_counted(const void *a, const void *b, void *data)
{
    const struct item *x = a, *y = b;
    size_t *compared = data;
    (*compared)++;
    return (x->key > y->key) - (x->key < y->key);
}

/* Returns how many comparisons it took. */
static size_t sort_and_check(struct item *items, size_t count)
{
    size_t compared = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        items[i].place = (uint16_t)i;
        items[i].mark = (uint32_t)i * 7;
    }
    run_sort(items, count, sizeof(*items), compare_counted, &compared);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].mark, items[i].place * 7);
        sum += items[i].place;
    }
    for (size_t i = 1; i < count; i++) {
        const struct item *a = &items[i - 1], *b = &items[i];
        assert_true(a->key < b->key || (a->key == b->key && a->place < b->place));
    }
    assert_int_equal(sum, count ? count * (count - 1) / 2 : 0); /* each once */
    return compared;
}

UNIT_TEST(test_random_orders)
{
    struct item items[ITEMS];
    for (size_t round = 0; round < 300; round++) {
        size_t count = random_below(ITEMS), run = 1 + random_below(50);
        for (size_t i = 0; i < count; i++) {
            bool goes_on = i % run != 0;
            items[i].key =
                (uint16_t)(goes_on ? items[i - 1].key + random_below(3) : random_below(100));
        }
        (void)sort_and_check(items, count);
    }
}

UNIT_TEST(test_what_is_in_order_costs_a_comparison_each)
{
    struct item items[ITEMS];
    for (size_t i = 0; i < ITEMS; i++) {
        items[i].key = (uint16_t)(i / 2);
    }
    assert_int_equal(sort_and_check(items, ITEMS), ITEMS - 1);
    for (size_t i = 0; i < ITEMS; i++) { /* two runs */
        items[i].key = (uint16_t)(i % (ITEMS / 2));
    }
    assert_true(sort_and_check(items, ITEMS) < 2 * ITEMS);
}
