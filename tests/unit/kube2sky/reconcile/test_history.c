/* history: what namespaces have filled of etcd's space, until a compaction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/etcd/etcd_txn.h"
#include "kube2sky/reconcile/history_internal.h"

enum { SHARE = 1000 };

static struct history *history;

static int set_up(void **state)
{
    (void)state;
    history = history_new(SHARE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    history_free(history);
    return 0;
}

static bool charge(const char *ns, uint64_t bytes, int64_t revision)
{
    return history_charge(history, slice_str(ns), bytes, revision);
}

static bool is_over(const char *ns)
{
    return history_is_over(history, slice_str(ns));
}

static void test_each_has_its_share(void **state)
{
    (void)state;
    assert_false(charge("a", SHARE - 1, 5));
    assert_false(is_over("a"));
    assert_true(charge("a", 1, 6));
    assert_false(charge("a", 1, 7)); /* told once */
    assert_false(charge("b", SHARE / 2, 8));
    assert_true(is_over("a"));
    assert_false(is_over("b"));
    assert_false(is_over("c"));
    assert_int_equal(history_over_count(history), 1);
}

/* etcd is not asked while nobody has filled much. */
static void test_little_needs_no_mark(void **state)
{
    (void)state;
    assert_int_equal(history_mark(history), 0);
    (void)charge("a", SHARE / 2 - 1, 5);
    assert_int_equal(history_mark(history), 0);
    (void)charge("a", 1, 6);
    assert_int_equal(history_mark(history), 6);
    (void)charge("a", 1, 7);
    assert_int_equal(history_mark(history), 6);
}

/* What came after the mark stays until that is gone, too. */
static void test_a_compaction_forgets_what_was_marked(void **state)
{
    (void)state;
    (void)charge("a", SHARE, 5);
    (void)charge("b", SHARE, 6);
    assert_int_equal(history_mark(history), 6);
    (void)charge("a", 10, 7);
    (void)charge("b", SHARE, 8);
    assert_true(history_compacted(history));
    assert_false(is_over("a"));
    assert_true(is_over("b"));
    assert_int_equal(history_over_count(history), 1);
    assert_int_equal(history_mark(history), 8);
    assert_true(history_compacted(history));
    assert_int_equal(history_over_count(history), 0);
    assert_int_equal(history_mark(history), 0);
}

static void test_another_store_has_none(void **state)
{
    (void)state;
    (void)charge("a", SHARE, 5);
    history_forget(history);
    assert_false(is_over("a"));
    assert_int_equal(history_over_count(history), 0);
    assert_int_equal(history_mark(history), 0);
}

static void test_a_deleted_key_leaves_its_value_and_a_tombstone(void **state)
{
    (void)state;
    const struct etcd_op put = {
        .kind = ETCD_OP_PUT, .key = slice_str("/a/key"), .value = slice_str("value")};
    const struct etcd_op del = {.kind = ETCD_OP_DELETE, .key = slice_str("/a/key")};
    assert_int_equal(history_op_bytes(&put), 6 + 5 + 64);
    assert_int_equal(history_op_bytes(&del), 2 * (6 + 64) + 128);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_has_its_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_little_needs_no_mark, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_compaction_forgets_what_was_marked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_another_store_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_deleted_key_leaves_its_value_and_a_tombstone, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
