/* How long a nameserver is asked without EDNS. */
#include "skydns/upstream/upstream_health_internal.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

static unsigned changes;

static void upstream_health_on_changed(void *data)
{
    changes++;
}

static void upstream_health_on_revived(void *data, bool was_away)
{
    fail();
}

UNIT_TEST(asked_without_edns_for_15_minutes)
{
    enum { MINUTES_MS = 15 * 60 * 1000 };
    struct nameserver server;
    struct err err = {0};
    assert_int_equal(nameserver_parse("192.0.2.1", &server, &err), 0);
    struct upstream_health *health = upstream_health_new(
        &(struct upstream_health_config){.loop = EV_DEFAULT,
                                         .changed = upstream_health_on_changed,
                                         .revived = upstream_health_on_revived});
    upstream_health_set(health, &server, 1);
    assert_true(upstream_health_may_be_plain(health, &server));
    assert_false(upstream_health_is_plain(health, &server));

    test_clock_stop();
    for (unsigned turn = 0; turn < 2; turn++) { /* it is asked with EDNS, is silent, and so on */
        const unsigned before = changes;
        upstream_health_edns(health, &server, false, true);
        assert_int_equal(changes, before + 1);
        assert_true(upstream_health_is_plain(health, &server));
        test_clock_advance_ms(MINUTES_MS - 1000);
        upstream_health_edns(health, &server, false, true); /* replies do not extend it */
        assert_int_equal(changes, before + 1);
        assert_true(upstream_health_is_plain(health, &server));
        test_clock_advance_ms(1000);
        assert_false(upstream_health_is_plain(health, &server));
        assert_true(upstream_health_may_be_plain(health, &server));
    }
    upstream_health_edns(health, &server, true, false); /* mended */
    assert_false(upstream_health_may_be_plain(health, &server));
    test_clock_run();
    upstream_health_free(health);
    ev_loop_destroy(EV_DEFAULT);
}
