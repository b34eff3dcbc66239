/* reconciler_report: the latest changes, latest first; the oldest give way. */
#include "kube2sky/reconcile/reconciler.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_latest_first)
{
    static struct change_ring ring;
    assert_null(change_ring_get(&ring, 0));
    for (int i = 0; i < 2 * CHANGES_KEPT + 3; i++) {
        change_ring_add(&ring, slice_str("svc/default/web"))->revision = i;
    }
    for (size_t i = 0; i < CHANGES_KEPT; i++) {
        assert_int_equal(change_ring_get(&ring, i)->revision, 2 * CHANGES_KEPT + 2 - i);
    }
    assert_null(change_ring_get(&ring, CHANGES_KEPT));
}

UNIT_TEST(test_long_owner)
{
    static struct change_ring ring;
    char id[2 * CHANGE_OWNER_MAX];
    memset(id, 'a', sizeof(id));
    struct change *change = change_ring_add(&ring, slice_of(id, sizeof(id)));
    assert_int_equal(strlen(change->owner), CHANGE_OWNER_MAX);
    assert_int_equal(change->api_to_plan_us, -1);
}
