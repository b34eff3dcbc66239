/* skydns/records/store_diff.h */
#include "skydns/records/store_diff.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

enum { NAMES = 300 }; /* of one parent: branches of branches */

static struct store_writer *writer;
static struct store_garbage *garbage[2];

static struct dname store_diff_name_of(unsigned i)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "n%u.svc.test.", i);
    struct dname name = dname_from(text);
    return name;
}

static void store_diff_put(unsigned i, const char *host, int64_t revision)
{
    const struct dname name = store_diff_name_of(i);
    const struct record view = {
        .host = slice_str(host), .text = slice_str(""), .group = slice_str("")};
    assert_int_equal(store_writer_put_view(writer, &name, &view, revision), STORE_HOST_IP);
}

struct told {
    unsigned added, removed, changed, most;
    char host[DNAME_TEXT_MAX]; /* of the last record that is new */
};

static bool store_diff_on_difference(void *data, const struct store_record *old_record,
                                     const struct store_record *new_record)
{
    struct told *told = data;
    told->added += !old_record;
    told->removed += !new_record;
    told->changed += old_record && new_record;
    if (new_record) {
        char text[DNAME_TEXT_MAX];
        struct slice host = store_record_host_text(new_record, text);
        (void)snprintf(told->host, sizeof(told->host), "%.*s", (int)host.len,
                       (const char *)host.ptr);
    }
    return told->added + told->removed + told->changed < told->most;
}

static void store_diff_expect(const struct store *a, const struct store *b, unsigned added,
                              unsigned removed, unsigned changed)
{
    struct told told = {.most = UINT32_MAX};
    assert_true(store_diff(a, b, store_diff_on_difference, &told));
    assert_int_equal(told.added, added);
    assert_int_equal(told.removed, removed);
    assert_int_equal(told.changed, changed);
}

static const struct store *store_diff_first(void)
{
    for (unsigned i = 0; i < NAMES; i++) {
        store_diff_put(i, "10.0.0.1", 1);
    }
    return store_writer_commit(writer, 1, &garbage[0]);
}

UNIT_TEST(test_each_kind)
{
    const struct store *a = store_diff_first();
    const struct dname gone = store_diff_name_of(7);
    store_diff_put(NAMES, "10.0.0.1", 2);
    store_diff_put(NAMES + 1, "10.0.0.1", 2);
    store_writer_del(writer, &gone);
    store_diff_put(8, "10.0.0.8", 2);
    store_diff_put(9, "10.0.0.1", 2); /* rewritten as it was */
    const struct store *b = store_writer_commit(writer, 2, &garbage[1]);
    store_diff_expect(a, b, 2, 1, 1);
    store_diff_expect(b, a, 1, 2, 1);
    store_diff_expect(a, a, 0, 0, 0);
}

/* The old record comes first. */
UNIT_TEST(test_order)
{
    struct told told = {.most = UINT32_MAX};
    const struct store *a = store_diff_first();
    store_diff_put(3, "10.0.0.3", 2);
    const struct store *b = store_writer_commit(writer, 2, &garbage[1]);
    assert_true(store_diff(a, b, store_diff_on_difference, &told));
    assert_string_equal(told.host, "10.0.0.3");
    assert_true(store_diff(b, a, store_diff_on_difference, &told));
    assert_string_equal(told.host, "10.0.0.1");
}

/* All nodes are new; what they say is not. */
UNIT_TEST(test_read_again)
{
    const struct store *a = store_diff_first();
    store_writer_clear(writer);
    for (unsigned i = 1; i < NAMES; i++) {
        store_diff_put(i, "10.0.0.1", 3);
    }
    store_diff_put(5, "10.0.0.5", 3);
    const struct store *b = store_writer_commit(writer, 3, &garbage[1]);
    store_diff_expect(a, b, 0, 1, 1);
}

UNIT_TEST(test_all_and_nothing)
{
    const struct store *a = store_diff_first();
    store_writer_clear(writer);
    const struct store *b = store_writer_commit(writer, 2, &garbage[1]);
    store_diff_expect(a, b, 0, NAMES, 0);
    store_diff_expect(b, a, NAMES, 0, 0);
}

UNIT_TEST(test_stops)
{
    struct told told = {.most = 5};
    const struct store *a = store_diff_first();
    store_writer_clear(writer);
    const struct store *b = store_writer_commit(writer, 2, &garbage[1]);
    assert_false(store_diff(a, b, store_diff_on_difference, &told));
    assert_int_equal(told.removed, 5);
}

static int store_diff_setup(void **state)
{
    writer = store_writer_new();
    garbage[0] = garbage[1] = NULL;
    return 0;
}

static int store_diff_teardown(void **state)
{
    store_garbage_free(garbage[0]);
    store_garbage_free(garbage[1]);
    store_writer_free(writer);
    return 0;
}

UNIT_TESTS_EACH(store_diff_setup, store_diff_teardown)
