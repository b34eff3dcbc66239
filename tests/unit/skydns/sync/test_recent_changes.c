/* recent_changes.h: the ring, and when versions count as seen. */
#include "skydns/sync/recent_changes.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

static struct dname recent_changes_name_of(unsigned i)
{
    char text[40];
    assert_true(snprintf(text, sizeof(text), "a%u.test.", i) > 0);
    return dname_from(text);
}

static void sync_recent_changes_note(struct recent_changes *recent, unsigned i)
{
    const struct dname name = recent_changes_name_of(i);
    recent_changes_note(recent, &name, i % 2 == 1, i + 100);
}

static int recent_changes_setup(void **state)
{
    test_clock_stop();
    return 0;
}

static int recent_changes_teardown(void **state)
{
    test_clock_run();
    return 0;
}

UNIT_TESTS_EACH(recent_changes_setup, recent_changes_teardown)

UNIT_TEST(test_one)
{
    struct recent_changes recent = {0};
    const struct dname name = recent_changes_name_of(1), other = recent_changes_name_of(2);
    assert_int_equal(recent_changes_count(&recent), 0);
    assert_null(recent_changes_find(&recent, &name));
    recent_changes_see(&recent, 9);
    sync_recent_changes_note(&recent, 1);
    const struct recent_change *change = recent_changes_find(&recent, &name);
    assert_ptr_equal(change, recent_changes_get(&recent, 0));
    assert_null(recent_changes_find(&recent, &other));
    assert_true(change->is_delete && change->revision == 101 && change->time_ms > 0);
    test_clock_advance_ms(3);
    recent_changes_publish(&recent, 5);
    recent_changes_see(&recent, 4); /* a thread is inside an older version */
    assert_int_equal(change->took_us, -1);
    test_clock_advance_ms(4);
    recent_changes_see(&recent, 5);
    assert_int_equal(change->took_us, 7000);
    assert_int_equal(recent.waiting, 0);
    assert_int_equal(counter_get(&recent.seconds.sum), 7000);
}

/* A version's time counts from its first change; versions are seen in their order. */
UNIT_TEST(test_versions)
{
    struct recent_changes recent = {0};
    sync_recent_changes_note(&recent, 0);
    test_clock_advance_ms(1);
    sync_recent_changes_note(&recent, 1);
    recent_changes_publish(&recent, 5);
    recent_changes_publish(&recent, 6); /* nothing of etcd's */
    sync_recent_changes_note(&recent, 2);
    recent_changes_publish(&recent, 7);
    test_clock_advance_ms(1);
    recent_changes_see(&recent, 6);
    assert_int_equal(recent_changes_get(&recent, 2)->took_us, 2000);
    assert_int_equal(recent_changes_get(&recent, 1)->took_us, 2000);
    assert_int_equal(recent_changes_get(&recent, 0)->took_us, -1);
    test_clock_advance_ms(1);
    recent_changes_see(&recent, 8);
    assert_int_equal(recent_changes_get(&recent, 0)->took_us, 2000);
    assert_int_equal(counter_get(&recent.seconds.sum), 4000); /* of two versions */
}

/* The last ones stay, of a version that has more than there is room for, too. */
UNIT_TEST(test_many)
{
    enum { MANY = 3 * RECENT_CHANGES_MAX + 7 };
    struct recent_changes recent = {0};
    for (unsigned i = 0; i < MANY; i++) {
        sync_recent_changes_note(&recent, i);
    }
    recent_changes_publish(&recent, 2);
    recent_changes_see(&recent, 2);
    assert_int_equal(recent_changes_count(&recent), RECENT_CHANGES_MAX);
    for (unsigned i = 0; i < RECENT_CHANGES_MAX; i++) {
        const struct recent_change *change = recent_changes_get(&recent, i);
        const struct dname name = recent_changes_name_of(MANY - 1 - i);
        assert_true(dname_equal(&change->name, &name));
        assert_int_equal(change->took_us, 0);
        assert_ptr_equal(recent_changes_find(&recent, &name), change);
    }
    const struct dname gone = recent_changes_name_of(MANY - 1 - RECENT_CHANGES_MAX);
    assert_null(recent_changes_find(&recent, &gone));
    sync_recent_changes_note(&recent, 0); /* the same name again: the latest is found */
    sync_recent_changes_note(&recent, 0);
    const struct dname again = recent_changes_name_of(0);
    assert_ptr_equal(recent_changes_find(&recent, &again), recent_changes_get(&recent, 0));
}

/* While a thread stays inside one version, those beyond the limit are not measured. */
UNIT_TEST(test_a_slow_thread)
{
    struct recent_changes recent = {0};
    for (unsigned i = 0; i < RECENT_VERSIONS_MAX + 3; i++) {
        sync_recent_changes_note(&recent, i);
        recent_changes_publish(&recent, i + 1);
    }
    assert_int_equal(recent.waiting, RECENT_VERSIONS_MAX);
    recent_changes_see(&recent, RECENT_VERSIONS_MAX + 3);
    assert_int_equal(recent.waiting, 0);
    assert_int_equal(recent_changes_get(&recent, 3)->took_us, 0);
    assert_int_equal(recent_changes_get(&recent, 2)->took_us, -1);
    sync_recent_changes_note(&recent, 99);
    recent_changes_publish(&recent, 99);
    recent_changes_see(&recent, 99);
    assert_int_equal(recent_changes_get(&recent, 0)->took_us, 0);
}
