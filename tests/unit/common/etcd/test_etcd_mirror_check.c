/* A following mirror's looks at the store (common/etcd/etcd_mirror_check.c), with a real etcd. What
 * a proxy hides is tested in tests/integration. */
#include "common/etcd/etcd_mirror_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/mirror_bed.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { CHECK_MS = 20, CHECKS = 5 };

static struct etcd_mirror *etcd_mirror_check_start(void)
{
    owner.check_ms = CHECK_MS;
    struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    return m;
}

static bool is_checked(const void *data)
{
    return etcd_mirror_counts(data).checks >= CHECKS;
}

static bool etcd_mirror_check_was_silent(const void *data)
{
    return etcd_mirror_counts(data).silences > 0 && etcd_mirror_counts(data).is_following;
}

UNIT_TESTS_EACH(mirror_bed_each_in_new_store, mirror_bed_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(mirror_bed_start, mirror_bed_stop)

/* Nothing has changed, then everything that did was told: the session goes on. */
UNIT_TEST(test_nothing_wrong)
{
    bed_put_store_key("first");
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_check_start();
    bed_wait_revision(bed_put("/s/b"));
    loop_until(bed.loop, is_checked, m);
    assert_int_equal(etcd_mirror_counts(m).silences, 0);
    assert_int_equal(owner.ups, 1);
    assert_int_equal(owner.downs, 0);
}

/* For all that the mirror knows, its watch may have lost the change: it is begun anew, with nothing
 * read and nothing told twice, and goes on. */
UNIT_TEST(test_other_keys_changed)
{
    bed_put_store_key("first");
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_check_start();
    bed_put("/elsewhere");
    loop_until(bed.loop, etcd_mirror_check_was_silent, m);
    assert_int_equal(etcd_mirror_counts(m).resumed, 1);
    assert_int_equal(owner.fulls, 1);
    assert_int_equal(owner.commits, 0);
    assert_int_equal(owner.downs, 0);
    bed_wait_revision(bed_put("/s/b")); /* by the watch with the other end of the range */
    bed_expect_same("/s/");
}

/* The watch has not told of a key that is gone, and another one from the same revision may cost
 * etcd the same time again: everything is read, at the first suspicion. */
UNIT_TEST(test_watch_misses_a_key)
{
    bed_put_store_key("first");
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_check_start();
    bed_wait_revision(bed_put("/s/b"));
    bed_wait_revision(bed_put("/s/b"));
    assert_int_equal(m->held_keys, 2);
    m->held_keys++; /* as if /s/c were there, and deleted unseen */
    bed_put("/elsewhere");
    bed_wait_fulls(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_LAG);
    assert_int_equal(m->held_keys, 2);
    assert_int_equal(etcd_mirror_counts(m).behind_ms, 0);
    assert_int_equal(owner.downs, 0);
}

/* Not until the read that shows what is missing. */
UNIT_TEST(test_behind)
{
    bed_put_store_key("first");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_check_start();
    assert_int_equal(etcd_mirror_counts(m).behind_ms, 0);
    test_clock_stop();
    etcd_mirror_reread(m);
    test_clock_advance_ms(1500);
    assert_int_equal(etcd_mirror_counts(m).behind_ms, 1500);
    test_clock_run();
    bed_wait_fulls(2);
    assert_int_equal(etcd_mirror_counts(m).behind_ms, 0);
}

/* A proxy went on with a store that another writer has filled. */
UNIT_TEST(test_store_key_changed)
{
    bed_put_store_key("first");
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_check_start();
    bed_put_store_key("second");
    bed_wait_fulls(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
    bed_wait_store_key("second");
}
