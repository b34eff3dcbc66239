/* plan: desired against actual keys, and how plans are split into transactions. */
#include "common/base/buf.h"
#include "kube2sky/reconcile/plan.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/planner_whole.h"

#define BASE "/skydns/local/svc/default/web"

/* The next "suffix=value" word of the text; false at its end. */
static bool plan_next_word(const char **text, struct slice *ret_suffix, struct slice *ret_value)
{
    *text += strspn(*text, " ");
    size_t n = strcspn(*text, " "), equals = strcspn(*text, "=");
    if (n == 0) {
        return false;
    }
    *ret_suffix = slice_of(*text, equals);
    *ret_value = slice_of(*text + equals + 1, n - equals - 1);
    *text += n;
    return true;
}

static void add_desired(struct desired *desired, const char *text)
{
    struct slice suffix, value;
    while (plan_next_word(&text, &suffix, &value)) {
        CLEANUP_FREE char *key = xasprintf(BASE "%.*s", (int)suffix.len, suffix.ptr);
        desired_add(desired, slice_str(key), value);
    }
    desired_seal(desired);
}

/* At revision 1. */
static bool reconcile_plan_put(struct actual_keys *actual, struct slice suffix, const char *value,
                               uint32_t generation)
{
    return actual_put(actual, suffix,
                      &(struct actual_value){
                          .hash = actual_value_hash(slice_str(value)),
                          .revision = 1,
                          .generation = generation,
                          .is_ours = true,
                      });
}

static void add_actual(struct actual_keys *actual, const char *text)
{
    struct slice suffix, value;
    while (plan_next_word(&text, &suffix, &value)) {
        const struct actual_value there = {actual_value_hash(value), 1, 1, true, false, 0};
        assert_true(actual_put(actual, suffix, &there));
    }
}

static void plan_build(const struct desired *desired, const struct actual_keys *actual,
                       struct plan *plan)
{
    plan_build_nothing(plan);
    plan_whole(desired, slice_str(BASE), actual, plan);
}

/* "+suffix=value -suffix " */
static char *plan_text(const struct plan *plan)
{
    CLEANUP_BUF struct buf text = buf_of(1 << 20);
    for (size_t i = 0; i < plan->op_count; i++) {
        struct etcd_op op = plan_get(plan, i);
        assert_true(slice_has_prefix(op.key, slice_str(BASE)));
        assert_int_equal(op.kind, i < plan->put_count ? ETCD_OP_PUT : ETCD_OP_DELETE);
        buf_append_str(&text, op.kind == ETCD_OP_PUT ? "+" : "-");
        buf_append(&text, op.key.ptr + strlen(BASE), op.key.len - strlen(BASE));
        if (op.kind == ETCD_OP_PUT) {
            buf_append_char(&text, '=');
            buf_append_slice(&text, op.value);
        } else {
            assert_int_equal(op.value.len, 0);
        }
        buf_append_char(&text, ' ');
    }
    return xstrdup(buf_cstr(&text));
}

UNIT_TEST(test_differences)
{
    static const struct {
        const char *name, *desired, *actual, *want;
    } cases[] = {
        {"nothing at all", "", "", ""},
        {"equal", "/a=1 /b=2", "/a=1 /b=2", ""},
        {"all new, in key order", "/b=2 /a=1", "", "+/a=1 +/b=2 "},
        {"all gone", "", "/b=2 /a=1", "-/a -/b "},
        {"another value", "/a=1 /b=3", "/a=1 /b=2", "+/b=3 "},
        {"puts before deletes", "/a=1 /z=1", "/b=1 /y=1", "+/a=1 +/z=1 -/b -/y "},
        {"between others", "/a=1 /b=1 /c=1", "/a=1 /c=1", "+/b=1 "},
        {"one too many between others", "/a=1 /c=1", "/a=1 /b=1 /c=1", "-/b "},
        {"a key and one below it", "/a=1", "/a=1 /a/b=1", "-/a/b "},
        {"the owner's own key", "=1", "/a=1", "+=1 -/a "},
        {"desired twice", "/a=1 /a=1", "", "+/a=1 "},
        {"prefixes are not equal", "/ab=1", "/a=1 /abc=1", "+/ab=1 -/a -/abc "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(desired_fini) struct desired desired;
        CLEANUP(actual_fini) struct actual_keys actual = {.keys = NULL};
        CLEANUP(plan_fini) struct plan plan;
        desired_init(&desired);
        plan_init(&plan);
        add_desired(&desired, cases[i].desired);
        add_actual(&actual, cases[i].actual);
        plan_build(&desired, &actual, &plan);
        CLEANUP_FREE char *got = plan_text(&plan);
        assert_that(strcmp(got, cases[i].want) == 0, "%s: got `%s`, want `%s`", cases[i].name, got,
                    cases[i].want);
    }
}

UNIT_TEST(test_actual_keys)
{
    CLEANUP(actual_fini) struct actual_keys actual = {.keys = NULL};
    assert_true(reconcile_plan_put(&actual, slice_str("/b"), "1", 1));
    assert_true(reconcile_plan_put(&actual, slice_str("/a"), "1", 1));
    assert_true(reconcile_plan_put(&actual, slice_of("/a\0b", 4), "1", 1));
    assert_false(reconcile_plan_put(&actual, slice_str("/b"), "1", 2));
    assert_true(reconcile_plan_put(&actual, slice_str("/a"), "2", 1));
    assert_int_equal(actual.count, 3);
    assert_non_null(actual_find(&actual, slice_of("/a\0b", 4)));
    assert_null(actual_find(&actual, slice_str("/a\001")));
    assert_int_equal(actual_sweep(&actual, 2), 2);
    assert_null(actual_find(&actual, slice_str("/a")));
    assert_non_null(actual_find(&actual, slice_str("/b")));
    assert_false(actual_delete(&actual, slice_str("/a")));
    assert_true(actual_delete(&actual, slice_str("/b")));
    assert_int_equal(actual.count, 0);
}

/* Deleted one by one, put back one by one, from either end: the rest is always right, and nothing
 * remains in the end. */
UNIT_TEST(test_many_deletes)
{
    enum { KEYS = 100000 };
    CLEANUP(actual_fini) struct actual_keys actual = {.keys = NULL};
    char suffix[16];
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(suffix, sizeof(suffix), "/%06d", i);
        assert_true(reconcile_plan_put(&actual, slice_str(suffix), "1", 1));
    }
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(suffix, sizeof(suffix), "/%06d", i);
        assert_true(actual_delete(&actual, slice_str(suffix)));
        assert_false(actual_delete(&actual, slice_str(suffix)));
        assert_null(actual_find(&actual, slice_str(suffix)));
        if (i % 3 == 0) {
            assert_true(reconcile_plan_put(&actual, slice_str(suffix), "1", 1));
        }
    }
    size_t at = 0, seen = 0;
    for (const struct actual_key *key = actual_next(&actual, &at); key;
         at++, key = actual_next(&actual, &at), seen++) {
        (void)snprintf(suffix, sizeof(suffix), "/%06zu", seen * 3);
        assert_true(slice_equal(actual_suffix(key), slice_str(suffix)));
    }
    assert_int_equal(seen, actual.count);
    assert_int_equal(seen, (KEYS + 2) / 3);
    assert_in_range(actual.used, actual.count, 2 * actual.count + 32);
    assert_int_equal(actual_sweep(&actual, 2), seen);
}

/* An operation carries its key's last revision: the transaction depends on it. */
/* A Service whose key is replaced again and again, a hundred times here, takes no more memory. */
UNIT_TEST(test_replaced_keys_leave_nothing)
{
    CLEANUP(actual_fini) struct actual_keys actual = {.keys = NULL};
    for (int i = 0; i < 100; i++) {
        char *suffix = xasprintf("/%d", i), *last = xasprintf("/%d", i - 1);
        assert_true(reconcile_plan_put(&actual, slice_str(suffix), "x", 1));
        assert_int_equal(actual_delete(&actual, slice_str(last)), i > 0);
        assert_int_equal(actual.count, 1);
        assert_in_range(actual.used, 1, 2);
        free(suffix);
        free(last);
    }
}

UNIT_TEST(test_operations_know_the_revision)
{
    CLEANUP(desired_fini) struct desired desired;
    CLEANUP(actual_fini) struct actual_keys actual = {.keys = NULL};
    CLEANUP(plan_fini) struct plan plan;
    desired_init(&desired);
    plan_init(&plan);
    add_desired(&desired, "/a=1 /b=2 /c=3");
    actual_put(&actual, slice_str("/b"), &(struct actual_value){1, 77, 1, true, false, 0});
    actual_put(&actual, slice_str("/d"), &(struct actual_value){1, 78, 1, true, false, 0});
    plan_build(&desired, &actual, &plan);
    assert_int_equal(plan.op_count, 4);
    assert_int_equal(plan.ops[0].revision, 0);
    assert_int_equal(plan.ops[1].revision, 77);
    assert_int_equal(plan.ops[2].revision, 0);
    assert_int_equal(plan.ops[3].revision, 78);
}

/* Foreign keys are overwritten if in the way, but never deleted. */
UNIT_TEST(test_keys_of_others_are_left)
{
    CLEANUP(desired_fini) struct desired desired;
    CLEANUP(actual_fini) struct actual_keys actual = {.keys = NULL};
    CLEANUP(plan_fini) struct plan plan;
    desired_init(&desired);
    plan_init(&plan);
    add_desired(&desired, "/a=1");
    actual_put(&actual, slice_str("/a"), &(struct actual_value){1, 5, 1, false, false, 0});
    actual_put(&actual, slice_str("/b"), &(struct actual_value){1, 6, 1, false, false, 0});
    plan_build(&desired, &actual, &plan);
    CLEANUP_FREE char *text = plan_text(&plan);
    assert_string_equal(text, "+/a=1 ");
}

/* ---- Transactions ---- */

static void fill_plan(struct plan *plan, size_t puts, size_t deletes, size_t value_len)
{
    CLEANUP(desired_fini) struct desired desired;
    CLEANUP(actual_fini) struct actual_keys actual = {.keys = NULL};
    CLEANUP_FREE char *value = xcalloc(1, value_len + 1);
    memset(value, 'v', value_len);
    desired_init(&desired);
    for (size_t i = 0; i < puts + deletes; i++) {
        CLEANUP_FREE char *key = xasprintf(BASE "/%c%06zu", i < puts ? 'p' : 'd', i);
        if (i < puts) {
            desired_add(&desired, slice_str(key), slice_str(value));
        } else {
            reconcile_plan_put(&actual, slice_str(key + strlen(BASE)), "x", 1);
        }
    }
    desired_seal(&desired);
    plan_build(&desired, &actual, plan);
    assert_int_equal(plan->op_count, puts + deletes);
}

UNIT_TEST(test_whole_plans_while_they_fit)
{
    CLEANUP(plan_fini) struct plan plan;
    CLEANUP(plan_batch_fini) struct plan_batch batch;
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    size_t from = 0;
    plan_init(&plan);
    plan_batch_init(&batch, ETCD_TXN_OPS_MAX);
    fill_plan(&plan, 60, 4, 10);
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_WHOLE);
    assert_int_equal(from, 64);
    fill_plan(&plan, 65, 0, 10); /* 129 in total */
    from = 0;
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_NOT);
    assert_int_equal(from, 0);
    assert_int_equal(plan_batch_ops(&batch, ops), 64);
    fill_plan(&plan, 64, 0, 10); /* 128 */
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_WHOLE);
    assert_int_equal(plan_batch_ops(&batch, ops), 128);
    assert_int_equal(ops[127].kind, ETCD_OP_PUT);
    assert_int_equal(ops[127].value.len, 10);
    assert_int_equal(ops[63].kind, ETCD_OP_DELETE);
    fill_plan(&plan, 1, 0, 10);
    from = 0;
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_NOT);
    plan_batch_clear(&batch);
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_WHOLE);
    assert_int_equal(plan_batch_ops(&batch, ops), 1);
}

UNIT_TEST(test_larger_than_a_transaction)
{
    CLEANUP(plan_fini) struct plan plan;
    CLEANUP(plan_batch_fini) struct plan_batch batch;
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    size_t from = 0;
    plan_init(&plan);
    plan_batch_init(&batch, ETCD_TXN_OPS_MAX);
    fill_plan(&plan, 150, 110, 10);
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_PARTLY);
    assert_int_equal(plan_batch_ops(&batch, ops), 128);
    assert_int_equal(batch.plan.put_count, 128);
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_NOT);
    plan_batch_clear(&batch);
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_PARTLY);
    assert_int_equal(from, 256);
    assert_int_equal(batch.plan.put_count, 22);
    plan_batch_clear(&batch);
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_WHOLE);
    assert_int_equal(plan_batch_ops(&batch, ops), 4);
    assert_int_equal(batch.plan.put_count, 0);
}

UNIT_TEST(test_bytes_limit)
{
    CLEANUP(plan_fini) struct plan plan;
    CLEANUP(plan_batch_fini) struct plan_batch batch;
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    size_t from = 0, total = 0;
    plan_init(&plan);
    plan_batch_init(&batch, ETCD_TXN_OPS_MAX);
    fill_plan(&plan, 20, 0, 100 * 1024); /* 2 MiB */
    while (from < plan.op_count) {
        size_t size = 0;
        plan_batch_clear(&batch);
        (void)plan_batch_add(&batch, &plan, &from);
        size_t n = plan_batch_ops(&batch, ops);
        for (size_t i = 0; i < n; i++) {
            size += ops[i].key.len + ops[i].value.len;
        }
        assert_in_range(size, 1, PLAN_BATCH_BYTES_MAX);
        total += n;
    }
    assert_int_equal(total, 20);

    fill_plan(&plan, 2, 0, 2 * PLAN_BATCH_BYTES_MAX); /* each one alone is too large */
    from = 0;
    plan_batch_clear(&batch);
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_PARTLY);
    assert_int_equal(from, 1);
    plan_batch_clear(&batch);
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_WHOLE);
}
