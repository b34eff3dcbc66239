/* skydns/sync/lease.h with leases of a real etcd: how and when record TTLs change. */
#include "tests/support/skydns/lease_bed.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

/* ---- Tests ---- */

UNIT_TESTS_EACH(leases_each, leases_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(leases_start, leases_stop)

UNIT_TEST(test_without_lease)
{
    assert_int_equal(leases_put("plain.test", 0, 30), 30);
    assert_int_equal(leases_put("unset.test", 0, 0), 0);
}

UNIT_TEST(test_long_lease)
{
    int64_t lease = leases_grant(7200);
    assert_int_equal(leases_put("a.test", lease, 30), 1); /* the lease is still unknown */
    leases_wait_for_change();
    assert_int_equal(leases_ttl_of("a.test"), 30);
    /* Known by now, so correct at once. Unset stays unset while the lease has longer to live. */
    assert_int_equal(leases_put("b.test", lease, 60), 60);
    assert_int_equal(leases_put("c.test", lease, 0), 0);
    assert_in_range(leases_put("d.test", lease, 100000), 7100, 7200);
}

UNIT_TEST(test_counts_down)
{
    int64_t lease = leases_grant(600);
    leases_put("short.test", lease, 30);
    leases_put("long.test", lease, 0);
    leases_wait_for_change();
    uint32_t before = leases_ttl_of("long.test");
    assert_in_range(before, 500, 600);
    leases_wait_for_change();
    assert_true(leases_ttl_of("long.test") < before);
    assert_int_equal(leases_ttl_of("short.test"), 30);
}

/* Values without a TTL are bounded like the current default. */
UNIT_TEST(test_another_default)
{
    int64_t lease = leases_grant(600);
    leases_put("unset.test", lease, 0);
    leases_put("set.test", lease, 30);
    leases_wait_for_change();
    assert_in_range(leases_ttl_of("unset.test"), 500, 600); /* the default is longer */
    lease_table_set_default_ttl(leases_bed.table, 60);
    leases_wait_for_change();
    assert_int_equal(leases_ttl_of("unset.test"), 0);
    assert_int_equal(leases_ttl_of("set.test"), 30);
    lease_table_set_default_ttl(leases_bed.table, LEASES_DEFAULT_TTL_S);
    leases_wait_for_change();
    assert_in_range(leases_ttl_of("unset.test"), 500, 600);
}

UNIT_TEST(test_key_that_changes_its_lease)
{
    int64_t first = leases_grant(600);
    int64_t second = leases_grant(1200);
    leases_put("a.test", first, 100000);
    leases_wait_for_change();
    assert_in_range(leases_ttl_of("a.test"), 500, 600);
    assert_int_equal(leases_put("a.test", second, 100000), 1);
    leases_wait_for_change();
    assert_in_range(leases_ttl_of("a.test"), 1100, 1200);
    assert_int_equal(leases_put("a.test", 0, 100000), 100000);
}

UNIT_TEST(test_key_deleted_while_etcd_is_asked)
{
    int64_t lease = leases_grant(600);
    leases_put("a.test", lease, 30);
    leases_del("a.test");
    leases_put("a.test", lease, 30);
    leases_put("b.test", lease, 30);
    leases_del("a.test");
    leases_wait_for_change();
    assert_int_equal(leases_ttl_of("b.test"), 30);
}

/* Nothing changes while the store is being read; names that the read lacks are forgotten. */
UNIT_TEST(test_held)
{
    int64_t lease = leases_grant(600);
    leases_put("a.test", lease, 30);
    leases_put("gone.test", lease, 30);
    lease_table_hold(leases_bed.table);
    (void)leases_grant(600); /* its reply arrives after that to the question */
    assert_int_equal(leases_ttl_of("a.test"), 1);
    assert_int_equal(leases_bed.changes, 0);
    struct dname name = leases_name("gone.test");
    store_writer_del(leases_bed.writer, &name);
    lease_table_release(leases_bed.table);
    leases_wait_for_change();
    assert_int_equal(leases_ttl_of("a.test"), 30);
}

static bool are_all_long(const void *data)
{
    const unsigned *count = data;
    char name[32];
    for (unsigned i = 0; i < *count; i++) {
        (void)snprintf(name, sizeof(name), "k%u.test", i);
        if (leases_ttl_of(name) != 30) {
            return false;
        }
    }
    return true;
}

UNIT_TEST(test_many_leases)
{
    unsigned count = 200;
    char name[32];
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "k%u.test", i);
        leases_put(name, leases_grant(600), 30);
    }
    loop_until(leases_bed.loop, are_all_long, &count);
    assert_true(leases_bed.changes < count); /* several changes share a publication */
}

UNIT_TEST(test_lease_that_is_gone)
{
    leases_put("a.test", 4711, 30);
    leases_put("b.test", leases_grant(600), 30);
    leases_wait_for_change(); /* b's; etcd has already answered for a */
    assert_int_equal(leases_ttl_of("b.test"), 30);
    assert_int_equal(leases_ttl_of("a.test"), 1);
}

static bool is_away(const void *data)
{
    return leases_bed.asking.is_away;
}

UNIT_TEST(test_etcd_away)
{
    int64_t lease = leases_grant(600);
    etcd_proc_kill(leases_bed.proc);
    assert_int_equal(leases_put("a.test", lease, 30), 1);
    assert_false(leases_bed.asking.is_away);
    loop_until(leases_bed.loop, is_away, NULL);
    assert_in_range(lease_table_counts(leases_bed.table).failures, 1, 60);
    etcd_proc_restart(leases_bed.proc);
    leases_wait_for_change();
    assert_int_equal(leases_ttl_of("a.test"), 30);
    assert_false(leases_bed.asking.is_away);
    assert_int_equal(lease_table_counts(leases_bed.table).leases, 1);
}

/* A question no longer needed does not count as an outage. */
UNIT_TEST(test_etcd_away_and_the_key_deleted)
{
    int64_t lease = leases_grant(600);
    etcd_proc_kill(leases_bed.proc);
    leases_put("a.test", lease, 30);
    loop_until(leases_bed.loop, is_away, NULL);
    leases_del("a.test");
    assert_false(leases_bed.asking.is_away);
    assert_int_equal(lease_table_counts(leases_bed.table).leases, 0);
    etcd_proc_restart(leases_bed.proc);
}

/* A lease kept alive: here etcd's clock barely advances. */
UNIT_TEST(test_kept_alive)
{
    enum { LEASE_S = 900, SHORT_S = 300, ALL_S = 3000, STEP_MS = 500 };
    static const struct {
        uint32_t ttl_s;
        uint32_t least_ttl_s; /* the lowest ever answered */
        unsigned questions;   /* in total */
    } cases[] = {
        /* Asks when the lease may soon be down to that TTL. */
        {SHORT_S, SHORT_S, 1 + ALL_S / (LEASE_S - SHORT_S)},
        /* Asks every third of the lease; etcd reports whole seconds. */
        {100000, LEASE_S - LEASE_S / 3 - 3, 1 + ALL_S / (LEASE_S / 3)},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t before = lease_table_counts(leases_bed.table).questions;
        int64_t lease = leases_grant(LEASE_S);
        leases_put("a.test", lease, cases[i].ttl_s);
        leases_put("b.test", lease, cases[i].ttl_s);
        leases_wait_for_change();
        test_clock_stop();
        for (int ms = 0; ms < ALL_S * 1000; ms += STEP_MS) {
            test_clock_advance_ms(STEP_MS);
            ev_run(leases_bed.loop, EVRUN_NOWAIT);
            loop_until(leases_bed.loop, leases_is_nothing_asked, NULL);
            assert_in_range(leases_ttl_of("a.test"), cases[i].least_ttl_s, LEASE_S);
        }
        test_clock_run();
        uint64_t questions = lease_table_counts(leases_bed.table).questions - before;
        assert_in_range(questions, cases[i].questions - 1, cases[i].questions + 1);
        leases_del("a.test");
        leases_del("b.test");
    }
}
