/* The children map with hashes chosen by the test, so that labels collide in a few bits, in all, or
 * not at all. */
#include "skydns/records/store_node_internal.h"
#include "tests/support/unit_test.h"

/* More than fit a list of equal hashes, and enough to fill three levels. */
enum { LABELS = 300, STEPS = 4000 };

struct fixture {
    struct store_build build;
    struct label_map map;
    struct store_node *there[LABELS]; /* the model: NULL when not in the map */
    uint32_t hash_mask;
    unsigned hash_shift;
};

static struct slice label_map_label_of(unsigned number, char text[16])
{
    return slice_of(text, (size_t)snprintf(text, 16, "label-%u", number));
}

static uint32_t label_map_hash_of(const struct fixture *f, unsigned number)
{
    return (number * 2654435761u & f->hash_mask) << f->hash_shift;
}

static struct store_node *label_map_node_of(const struct fixture *f, unsigned number)
{
    char text[16];
    struct slice label = label_map_label_of(number, text);
    struct store_node *node = store_pool_alloc(f->build.pool, sizeof(*node) + label.len);
    *node = (struct store_node){
        .stamp = f->build.stamp, .label_len = label.len, .hash = label_map_hash_of(f, number)};
    memcpy(node->label, label.ptr, label.len);
    return node;
}

static void records_label_map_put(struct fixture *f, unsigned number)
{
    struct store_node *node = label_map_node_of(f, number);
    label_map_put(&f->map, node, &f->build);
    if (f->there[number]) {
        store_build_retire(&f->build, f->there[number]->stamp, f->there[number]);
    }
    f->there[number] = node;
}

static void take_out(struct fixture *f, unsigned number)
{
    struct store_node *node = f->there[number];
    label_map_remove(&f->map, node, &f->build);
    store_build_retire(&f->build, node->stamp, node);
    f->there[number] = NULL;
}

static void next_build(struct fixture *f)
{
    store_garbage_free(f->build.garbage);
    f->build.garbage = NULL;
    f->build.stamp++;
}

static bool count_node(void *data, struct store_node *node)
{
    ++*(size_t *)data;
    return true;
}

static void assert_like_model(const struct fixture *f)
{
    size_t want = 0, got = 0;
    for (unsigned i = 0; i < LABELS; i++) {
        char text[16];
        assert_ptr_equal(
            label_map_find(f->map, label_map_hash_of(f, i), label_map_label_of(i, text)),
            f->there[i]);
        want += f->there[i] != NULL;
    }
    assert_true(label_map_each(f->map, count_node, &got));
    assert_int_equal(got, want);
    assert_int_equal(f->map.slot == 0, want == 0);
}

static void label_map_teardown(struct fixture *f)
{
    label_map_free(f->map);
    for (unsigned i = 0; i < LABELS; i++) {
        store_pool_free(f->there[i]);
    }
    next_build(f);
    store_pool_close(f->build.pool);
}

static const struct {
    const char *name;
    uint32_t mask;
    unsigned shift;
} hashes[] = {
    {"spread over 32 bits", UINT32_MAX, 0},
    {"four values", 3, 0},
    {"differing in the last level only", 3, 30},
    {"differing in the middle", 15, 12},
    {"all the same", 0, 0},
};

UNIT_TEST(test_random_steps)
{
    for (size_t h = 0; h < sizeof(hashes) / sizeof(hashes[0]); h++) {
        struct fixture f = {.build = {.pool = store_pool_new(), .stamp = 1},
                            .hash_mask = hashes[h].mask,
                            .hash_shift = hashes[h].shift};
        print_message("%s\n", hashes[h].name);
        uint32_t random = 12345;
        for (unsigned step = 0; step < STEPS; step++) {
            random = random * 1664525u + 1013904223u;
            unsigned number = (random >> 8) % LABELS;
            if (f.there[number] && random >> 31) {
                take_out(&f, number);
            } else {
                records_label_map_put(&f, number);
            }
            if (step % 7 == 0) {
                next_build(&f);
            }
            if (step % 50 == 0) {
                assert_like_model(&f);
            }
        }
        for (unsigned i = 0; i < LABELS; i++) {
            if (f.there[i]) {
                take_out(&f, i);
            }
        }
        assert_like_model(&f);
        label_map_teardown(&f);
    }
}

/* A later build does not touch an earlier map. */
UNIT_TEST(test_earlier_map_stays)
{
    for (size_t h = 0; h < sizeof(hashes) / sizeof(hashes[0]); h++) {
        struct fixture f = {.build = {.pool = store_pool_new(), .stamp = 1},
                            .hash_mask = hashes[h].mask,
                            .hash_shift = hashes[h].shift};
        for (unsigned i = 0; i < LABELS; i += 2) {
            records_label_map_put(&f, i);
        }
        struct fixture earlier = f;
        f.build.stamp++;
        for (unsigned i = 0; i < LABELS; i++) {
            if (i % 3 == 0) {
                records_label_map_put(&f, i);
            } else if (f.there[i]) {
                take_out(&f, i);
            }
        }
        assert_like_model(&earlier);
        assert_like_model(&f);
        label_map_teardown(&f);
    }
}

UNIT_TEST(test_one_child_needs_no_branch)
{
    struct fixture f = {.build = {.pool = store_pool_new(), .stamp = 1}, .hash_mask = 1};
    records_label_map_put(&f, 0);
    assert_ptr_equal((void *)f.map.slot, f.there[0]);
    records_label_map_put(&f, 1);
    assert_ptr_not_equal((void *)f.map.slot, f.there[0]);
    take_out(&f, 0);
    assert_ptr_equal((void *)f.map.slot, f.there[1]);
    label_map_teardown(&f);
}

static void assert_same_shape(uintptr_t a, uintptr_t b, unsigned level)
{
    if (!label_map_is_branch(a)) {
        assert_true(a == b);
        return;
    }
    assert_true(label_map_is_branch(b));
    const struct label_branch *one = label_map_as_branch(a), *other = label_map_as_branch(b);
    assert_true(one->used == other->used);
    assert_memory_equal(&one->tally, &other->tally, sizeof(one->tally));
    for (unsigned i = 0; i < label_map_slot_count(one, level); i++) {
        assert_same_shape(one->slots[i], other->slots[i], level + 1);
    }
}

/* Builds the map of all nodes at once, in the order in which they were put: even lists are the
 * same. */
static bool build_at_once(const struct fixture *f, unsigned count, struct label_map *map)
{
    struct label_child children[LABELS], spare[LABELS];
    for (unsigned i = 0; i < count; i++) {
        children[i] = (struct label_child){.node = f->there[i], .hash = f->there[i]->hash};
    }
    return label_map_build(map, children, spare, count, &f->build);
}

UNIT_TEST(test_built_at_once)
{
    static const unsigned counts[] = {0, 1, 2, 3, 64, LABELS};
    for (size_t h = 0; h < sizeof(hashes) / sizeof(hashes[0]); h++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            struct fixture f = {.build = {.pool = store_pool_new(), .stamp = 1},
                                .hash_mask = hashes[h].mask,
                                .hash_shift = hashes[h].shift};
            struct label_map map;
            print_message("%s, %u\n", hashes[h].name, counts[c]);
            for (unsigned i = 0; i < counts[c]; i++) {
                records_label_map_put(&f, i);
            }
            assert_true(build_at_once(&f, counts[c], &map));
            assert_same_shape(map.slot, f.map.slot, 0);
            label_map_free(map);
            label_map_teardown(&f);
        }
    }
}

UNIT_TEST(test_built_with_equal_labels)
{
    for (size_t h = 0; h < sizeof(hashes) / sizeof(hashes[0]); h++) {
        struct fixture f = {.build = {.pool = store_pool_new(), .stamp = 1},
                            .hash_mask = hashes[h].mask,
                            .hash_shift = hashes[h].shift};
        struct label_map map;
        for (unsigned i = 0; i < LABELS; i++) {
            records_label_map_put(&f, i);
        }
        struct store_node *last = f.there[LABELS - 1];
        f.there[LABELS - 1] = f.there[0];
        assert_false(build_at_once(&f, LABELS, &map));
        f.there[LABELS - 1] = last;
        label_map_free(map);
        label_map_teardown(&f);
    }
}

static bool label_map_stop_at_third(void *data, struct store_node *node)
{
    return ++*(int *)data < 3;
}

UNIT_TEST(test_each_stops)
{
    struct fixture f = {.build = {.pool = store_pool_new(), .stamp = 1}, .hash_mask = UINT32_MAX};
    for (unsigned i = 0; i < 100; i++) {
        records_label_map_put(&f, i);
    }
    int calls = 0;
    assert_false(label_map_each(f.map, label_map_stop_at_third, &calls));
    assert_int_equal(calls, 3);
    label_map_teardown(&f);
}
