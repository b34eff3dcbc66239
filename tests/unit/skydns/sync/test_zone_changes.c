/* At which revision zones changed. */
#include "skydns/sync/zone_changes_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

static void zone_changes_put(struct store_writer *writer, const char *name, const char *host)
{
    const struct dname key = dname_from(name);
    const struct record view = {.host = slice_str(host)};
    (void)store_writer_put_view(writer, &key, &view, 1);
}

UNIT_TEST(test_notes)
{
    const struct dname zones[] = {dname_from("test."), dname_from("sub.test.")};
    const struct dname in_sub = dname_from("a.sub.test."), in_test = dname_from("a.test."),
                       elsewhere = dname_from("a.other.");
    struct zone_changes changes = {.count = 0};
    zone_changes_set(&changes, zones, 2, 5);
    zone_changes_note(&changes, &in_sub, 7);
    zone_changes_note(&changes, &elsewhere, 9);
    assert_int_equal(zone_changes_of(&changes, &zones[0]), 5);
    assert_int_equal(zone_changes_of(&changes, &zones[1]), 7);
    zone_changes_note(&changes, &in_test, 6);
    zone_changes_note(&changes, &in_test, 4); /* of a slower watch */
    assert_int_equal(zone_changes_of(&changes, &zones[0]), 6);
    zone_changes_set(&changes, zones, 1, 20); /* what stays is kept */
    assert_int_equal(zone_changes_of(&changes, &zones[0]), 6);
    assert_int_equal(zone_changes_of(&changes, &zones[1]), 0);
    zone_changes_note_all(&changes, 21);
    assert_int_equal(zone_changes_of(&changes, &zones[0]), 21);
}

UNIT_TEST(test_full_reads)
{
    const struct dname zones[] = {dname_from("test."), dname_from("other.")};
    struct store_writer *writer = store_writer_new();
    struct store_garbage *first, *second;
    struct zone_changes changes = {.count = 0};
    zone_changes_put(writer, "a.test.", "10.0.0.1");
    zone_changes_put(writer, "a.other.", "10.0.0.1");
    const struct store *before = store_writer_commit(writer, 3, &first);
    zone_changes_set(&changes, zones, 2, 0);
    zone_changes_compare(&changes, NULL, before, 3);
    assert_int_equal(zone_changes_of(&changes, &zones[0]), 3);
    store_writer_clear(writer);
    zone_changes_put(writer, "a.test.", "10.0.0.1");
    zone_changes_put(writer, "a.other.", "10.0.0.2");
    const struct store *after = store_writer_commit(writer, 9, &second);
    zone_changes_compare(&changes, before, after, 9);
    assert_int_equal(zone_changes_of(&changes, &zones[0]), 3);
    assert_int_equal(zone_changes_of(&changes, &zones[1]), 9);
    zone_changes_refine(&changes, &zones[0], 2); /* it was read at 3 */
    zone_changes_refine(&changes, &zones[1], 7);
    assert_int_equal(zone_changes_of(&changes, &zones[0]), 2);
    assert_int_equal(zone_changes_of(&changes, &zones[1]), 7);
    zone_changes_refine(&changes, &zones[1], 5); /* that is what is known */
    assert_int_equal(zone_changes_of(&changes, &zones[1]), 7);
    zone_changes_restart(&changes, 4); /* another store, with the same records */
    assert_int_equal(zone_changes_of(&changes, &zones[1]), 4);
    const struct dname name = dname_from("a.other.");
    zone_changes_note(&changes, &name, 6);
    zone_changes_refine(&changes, &zones[0], 3);
    zone_changes_refine(&changes, &zones[1], 3); /* it was watched */
    assert_int_equal(zone_changes_of(&changes, &zones[0]), 3);
    assert_int_equal(zone_changes_of(&changes, &zones[1]), 6);
    store_garbage_free(first);
    store_garbage_free(second);
    store_writer_free(writer);
}

/* The writer tells no changes for a rewritten value or for what a lease has left. */
UNIT_TEST(test_writer)
{
    struct store_writer *writer = store_writer_new();
    const struct dname name = dname_from("a.test.");
    struct record view = {.host = slice_str("10.0.0.1"), .ttl_s = 30};
    (void)store_writer_put_view(writer, &name, &view, 1);
    assert_true(store_writer_has_changed(writer));
    (void)store_writer_put_view(writer, &name, &view, 2);
    assert_false(store_writer_has_changed(writer));
    view.ttl_s = 29;
    (void)store_writer_put_view(writer, &name, &view, 3);
    assert_true(store_writer_has_changed(writer));
    view.is_leased = true;
    (void)store_writer_put_view(writer, &name, &view, 4);
    view.ttl_s = 28;
    (void)store_writer_put_view(writer, &name, &view, 5);
    assert_false(store_writer_has_changed(writer));
    store_writer_del(writer, &name);
    assert_true(store_writer_has_changed(writer));
    store_writer_del(writer, &name);
    assert_false(store_writer_has_changed(writer));
    store_writer_free(writer);
}
