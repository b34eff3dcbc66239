/* owners: who is queued by what. */
#include "kube2sky/reconcile/owner_groups_internal.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "tests/support/unit_test.h"

static struct owners *owners;
static struct owner *a, *b, *c;

static struct owner *owners_queued(const char *id)
{
    struct owner *owner = owners_get(owners, slice_str(id));
    owners_enqueue(owners, owner);
    return owner;
}

static int owners_set_up(void **state UNUSED)
{
    owners = owners_new(NULL);
    a = owners_queued("svc/busy/a");
    b = owners_queued("svc/busy/b");
    c = owners_queued("svc/quiet/c");
    return 0;
}

static int owners_tear_down(void **state UNUSED)
{
    owners_free(owners);
    return 0;
}

UNIT_TESTS_EACH(owners_set_up, owners_tear_down)

static void owners_hold(struct owner *owner, bool awaits_claims)
{
    owner->awaits_claims = awaits_claims;
    owners_dequeue(owners, owner, OWNER_HELD);
}

UNIT_TEST(test_the_held_are_queued_by_what_they_await)
{
    owners_hold(a, false);
    owners_hold(b, true);
    owners_hold(c, true);
    owners_enqueue(owners, b); /* for another reason */
    owners_hold_release_claims(owners);
    assert_int_equal(a->state, OWNER_HELD);
    assert_int_equal(c->state, OWNER_QUEUED);
    owners_hold(c, false);
    assert_int_equal(owners_in(owners, OWNER_RECORDS, OWNER_HELD), 2);
    owners_hold_release(owners);
    assert_int_equal(owners_in(owners, OWNER_RECORDS, OWNER_QUEUED), 3);
}

UNIT_TEST(test_a_landing_queues_whom_it_blocked)
{
    struct owner *other = owners_queued("svc/quiet/other");
    owners_dequeue(owners, c, OWNER_IN_FLIGHT);
    owners_dequeue(owners, other, OWNER_IN_FLIGHT);
    owners_block(owners, a, c);
    owners_block(owners, b, other);
    owners_blocked_release(owners, c);
    assert_int_equal(a->state, OWNER_QUEUED);
    assert_int_equal(b->state, OWNER_BLOCKED);
    owners_blocked_release(owners, other);
    assert_int_equal(b->state, OWNER_QUEUED);
}

/* So no other owner is planned in vain for it. */
UNIT_TEST(test_a_place_is_promised_once)
{
    owners_wait_for_place(owners, a);
    owners_wait_for_place(owners, b);
    owners_release_place(owners);
    assert_true(owner_groups_has_waiting(owners->groups));
    assert_int_equal(owners->promised_places, 1);
    assert_true(a->has_place);
    owners_dequeue(owners, a, OWNER_SETTLED); /* it needs none any more */
    assert_int_equal(owners->promised_places, 0);
    owners_release_place(owners);
    assert_true(b->has_place);
    owners_wait_for_place(owners, b);
    assert_int_equal(owners->promised_places, 0);
}

/* The namespace waits until it has claimed as much as it may in its turn; then one of its owners is
 * planned. */
UNIT_TEST(test_claims_without_end_leave_turns_to_plans)
{
    owners_dequeue(owners, c, OWNER_SETTLED);
    owner_groups_want_claim(owners->groups, a);
    owner_groups_want_claim(owners->groups, b);
    assert_false(owner_groups_has_next(owners->groups, OWNER_RECORDS, false));
    struct owner *claiming = owner_groups_next_due(owners->groups);
    owner_groups_end_due(owners->groups, claiming);
    owner_group_charge_claim(claiming->group, OWNER_GROUP_QUANTUM_RECORDS - 1);
    assert_true(owners_awaits_claims(owners, a->id));
    owner_groups_want_claim(owners->groups, claiming);
    claiming = owner_groups_next_due(owners->groups);
    owner_groups_end_due(owners->groups, claiming);
    owner_group_charge_claim(claiming->group, 1);
    assert_false(owners_awaits_claims(owners, a->id));
    assert_ptr_equal(owners_next(owners, OWNER_RECORDS, false), a);
    owners_dequeue(owners, a, OWNER_SETTLED);
    assert_true(owners_awaits_claims(owners, slice_str("svc/busy/gone")));
    assert_false(owner_groups_has_next(owners->groups, OWNER_RECORDS, false));
    claiming = owner_groups_next_due(owners->groups);
    owner_groups_end_due(owners->groups, claiming);
    owner_group_charge_claim(claiming->group, 1);
    assert_ptr_equal(owners_next(owners, OWNER_RECORDS, false), b); /* none is due */
}
