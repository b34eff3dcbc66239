/* config_rest: when keys of the ConfigMap are restored at once, and when after a rest. */
#include "kube2sky/reconcile/config_step_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/attributes.h"
#include "kube2sky/reconcile/contest_internal.h"

enum { KEYS = 10 };

/* Somebody changes a key, and it is restored; the time of the rest. */
static uint32_t restore(struct config_rest *rest, int64_t *now_ms)
{
    uint32_t ms = config_rest_before(rest, true, KEYS, *now_ms);
    *now_ms += ms + 1;
    if (ms) {
        assert_int_equal(config_rest_before(rest, true, KEYS, *now_ms), 0);
    }
    rest->written++;
    config_rest_end(rest, *now_ms);
    return ms;
}

static void test_rests_grow_and_are_forgotten(void **state)
{
    static const uint32_t want[] = {0, 0, 0, 0, 0, 1000, 2000, 4000, 8000, 8000, 8000};
    struct config_rest rest = {.restorations = 0};
    int64_t now_ms = 1000;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(config_rest_is_contested(&rest, now_ms), i >= CONTEST_FREE);
        assert_int_equal(restore(&rest, &now_ms), want[i]);
    }
    now_ms = rest.calm_at_ms;
    assert_false(config_rest_is_contested(&rest, now_ms));
    assert_int_equal(restore(&rest, &now_ms), 0);
    assert_int_equal(rest.restorations, 1);
}

/* The first writes, and those of a changed map, restore nothing. */
static void test_what_is_wanted_is_written_at_once(void **state)
{
    struct config_rest rest = {.restorations = 0};
    int64_t now_ms = 1000;
    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(config_rest_before(&rest, false, KEYS, now_ms), 0);
        config_rest_end(&rest, now_ms);
    }
    assert_int_equal(rest.restorations, 0);
    for (int i = 0; i < CONTEST_FREE; i++) {
        (void)restore(&rest, &now_ms);
    }
    assert_int_equal(config_rest_before(&rest, true, KEYS, now_ms), 1000);
    config_rest_interrupt(&rest);
    assert_int_equal(config_rest_before(&rest, false, KEYS, now_ms), 0);
}

/* Somebody writes all the time: no plan is ever empty. */
static void test_what_never_settles_rests(void **state)
{
    struct config_rest rest = {.restorations = 0};
    unsigned plans = 0;
    (void)state;
    while (config_rest_before(&rest, false, KEYS, 1000) == 0) {
        rest.written += 1;
        plans++;
        assert_true(plans < 1000);
    }
    assert_in_range(plans, CONTEST_FREE * 2 * KEYS, CONTEST_FREE * (2 * KEYS + 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rests_grow_and_are_forgotten),
        cmocka_unit_test(test_what_is_wanted_is_written_at_once),
        cmocka_unit_test(test_what_never_settles_rests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
