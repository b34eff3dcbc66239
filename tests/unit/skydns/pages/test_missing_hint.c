/* missing_hint_internal.h: the twenty commonest slips, what was deleted, what is hidden, and
 * aliases. */
#include "tests/unit/skydns/pages/pages_bed.h"

#include "skydns/pages/metrics_table.h"
#include "skydns/pages/missing_hint_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

static const struct bed_key cluster[] = {
    {"local/cluster/svc/prod/web/c1", "{'host':'10.0.0.1'}"},
    {"local/cluster/svc/prod/web/_tcp/_http/c1",
     "{'host':'web.prod.svc.cluster.local.','port':80}"},
    {"local/cluster/svc/prod/order/c1", "{'host':'10.0.0.2'}"},
    {"local/cluster/svc/prod/policies/c1", "{'host':'10.0.0.3'}"},
    {"local/cluster/svc/prod/frontend-api/c1", "{'host':'10.0.0.4'}"},
    {"local/cluster/svc/prod/redis-master/c1", "{'host':'10.0.0.5'}"},
    {"local/cluster/svc/prod/db/db-0", "{'host':'10.1.0.1'}"},
    {"local/cluster/svc/prod/db/db-1", "{'host':'10.1.0.2'}"},
    {"local/cluster/svc/shop/cart/c1", "{'host':'10.0.0.6'}"},
    {"local/cluster/svc/shop/api/c1", "{'host':'10.0.0.7'}"},
    {"local/cluster/svc/stage/api/c1", "{'host':'10.0.0.8'}"},
    {"local/cluster/svc/prod/billing", "{'host':'billing.example.com.'}"},
    {"local/cluster/svc/prod/second", "{'host':'billing.prod.svc.cluster.local.'}"},
};

static struct metrics_sources sources_of(const struct pages_bed *bed)
{
    return (struct metrics_sources){
        .publisher = bed->publisher, .sync = bed->sync, .explainer = bed->explainer};
}

static struct missing_hint hint_of(const struct pages_bed *bed, const char *text, const char *space)
{
    const struct metrics_sources sources = sources_of(bed);
    struct missing_hint hint;
    struct dname name = dname_from(text);
    missing_hint_find(&sources, &name, slice_str(space), &hint);
    return hint;
}

static void expect_hint(const struct pages_bed *bed, const char *name, const char *space,
                        const char *why, const char *near)
{
    char text[DNAME_TEXT_MAX];
    const struct missing_hint hint = hint_of(bed, name, space);
    const char *got = hint.near.len > 0 ? dname_to_text(&hint.near, text) : "";
    assert_that(strcmp(got, near) == 0 && strcmp(missing_why_text(hint.why), why) == 0,
                "%s, asked by `%s`: %s `%s`, expected %s `%s`", name, space,
                missing_why_text(hint.why), got, why, near);
}

static void missing_hint_set_up(struct pages_bed *bed)
{
    bed_start(bed, "-schema=kubernetes");
}

UNIT_FIXTURE(struct pages_bed, missing_hint_set_up, bed_stop)

UNIT_TEST_ON(test_slips, struct pages_bed *bed)
{
    static const struct {
        const char *name, *why, *near;
    } rows[] = {
#define D  "cluster.local"
#define SD "svc.cluster.local"
        /* 1 to 4: letters swapped, twice, missing, wrong */
        {"wbe.prod." SD, "spelling", "web.prod." SD "."},
        {"webb.prod." SD, "spelling", "web.prod." SD "."},
        {"we.prod." SD, "spelling", "web.prod." SD "."},
        {"wen.prod." SD, "spelling", "web.prod." SD "."},
        /* 5, 6: two errors in a long word; a hyphen left out */
        {"frotnend-aip.prod." SD, "spelling", "frontend-api.prod." SD "."},
        {"frontendapi.prod." SD, "spelling", "frontend-api.prod." SD "."},
        /* 7, 8: plural for singular, and the other way */
        {"orders.prod." SD, "plural", "order.prod." SD "."},
        {"policy.prod." SD, "plural", "policies.prod." SD "."},
        /* 9 to 12: the namespace: another one, mistyped, one that there is not, none */
        {"cart.prod." SD, "namespace", "cart.shop." SD "."},
        {"cart.shpo." SD, "spelling", "cart.shop." SD "."},
        {"cart.storefront." SD, "namespace", "cart.shop." SD "."},
        {"web." SD, "namespace", "web.prod." SD "."},
        /* 13 to 15: svc: left out, mistyped, another word */
        {"web.prod." D, "svc", "web.prod." SD "."},
        {"web.prod.scv." D, "svc", "web.prod." SD "."},
        {"web.prod.service." D, "svc", "web.prod." SD "."},
        /* 16, 17: a pod without its headless Service; of the wrong kind */
        {"db-0.prod." SD, "pod", "db-0.db.prod." SD "."},
        {"web.prod.pod." D, "svc", "web.prod." SD "."},
        /* 18, 19: swapped; the domain twice */
        {"prod.web." SD, "order", "web.prod." SD "."},
        {"web.prod." SD "." D, "domain", "web.prod." SD "."},
        /* 20: more than the name, or less */
        {"web-svc.prod." SD, "similar", "web.prod." SD "."},
        {"redis.prod." SD, "similar", "redis-master.prod." SD "."},
        /* A port; and nothing like it */
        {"_htp._tcp.web.prod." SD, "spelling", "_http._tcp.web.prod." SD "."},
        {"nothing-like-it.prod." SD, "unexplained", ""},
        {"example.com.prod." SD, "unexplained", ""},
    };
    bed_fill(bed, cluster, ARRAY_LEN(cluster));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect_hint(bed, rows[i].name, "prod", rows[i].why, rows[i].near);
    }
}

/* The client's own namespace comes first; without one, any does. */
UNIT_TEST_ON(test_own_namespace, struct pages_bed *bed)
{
    bed_fill(bed, cluster, ARRAY_LEN(cluster));
    expect_hint(bed, "api." SD, "stage", "namespace", "api.stage." SD ".");
    expect_hint(bed, "api." SD, "shop", "namespace", "api.shop." SD ".");
    expect_hint(bed, "api.prod." SD, "stage", "namespace", "api.stage." SD ".");
    expect_hint(bed, "cart." SD, "", "namespace", "cart.shop." SD ".");
}

UNIT_TEST_ON(test_deleted, struct pages_bed *bed)
{
    char text[DNAME_TEXT_MAX], had[INET6_ADDRSTRLEN];
    bed_fill(bed, cluster, ARRAY_LEN(cluster));
    bed_del(bed, "local/cluster/svc/prod/web/_tcp/_http/c1");
    assert_int_equal(hint_of(bed, "web.prod." SD, "prod").why, MISSING_CREATED);
    bed_del(bed, "local/cluster/svc/prod/web/c1");
    const struct missing_hint hint = hint_of(bed, "web.prod." SD, "prod");
    assert_int_equal(hint.why, MISSING_DELETED);
    assert_string_equal(dname_to_text(&hint.gone, text), "web.prod." SD ".");
    assert_string_equal(ip_format(&hint.had, had), "10.0.0.1");
    assert_in_range(hint.gone_ms, clock_wall_ms() - 60000, clock_wall_ms());
    /* Its port's name, too; an alias, which is a leaf; the last Service of its namespace */
    assert_int_equal(hint_of(bed, "_http._tcp.web.prod." SD, "").why, MISSING_DELETED);
    bed_del(bed, "local/cluster/svc/prod/billing");
    assert_int_equal(hint_of(bed, "billing.prod." SD, "").why, MISSING_DELETED);
    bed_del(bed, "local/cluster/svc/stage/api/c1");
    const struct missing_hint last = hint_of(bed, "api.stage." SD, "");
    assert_string_equal(dname_to_text(&last.gone, text), "api.stage." SD ".");
    assert_string_equal(dname_to_text(&last.near, text), "api.shop." SD ".");
    /* It is there again */
    bed_add(bed, "local/cluster/svc/prod/web/c2", "{'host':'10.0.0.9'}");
    assert_int_equal(hint_of(bed, "web.prod." SD, "prod").why, MISSING_CREATED);
}

UNIT_TEST_ON(test_aliases, struct pages_bed *bed)
{
    bed_fill(bed, cluster, ARRAY_LEN(cluster));
    expect_hint(bed, "billing.prod." SD, "prod", "target", "billing.example.com.");
    expect_hint(bed, "second.prod." SD, "prod", "target", "billing.example.com.");
}

/* A name that the client may not see is said to be there. */
UNIT_TEST(test_hidden)
{
    CLEANUP(bed_stop) struct pages_bed bed;
    bed_start(&bed, "-schema=kubernetes -visibility=own");
    bed_fill(&bed, cluster, ARRAY_LEN(cluster));
    struct engine_config *config = options_engine_config(&bed.options);
    config->visibility = visibility_new(VISIBILITY_UNKNOWN_PUBLIC, NULL, 0, NULL, 0);
    publisher_configure(bed.publisher, config);
    expect_hint(&bed, "web.prod." SD, "shop", "hidden", "");
    expect_hint(&bed, "web.prod." SD, "prod", "created", "");
}
