/* When a nameserver counts as dead: after failures of different names, or of a probe. Figures: a
 * place for each nameserver of each zone, as long as there are places. */
#include "skydns/upstream/upstreams.h"
#include "tests/support/unit_test.h"

enum { NOW_S = 1000, NAMES = 100 };

/* Asked at `asked_us`, of the name with this hash. */
static bool upstream_fails(struct upstream *server, uint32_t name_hash, int64_t asked_us)
{
    const struct upstream_failure failure = {.name_hash = name_hash, .asked_us = asked_us};
    return upstream_note_failure(server, &failure, NOW_S);
}

UNIT_TEST(test_one_name_that_fails_kills_nobody)
{
    struct upstream server = {0};
    for (int64_t i = 0; i < NAMES; i++) {
        assert_false(upstream_fails(&server, 7, i));
        assert_int_equal(server.is_suspected, i > 0); /* a probe decides */
    }
    assert_false(upstream_is_dead(&server));
    assert_false(upstream_note_answer(&server, NAMES, NOW_S));
    assert_false(server.is_suspected);
    assert_false(upstream_note_probe_silence(&server, NOW_S)); /* too late */
    assert_false(upstream_is_dead(&server));
}

UNIT_TEST(test_a_suspected_one_without_reply_to_a_probe_is_dead)
{
    struct upstream server = {0};
    assert_false(upstream_fails(&server, 7, 1));
    assert_false(upstream_fails(&server, 7, 2));
    assert_true(upstream_note_probe_silence(&server, NOW_S));
    assert_true(upstream_is_dead(&server));
    assert_true(server.was_away);
    assert_int_equal(server.turned_s, NOW_S);
    assert_false(upstream_note_probe_silence(&server, NOW_S + 1)); /* only once */
    assert_true(upstream_note_answer(&server, 3, NOW_S));
    assert_false(upstream_is_dead(&server));
}

UNIT_TEST(test_names_that_fail_in_a_row_kill)
{
    struct upstream server = {0};
    assert_false(upstream_fails(&server, 7, 1));
    assert_true(upstream_fails(&server, 8, 2));
    assert_true(upstream_is_dead(&server));
    assert_false(server.was_away);
}

/* Somebody asks for many names that it is silent about, while it answers others. */
UNIT_TEST(test_a_server_that_answers_others_is_not_blamed)
{
    struct upstream server = {0};
    for (uint32_t i = 1; i <= NAMES; i++) {
        assert_false(upstream_note_answer(&server, 10 * (int64_t)i + 1, NOW_S));
        assert_false(upstream_fails(&server, i, 10 * (int64_t)i));
    }
    assert_int_equal(server.failures, 0);
    assert_int_equal(server.failed_s, NOW_S); /* as /explain shows it */
    assert_false(upstream_fails(&server, 1, 10 * NAMES + 2));
    assert_true(upstream_fails(&server, 2, 10 * NAMES + 2)); /* both asked after its last reply */
}

/* ---- Figures ---- */

static const struct dname root = {.len = 1};
static const struct dname stub = {.len = 6, .wire = "\4acme"};

static struct nameserver upstreams_numbered(const char *scheme, unsigned number)
{
    char text[64];
    struct nameserver server;
    struct err err = {0};
    (void)snprintf(text, sizeof(text), "%s192.0.2.%u:53", scheme, number);
    assert_int_equal(nameserver_parse(text, &server, &err), 0);
    return server;
}

UNIT_TEST(one_place_each)
{
    struct upstream_figures *figures = xcalloc(1, sizeof(*figures));
    const struct nameserver plain = upstreams_numbered("", 1), other = upstreams_numbered("", 2),
                            tls = upstreams_numbered("tls://", 1);
    struct upstream_figure *first = upstream_figures_of(figures, &root, &plain);
    assert_ptr_equal(upstream_figures_of(figures, &root, &plain), first);
    assert_ptr_not_equal(upstream_figures_of(figures, &root, &other), first);
    assert_ptr_not_equal(upstream_figures_of(figures, &root, &tls), first);
    assert_ptr_not_equal(upstream_figures_of(figures, &stub, &plain), first);
    assert_int_equal(upstream_figures_count(figures), 4);
    assert_true(dname_equal(&figures->items[3].zone, &stub));
    assert_true(nameserver_equal(&figures->items[2].server, &tls));
    free(figures);
}

UNIT_TEST(the_rest_share_one)
{
    struct upstream_figures *figures = xcalloc(1, sizeof(*figures));
    for (unsigned i = 0; i < UPSTREAM_FIGURES_MAX; i++) {
        const struct nameserver one = upstreams_numbered("", i + 1);
        assert_ptr_equal(upstream_figures_of(figures, &root, &one), &figures->items[i]);
    }
    const struct nameserver late = upstreams_numbered("", 200), first = upstreams_numbered("", 1);
    assert_ptr_equal(upstream_figures_of(figures, &root, &late), &figures->others);
    assert_ptr_equal(upstream_figures_of(figures, &root, &first), &figures->items[0]);
    assert_int_equal(upstream_figures_count(figures), UPSTREAM_FIGURES_MAX);
    free(figures);
}
