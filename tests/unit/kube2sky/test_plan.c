/* plan: what is desired against what is there, and how plans go into transactions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/attributes.h"
#include "common/buf.h"
#include "common/xalloc.h"
#include "kube2sky/plan.h"

#define BASE "/skydns/local/svc/default/web"

/* The next "suffix=value" of a text of such words; false at its end. */
static bool next_word(const char **text, struct slice *ret_suffix, struct slice *ret_value)
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
    while (next_word(&text, &suffix, &value)) {
        char *key = xasprintf(BASE "%.*s", (int)suffix.len, suffix.ptr);
        desired_add(desired, slice_str(key), value);
        free(key);
    }
    desired_seal(desired);
}

static void add_actual(struct actual_keys *actual, const char *text)
{
    struct slice suffix, value;
    while (next_word(&text, &suffix, &value)) {
        assert_true(actual_put(actual, suffix, value, 1));
    }
}

/* "+suffix=value -suffix " */
static char *plan_text(const struct plan *plan)
{
    struct buf text;
    buf_init(&text, 1 << 20);
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
    char *result = xstrdup(buf_cstr(&text));
    buf_fini(&text);
    return result;
}

static void test_differences(void **state)
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
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct desired desired;
        struct actual_keys actual = {.keys = NULL};
        struct plan plan;
        desired_init(&desired);
        plan_init(&plan);
        add_desired(&desired, cases[i].desired);
        add_actual(&actual, cases[i].actual);
        plan_build(&desired, slice_str(BASE), &actual, &plan);
        char *got = plan_text(&plan);
        if (strcmp(got, cases[i].want) != 0) {
            fail_msg("%s: got `%s`, want `%s`", cases[i].name, got, cases[i].want);
        }
        free(got);
        plan_fini(&plan);
        actual_fini(&actual);
        desired_fini(&desired);
    }
}

static void test_actual_keys(void **state)
{
    struct actual_keys actual = {.keys = NULL};
    (void)state;
    assert_true(actual_put(&actual, slice_str("/b"), slice_str("1"), 1));
    assert_true(actual_put(&actual, slice_str("/a"), slice_str("1"), 1));
    assert_true(actual_put(&actual, slice_of("/a\0b", 4), slice_str("1"), 1));
    assert_false(actual_put(&actual, slice_str("/b"), slice_str("1"), 2));
    assert_true(actual_put(&actual, slice_str("/a"), slice_str("2"), 1));
    assert_int_equal(actual.count, 3);
    assert_non_null(actual_find(&actual, slice_of("/a\0b", 4)));
    assert_null(actual_find(&actual, slice_str("/a\001")));
    assert_int_equal(actual_sweep(&actual, 2), 2);
    assert_null(actual_find(&actual, slice_str("/a")));
    assert_non_null(actual_find(&actual, slice_str("/b")));
    assert_false(actual_delete(&actual, slice_str("/a")));
    assert_true(actual_delete(&actual, slice_str("/b")));
    assert_int_equal(actual.count, 0);
    actual_fini(&actual);
}

/* ---- Transactions ---- */

static void fill_plan(struct plan *plan, size_t puts, size_t deletes, size_t value_len)
{
    struct desired desired;
    struct actual_keys actual = {.keys = NULL};
    char *value = xcalloc(1, value_len + 1);
    memset(value, 'v', value_len);
    desired_init(&desired);
    for (size_t i = 0; i < puts + deletes; i++) {
        char *key = xasprintf(BASE "/%c%06zu", i < puts ? 'p' : 'd', i);
        if (i < puts) {
            desired_add(&desired, slice_str(key), slice_str(value));
        } else {
            actual_put(&actual, slice_str(key + strlen(BASE)), slice_str("x"), 1);
        }
        free(key);
    }
    desired_seal(&desired);
    plan_build(&desired, slice_str(BASE), &actual, plan);
    assert_int_equal(plan->op_count, puts + deletes);
    actual_fini(&actual);
    desired_fini(&desired);
    free(value);
}

static void test_whole_plans_while_they_fit(void **state)
{
    struct plan plan;
    struct plan_batch batch;
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    size_t from = 0;
    (void)state;
    plan_init(&plan);
    plan_batch_init(&batch);
    fill_plan(&plan, 60, 4, 10);
    assert_int_equal(plan_batch_add(&batch, &plan, &from), PLAN_FITS_WHOLE);
    assert_int_equal(from, 64);
    fill_plan(&plan, 65, 0, 10); /* 129 together */
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
    plan_batch_fini(&batch);
    plan_fini(&plan);
}

static void test_larger_than_a_transaction(void **state)
{
    struct plan plan;
    struct plan_batch batch;
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    size_t from = 0;
    (void)state;
    plan_init(&plan);
    plan_batch_init(&batch);
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
    plan_batch_fini(&batch);
    plan_fini(&plan);
}

static void test_bytes_limit(void **state)
{
    struct plan plan;
    struct plan_batch batch;
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    size_t from = 0, total = 0;
    (void)state;
    plan_init(&plan);
    plan_batch_init(&batch);
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
    plan_batch_fini(&batch);
    plan_fini(&plan);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_actual_keys),
        cmocka_unit_test(test_whole_plans_while_they_fit),
        cmocka_unit_test(test_larger_than_a_transaction),
        cmocka_unit_test(test_bytes_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
