/* overrides: which owner answers a name (RFC 4592). */
#include "skydns/records/overrides.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

/* A record of the owner, in the place that the index gives it. */
static void put_owner(struct store_writer *writer, const char *owner, const char *stripped)
{
    struct dname place = dname_from(owner);
    const struct record record = {.host = slice_str("10.0.0.1"), .ttl_s = 30};
    assert_true(dname_prepend(&place, slice_of(OVERRIDE_MARK, 1)));
    assert_true(!*stripped || dname_prepend(&place, slice_str(stripped)));
    assert_int_equal(store_writer_put_view(writer, &place, &record, 1), STORE_HOST_IP);
}

UNIT_TEST(test_owners)
{
    static const struct {
        const char *name, *owner; /* NULL: none */
    } cases[] = {
        {"www.example.com", "www.example.com"},
        {"example.com", NULL}, /* above owners */
        {"com", NULL},
        {".", NULL},
        {"x.www.example.com", NULL}, /* below one */
        {"x.apps.example.com", "*.apps.example.com"},
        {"y.x.apps.example.com", "*.apps.example.com"},
        {"*.apps.example.com", "*.apps.example.com"},
        {"apps.example.com", NULL}, /* the wildcard is about names below */
        {"own.apps.example.com", "own.apps.example.com"},
        {"x.own.apps.example.com", NULL}, /* own is the closest encloser */
        {"b.apps.example.com", NULL},     /* exists: a.b is below */
        {"x.b.apps.example.com", NULL},
        {"a.b.apps.example.com", "a.b.apps.example.com"},
        {"other.com", "*.com"},
        {"x.other.com", "*.com"},
        {"\\001.www.example.com", NULL}, /* no name has the mark */
        {"3f2a.\\001.www.example.com", NULL},
        {"org", NULL},
    };
    struct store_writer *writer = store_writer_new();
    struct store_garbage *garbage;
    put_owner(writer, "www.example.com", "3f2a");
    put_owner(writer, "www.example.com", "9c1b");
    put_owner(writer, "*.apps.example.com", "");
    put_owner(writer, "own.apps.example.com", "");
    put_owner(writer, "a.b.apps.example.com", "");
    put_owner(writer, "*.com", "x");
    const struct store *store = store_writer_commit(writer, 1, &garbage);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct dname name = dname_from(cases[i].name);
        struct override_found found;
        const bool is_found = overrides_find(store, &name, &found);
        assert_that(is_found == (cases[i].owner != NULL), "%s: found: %d", cases[i].name, is_found);
        if (is_found) {
            const struct dname right = dname_from(cases[i].owner);
            struct dname place;
            assert_true(overrides_place(&found, &name, &place));
            struct dname owner = place;
            dname_strip(&owner, 1);
            assert_true(dname_equal(&owner, &right));
            assert_int_equal(found.labels, dname_label_count(&right));
            assert_int_equal(found.is_wildcard,
                             cases[i].owner[0] == '*' && !dname_equal(&name, &right));
            assert_ptr_equal(found.node, store_find(store, &place));
        }
    }
    store_garbage_free(garbage);
    store_writer_free(writer);
}

/* An owner of the longest name has no room for the mark: nothing else is found instead. */
UNIT_TEST(test_long_names)
{
    struct store_writer *writer = store_writer_new();
    struct store_garbage *garbage;
    struct dname name = dname_from("com");
    struct override_found found;
    while (dname_prepend(&name, slice_str("a"))) {
    }
    put_owner(writer, "*.com", "");
    const struct store *store = store_writer_commit(writer, 1, &garbage);
    assert_true(overrides_find(store, &name, &found));
    assert_true(found.is_wildcard);
    store_garbage_free(garbage);
    store_writer_free(writer);
}
