/* Namespaces' queries and the labels of the metric: the busiest get them, and keep them. */
#include "skydns/pages/namespace_figures_internal.h"

#include "tests/support/unit_test.h"

CLEANUP_POINTER(namespace_figures_free, struct namespace_figures)

static unsigned put_queries(struct namespace_figures *namespaces, const char *label,
                            uint32_t queries)
{
    const uint32_t counts[CLIENT_COUNTS] = {[CLIENT_ANSWERED] = queries};
    const uint32_t figures[BUSY_FIGURES] = {[BUSY_QUERIES] = queries};
    const unsigned group = namespace_figures_group(namespaces, slice_str(label));
    namespace_figures_add(namespaces, group, 0, counts, figures);
    return group;
}

static uint64_t namespace_answered(const struct namespace_figures *namespaces, unsigned group,
                                   bool *ret_is_labelled)
{
    const struct namespace_sums *sums = namespace_figures_find(namespaces, group);
    assert_non_null(sums);
    *ret_is_labelled = sums->is_labelled;
    return sums->results[CLIENT_ANSWERED];
}

static void expect_answered(const struct namespace_figures *namespaces, unsigned group,
                            uint64_t answered, bool is_labelled)
{
    bool has_label;
    assert_int_equal(namespace_answered(namespaces, group, &has_label), answered);
    assert_int_equal(has_label, is_labelled);
}

/* Fewer namespaces than labels: each has its own at once, whatever it sends. */
UNIT_TEST(test_all_have_labels)
{
    CLEANUP(namespace_figures_free_of)
    struct namespace_figures *namespaces = namespace_figures_new(3);
    const unsigned a = put_queries(namespaces, "a", 1000), b = put_queries(namespaces, "b", 1);
    (void)put_queries(namespaces, "", 5);
    assert_int_equal(namespace_figures_group(namespaces, slice_str("a")), a);
    namespace_figures_settle(namespaces, 2);
    expect_answered(namespaces, a, 1000, true);
    expect_answered(namespaces, b, 1, true);
    expect_answered(namespaces, 0, 5, false);
}

/* The busiest of a round come first, the others are counted without a namespace and stay there; a
 * label stays when its namespace is silent for hours, and its counts do. */
UNIT_TEST(test_labels_stay)
{
    CLEANUP(namespace_figures_free_of)
    struct namespace_figures *namespaces = namespace_figures_new(2);
    unsigned a = put_queries(namespaces, "a", 50), b = put_queries(namespaces, "b", 200);
    const unsigned c = put_queries(namespaces, "c", 100);
    namespace_figures_settle(namespaces, 3);
    expect_answered(namespaces, a, 0, false);
    expect_answered(namespaces, b, 200, true);
    expect_answered(namespaces, c, 100, true);
    expect_answered(namespaces, 0, 50, false);
    (void)put_queries(namespaces, "a", 1000000); /* no longer the least */
    namespace_figures_settle(namespaces, 3);
    expect_answered(namespaces, a, 0, false);
    expect_answered(namespaces, 0, 1000050, false);
    for (unsigned part = 0; part < 2 * BUSY_PARTS; part++) {
        namespace_figures_turn(namespaces, part % BUSY_PARTS);
    }
    assert_null(namespace_figures_find(namespaces, a)); /* nothing left of it */
    expect_answered(namespaces, b, 200, true);
    expect_answered(namespaces, 0, 1000050, false);
    assert_int_equal(put_queries(namespaces, "b", 1), b);
    a = put_queries(namespaces, "a", 3); /* as a new one */
    namespace_figures_settle(namespaces, 1);
    expect_answered(namespaces, b, 201, true);
    expect_answered(namespaces, a, 0, false);
}

/* With more namespaces than labels, the second half waits for those that send something. */
UNIT_TEST(test_the_busy_ones_find_labels_left)
{
    CLEANUP(namespace_figures_free_of)
    struct namespace_figures *namespaces = namespace_figures_new(10);
    char label[16];
    (void)put_queries(namespaces, "busy", 1000);
    for (unsigned i = 0; i < 50; i++) {
        (void)snprintf(label, sizeof(label), "idle-%u", i);
        (void)put_queries(namespaces, label, 1);
        namespace_figures_settle(namespaces, 100);
    }
    const unsigned late = put_queries(namespaces, "late", 500);
    namespace_figures_settle(namespaces, 100);
    expect_answered(namespaces, late, 500, true);
}

/* The first queries of a process do not say who is busy: labels of the second half wait. */
UNIT_TEST(test_labels_wait_for_evidence)
{
    CLEANUP(namespace_figures_free_of)
    struct namespace_figures *namespaces = namespace_figures_new(10);
    char label[16];
    for (unsigned i = 0; i < 50; i++) {
        (void)snprintf(label, sizeof(label), "early-%u", i);
        (void)put_queries(namespaces, label, 10);
    }
    namespace_figures_settle(namespaces, 100);
    const unsigned flood = put_queries(namespaces, "flood", 1000);
    namespace_figures_settle(namespaces, 100);
    expect_answered(namespaces, flood, 1000, true);
}

UNIT_TEST(test_no_labels)
{
    CLEANUP(namespace_figures_free_of)
    struct namespace_figures *namespaces = namespace_figures_new(0);
    const unsigned a = put_queries(namespaces, "a", 5);
    namespace_figures_settle(namespaces, 1);
    expect_answered(namespaces, a, 0, false);
    expect_answered(namespaces, 0, 5, false);
}

/* More namespaces than there is room for count without one; rooms are used again. */
UNIT_TEST(test_room)
{
    CLEANUP(namespace_figures_free_of)
    struct namespace_figures *namespaces = namespace_figures_new(1);
    char label[16];
    for (unsigned i = 1; i < BUSY_GROUPS_MAX; i++) {
        (void)snprintf(label, sizeof(label), "n%u", i);
        assert_int_equal(put_queries(namespaces, label, 1), i);
    }
    assert_int_equal(put_queries(namespaces, "too-many", 1), 0);
    namespace_figures_settle(namespaces, BUSY_GROUPS_MAX);
    namespace_figures_turn(namespaces, 0);
    assert_in_range(put_queries(namespaces, "too-many", 1), 1, BUSY_GROUPS_MAX - 1);
}
