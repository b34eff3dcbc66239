/* explain: what names a Service, and which names somebody may have meant. */
#include "kube2sky/explain.h"
#include "kube2sky/naming/inventory.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/objects.h"

UNIT_TEST(test_parse)
{
    static const struct {
        const char *text;
        const char *id; /* NULL: rejected */
    } cases[] = {
        {"default/web", "default/web"},
        {"Default/WEB", "default/web"},
        {"a/b.c_d", "a/b.c_d"},
        {"", NULL},
        {"web", NULL},
        {"/web", NULL},
        {"default/", NULL},
        {"a/b/c", NULL},
        {"a b/c", NULL},
        {"a/\x1b[31m", NULL},
        {"a/\xc3\xa9", NULL},
        {"a/b\n", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char id[EXPLAIN_ID_MAX + 1] = "?";
        bool ok = explain_parse(cases[i].text, id);
        assert_int_equal(ok, cases[i].id != NULL);
        if (ok) {
            assert_string_equal(id, cases[i].id);
        }
    }
}

UNIT_TEST(test_parse_lengths)
{
    char id[EXPLAIN_ID_MAX + 1], text[EXPLAIN_ID_MAX + 2];
    memset(text, 'a', sizeof(text));
    text[EXPLAIN_PART_MAX] = '/';
    text[EXPLAIN_ID_MAX] = '\0';
    assert_true(explain_parse(text, id));
    assert_string_equal(id, text);
    text[EXPLAIN_ID_MAX] = 'a';
    text[EXPLAIN_ID_MAX + 1] = '\0';
    assert_false(explain_parse(text, id));
}

static void explain_ignore_change(void *data UNUSED, struct slice owner UNUSED)
{
}

UNIT_TEST(test_near)
{
    static const struct {
        const char *id;
        const char *near[EXPLAIN_NEAR_MAX + 1]; /* nearest first */
    } cases[] = {
        {"default/fronted", {"default/frontend"}},
        {"default/fronetnd", {"default/frontend"}},
        {"team/frontend", {"default/frontend"}},
        {"defualt/frontend", {"default/frontend"}},
        {"defualt/fronted", {"default/frontend"}},
        {"team/web", {"default/web"}},
        {"default/wep", {"default/web"}},
        {"default/xyz", {NULL}},
        {"team/xyz", {NULL}},
    };
    static const char *const names[] = {"frontend", "web", "database"};
    struct inventory *inventory =
        inventory_new(&(struct inventory_config){.changed = explain_ignore_change});
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        inventory_upsert(inventory,
                         service_from("default", names[i], "\"clusterIP\":\"10.0.0.1\""));
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char near[EXPLAIN_NEAR_MAX][EXPLAIN_ID_MAX + 1];
        size_t count = kube2sky_explain_near(inventory, cases[i].id, near);
        for (size_t j = 0; j < count; j++) {
            assert_non_null(cases[i].near[j]);
            assert_string_equal(near[j], cases[i].near[j]);
        }
        assert_null(cases[i].near[count]);
    }
    inventory_free(inventory);
}

/* More than are suggested: the nearest ones remain. */
UNIT_TEST(test_many_near)
{
    char near[EXPLAIN_NEAR_MAX][EXPLAIN_ID_MAX + 1], ns[] = "team-a";
    struct inventory *inventory =
        inventory_new(&(struct inventory_config){.changed = explain_ignore_change});
    for (char c = 'a'; c < 'a' + 2 * EXPLAIN_NEAR_MAX; c++) {
        ns[5] = c;
        inventory_upsert(inventory, service_from(ns, "web", "\"clusterIP\":\"10.0.0.1\""));
        inventory_upsert(inventory, service_from(ns, "wab", "\"clusterIP\":\"10.0.0.1\""));
    }
    inventory_upsert(inventory, service_from("other", "web", "\"clusterIP\":\"10.0.0.1\""));
    assert_int_equal(kube2sky_explain_near(inventory, "team-z/web", near), EXPLAIN_NEAR_MAX);
    for (size_t i = 0; i < EXPLAIN_NEAR_MAX; i++) {
        assert_memory_equal(near[i], "team-", 5);
        assert_string_equal(near[i] + 6, "/web");
    }
    inventory_free(inventory);
}
