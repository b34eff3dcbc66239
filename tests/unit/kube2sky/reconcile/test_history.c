/* history: what namespaces have filled of etcd's space, until a compaction. */
#include "common/etcd/etcd_txn.h"
#include "kube2sky/reconcile/history_internal.h"
#include "tests/support/unit_test.h"

enum { SHARE = 1000 };

static struct history *history;

static int history_set_up(void **state)
{
    history = history_new(SHARE);
    return 0;
}

static int history_tear_down(void **state)
{
    history_free(history);
    return 0;
}

UNIT_TESTS_EACH(history_set_up, history_tear_down)

static bool reconcile_history_charge(const char *ns, uint64_t bytes, int64_t revision)
{
    return history_charge(history, slice_str(ns), bytes, revision);
}

static bool check_history_is_over(const char *ns)
{
    return history_is_over(history, slice_str(ns));
}

UNIT_TEST(test_each_has_its_share)
{
    assert_false(reconcile_history_charge("a", SHARE - 1, 5));
    assert_false(check_history_is_over("a"));
    assert_true(reconcile_history_charge("a", 1, 6));
    assert_false(reconcile_history_charge("a", 1, 7)); /* told once */
    assert_false(reconcile_history_charge("b", SHARE / 2, 8));
    assert_true(check_history_is_over("a"));
    assert_false(check_history_is_over("b"));
    assert_false(check_history_is_over("c"));
    assert_int_equal(history_over_count(history), 1);
}

/* etcd is not asked while nobody has filled much. */
UNIT_TEST(test_little_needs_no_mark)
{
    assert_int_equal(history_mark(history), 0);
    (void)reconcile_history_charge("a", SHARE / 2 - 1, 5);
    assert_int_equal(history_mark(history), 0);
    (void)reconcile_history_charge("a", 1, 6);
    assert_int_equal(history_mark(history), 6);
    (void)reconcile_history_charge("a", 1, 7);
    assert_int_equal(history_mark(history), 6);
}

/* Charges after the mark stay until that is gone, too. */
UNIT_TEST(test_a_compaction_forgets_what_was_marked)
{
    (void)reconcile_history_charge("a", SHARE, 5);
    (void)reconcile_history_charge("b", SHARE, 6);
    assert_int_equal(history_mark(history), 6);
    (void)reconcile_history_charge("a", 10, 7);
    (void)reconcile_history_charge("b", SHARE, 8);
    assert_true(history_compacted(history));
    assert_false(check_history_is_over("a"));
    assert_true(check_history_is_over("b"));
    assert_int_equal(history_over_count(history), 1);
    assert_int_equal(history_mark(history), 8);
    assert_true(history_compacted(history));
    assert_int_equal(history_over_count(history), 0);
    assert_int_equal(history_mark(history), 0);
}

UNIT_TEST(test_another_store_has_none)
{
    (void)reconcile_history_charge("a", SHARE, 5);
    history_forget(history);
    assert_false(check_history_is_over("a"));
    assert_int_equal(history_over_count(history), 0);
    assert_int_equal(history_mark(history), 0);
}

UNIT_TEST(test_a_deleted_key_leaves_its_value_and_a_tombstone)
{
    const struct etcd_op put = {
        .kind = ETCD_OP_PUT, .key = slice_str("/a/key"), .value = slice_str("value")};
    const struct etcd_op del = {.kind = ETCD_OP_DELETE, .key = slice_str("/a/key")};
    assert_int_equal(history_op_bytes(&put), 6 + 5 + 64);
    assert_int_equal(history_op_bytes(&del), 2 * (6 + 64) + 128);
}
