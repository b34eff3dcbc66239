/* explain_near_names: which names are close enough to suggest. */
#include "skydns/pages/explain.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

enum { TEXT_MAX = 1024 };

static int explain_near_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether a record is at or below the name: as good as an answer here. */
static bool explain_near_exists(void *data, const struct dname *name)
{
    const struct fixture *f = data;
    return store_find(f->store, name) != NULL;
}

/* The names near this one, sorted and separated by spaces; children have no particular order. */
static const char *near_text(struct fixture *f, const char *text, char out[TEXT_MAX])
{
    static char texts[EXPLAIN_NEAR_MAX][DNAME_TEXT_MAX];
    char *sorted[EXPLAIN_NEAR_MAX];
    struct dname near[EXPLAIN_NEAR_MAX];
    struct dname name = dname_from(text);
    const struct explain_near_case c = {.store = f->store,
                                        .config = &f->config,
                                        .name = &name,
                                        .resolves = explain_near_exists,
                                        .data = f};
    size_t count = explain_near_names(&c, near);
    assert_in_range(count, 0, EXPLAIN_NEAR_MAX);
    for (size_t i = 0; i < count; i++) {
        (void)dname_to_text(&near[i], texts[i]);
        sorted[i] = texts[i];
    }
    qsort(sorted, count, sizeof(sorted[0]), explain_near_compare);
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(out + used, TEXT_MAX - used, "%s%s", i ? " " : "", sorted[i]);
    }
    return out;
}

UNIT_TEST(test_near)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/svc/default/web/a", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/default/frontend/a", "{'host':'10.0.0.2'}"},
        {"local/cluster/svc/default/db/a", "{'host':'10.0.0.3'}"},
        {"local/cluster/svc/other/db/a", "{'host':'10.0.0.4'}"},
        {"local/cluster/svc/third/cache/a", "{'host':'10.0.0.5'}"},
    };
    static const struct {
        const char *name, *near;
    } rows[] = {
        /* One slip: a letter replaced, missing or extra; two letters swapped */
        {"wab.default.svc.cluster.local", "web.default.svc.cluster.local."},
        {"we.default.svc.cluster.local", "web.default.svc.cluster.local."},
        {"webb.default.svc.cluster.local", "web.default.svc.cluster.local."},
        {"wbe.default.svc.cluster.local", "web.default.svc.cluster.local."},
        /* Two slips are too many in a short word, not in a long one */
        {"wabb.default.svc.cluster.local", ""},
        {"fruntent.default.svc.cluster.local", "frontend.default.svc.cluster.local."},
        {"fruntant.default.svc.cluster.local", ""},
        /* Two labels at most */
        {"web.defualt.svc.cluster.local", "web.default.svc.cluster.local."},
        {"web.default.scv.cluster.local", "web.default.svc.cluster.local."},
        {"a.wbe.default.svc.cluster.local", "a.web.default.svc.cluster.local."},
        {"wbe.defualt.svc.cluster.local", "web.default.svc.cluster.local."},
        {"wbe.defualt.scv.cluster.local", ""},
        {"c.web.default.svc.cluster.local", "a.web.default.svc.cluster.local."},
        /* The domain mistyped, cut off, or appended twice */
        {"web.default.svc.cluster.locl", "web.default.svc.cluster.local."},
        {"web.default.svc.clustr.local", "web.default.svc.cluster.local."},
        {"wbe.default.svc.clustr.local", "web.default.svc.cluster.local."},
        {"web.default.clustr.local", "web.default.svc.cluster.local."},
        {"web.default.svc.cluster", "web.default.svc.cluster.local."},
        {"web.default.svc", "web.default.svc.cluster.local."},
        {"web.default", "web.default.svc.cluster.local."},
        {"wbe.default", ""},
        {"www.example.com", ""},
        {"web.default.svc.cluster.local.cluster.local", "web.default.svc.cluster.local."},
        {"web.default.svc.cluster.local.default.svc.cluster.local",
         "web.default.svc.cluster.local."},
        /* In another order */
        {"web.svc.default.cluster.local", "web.default.svc.cluster.local."},
        /* In other namespaces, never two levels away */
        {"cache.default.svc.cluster.local", "cache.third.svc.cluster.local."},
        {"db.third.svc.cluster.local", "db.default.svc.cluster.local. db.other.svc.cluster.local."},
        {"default.cluster.local", "default.svc.cluster.local."},
        /* Without svc */
        {"web.default.cluster.local", "web.default.svc.cluster.local."},
        {"nothing.alike.cluster.local", ""},
        /* Never the name itself */
        {"web.default.svc.cluster.local", ""},
    };
    struct fixture *f = fixture_new(keys, ARRAY_LEN(keys));
    char text[TEXT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_that(strcmp(near_text(f, rows[i].name, text), rows[i].near) == 0,
                    "%s: `%s`, expected `%s`", rows[i].name, text, rows[i].near);
    }
    fixture_free(f);
}

/* Among many names it suggests five, all different. */
UNIT_TEST(test_many)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/web1", "{'host':'10.0.0.1'}"},
        {"local/cluster/web2", "{'host':'10.0.0.2'}"},
        {"local/cluster/web3", "{'host':'10.0.0.3'}"},
        {"local/cluster/web4", "{'host':'10.0.0.4'}"},
        {"local/cluster/web5", "{'host':'10.0.0.5'}"},
        {"local/cluster/web6", "{'host':'10.0.0.6'}"},
        {"local/cluster/web7", "{'host':'10.0.0.7'}"},
    };
    struct fixture *f = fixture_new(keys, ARRAY_LEN(keys));
    char text[TEXT_MAX], *rest = NULL, *before = NULL;
    unsigned count = 0;
    (void)near_text(f, "web.cluster.local", text);
    for (char *name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        assert_int_equal(strncmp(name, "web", 3), 0);
        assert_true(!before || strcmp(before, name) < 0);
        before = name;
        count++;
    }
    assert_int_equal(count, EXPLAIN_NEAR_MAX);
    fixture_free(f);
}

/* The likeliest come first, and each kind of mistake has a place. */
UNIT_TEST(test_order)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/svc/a/service-1", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/a/service-22", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/a/service-23", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/a/service-24", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/a/service-25", "{'host':'10.0.0.1'}"},
        {"local/cluster/svc/other/servce-1", "{'host':'10.0.0.1'}"},
    };
    struct fixture *f = fixture_new(keys, ARRAY_LEN(keys));
    struct dname near[EXPLAIN_NEAR_MAX];
    struct dname name = dname_from("servce-1.a.svc.cluster.local");
    const struct dname first = dname_from("service-1.a.svc.cluster.local"),
                       second = dname_from("servce-1.other.svc.cluster.local");
    const struct explain_near_case c = {.store = f->store,
                                        .config = &f->config,
                                        .name = &name,
                                        .resolves = explain_near_exists,
                                        .data = f};
    assert_true(explain_near_names(&c, near) >= 2);
    assert_true(dname_equal(&near[0], &first));
    assert_true(dname_equal(&near[1], &second));
    fixture_free(f);
}

/* Asks about no more names than it says. */
static bool counts_only(void *data, const struct dname *name)
{
    ++*(unsigned *)data;
    return false;
}

UNIT_TEST(test_bounds)
{
    enum { KEYS = 200, TRIED_MAX = 32 };
    static char paths[KEYS][40];
    struct fixture_key keys[KEYS];
    unsigned tried = 0;
    struct dname near[EXPLAIN_NEAR_MAX];
    for (unsigned i = 0; i < KEYS; i++) {
        assert_in_range(snprintf(paths[i], sizeof(paths[i]), "local/cluster/service%03u", i), 1,
                        sizeof(paths[i]) - 1);
        keys[i] = (struct fixture_key){paths[i], "{'host':'10.0.0.1'}"};
    }
    struct fixture *f = fixture_new(keys, KEYS);
    struct dname name = dname_from("service.cluster.local");
    const struct explain_near_case c = {.store = f->store,
                                        .config = &f->config,
                                        .name = &name,
                                        .resolves = counts_only,
                                        .data = &tried};
    name = dname_from("service0000.cluster.local");
    assert_int_equal(explain_near_names(&c, near), 0);
    assert_int_equal(tried, TRIED_MAX);
    fixture_free(f);
}
