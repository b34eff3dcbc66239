/* override_index: what it holds after any changes is what it would hold if read anew. */
#include "skydns/records/overrides.h"
#include "skydns/sync/override_index.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

struct bed {
    struct store_writer *writer;
    struct override_index *index;
    const struct store *store; /* the newest version */
    struct store_garbage *old[2048];
    size_t old_count;
    struct dname domain;
    int64_t revision;
};

static void keep_garbage(struct bed *bed, struct store_garbage *garbage)
{
    if (garbage) {
        assert_true(bed->old_count < ARRAY_LEN(bed->old));
        bed->old[bed->old_count++] = garbage;
    }
}

static void commit_all(struct bed *bed)
{
    struct store_garbage *garbage, *of_index;
    if (override_index_is_due(bed->index)) {
        store_writer_touch(bed->writer);
    }
    const struct store *store = store_writer_commit(bed->writer, ++bed->revision, &garbage);
    keep_garbage(bed, garbage);
    if (store != bed->store) {
        store_writer_set_overrides(bed->writer,
                                   override_index_follow(bed->index, bed->store, store, &of_index));
        keep_garbage(bed, of_index);
        bed->store = store;
    }
}

static void set_rule(struct bed *bed, bool is_on, uint32_t ttl_s)
{
    override_index_set(bed->index, &(struct override_index_rule){.is_on = is_on,
                                                                 .ttl_s = ttl_s,
                                                                 .domain_count = 1,
                                                                 .domains = &bed->domain});
}

static void override_index_open_bed(struct bed *bed)
{
    *bed = (struct bed){.writer = store_writer_new(),
                        .index = override_index_new(),
                        .domain = dname_from("cluster.local")};
    set_rule(bed, true, 30);
}

static void override_index_close_bed(struct bed *bed)
{
    for (size_t i = 0; i < bed->old_count; i++) {
        store_garbage_free(bed->old[i]);
    }
    override_index_free(bed->index);
    store_writer_free(bed->writer);
}

UNIT_FIXTURE(struct bed, override_index_open_bed, override_index_close_bed)

static void override_index_put_record(struct bed *bed, const char *text,
                                      const struct record *record)
{
    const struct dname name = dname_from(text);
    (void)store_writer_put_view(bed->writer, &name, record, ++bed->revision);
    override_index_note(bed->index, &name);
}

static void del_name(struct bed *bed, const char *text)
{
    const struct dname name = dname_from(text);
    store_writer_del(bed->writer, &name);
    override_index_note(bed->index, &name);
}

/* How many records the owner has; its only one's, or NULL. */
static size_t override_index_count_of(const struct bed *bed, const char *text,
                                      const struct store_record **ret)
{
    const struct dname name = dname_from(text);
    const struct store *overrides = store_overrides(bed->store);
    struct override_found found;
    *ret = NULL;
    if (!overrides || !overrides_find(overrides, &name, &found)) {
        return 0;
    }
    *ret = store_node_record(found.node) ? store_node_record(found.node)
                                         : store_node_single(found.node);
    return store_visible_count(found.node);
}

UNIT_TEST_ON(test_places, struct bed *bed)
{
    const struct record one = {
        .host = slice_str("10.0.0.1"), .text = slice_str("note"), .targetstrip = 1};
    const struct record three = {.host = slice_str("10.0.0.3"), .ttl_s = 9, .targetstrip = 3};
    const struct record plain = {.text = slice_str("hello")};
    const struct record none = {.targetstrip = 0};
    const struct record far = {.host = slice_str("10.0.0.2"), .targetstrip = 11};
    const struct store_record *record;
    override_index_put_record(bed, "3f2a.www.example.com", &one);
    override_index_put_record(bed, "_c.b.a.deep.example.com", &three);
    override_index_put_record(bed, "txt.example.com", &plain);
    override_index_put_record(bed, "empty.example.com", &none);
    override_index_put_record(bed, "x.a.b.c.d.e.f.g.h.i.j.far.example.com", &far);
    override_index_put_record(bed, "web.cluster.local", &one);
    override_index_put_record(bed, "1.0.0.10.in-addr.arpa", &one);
    commit_all(bed);
    assert_int_equal(override_index_count(bed->index), 3);
    assert_int_equal(override_index_count_of(bed, "www.example.com", &record), 1);
    assert_int_equal(record->ttl_s, 30);
    assert_int_equal(record->lens[RECORD_TEXT], 0); /* beside a host */
    assert_int_equal(record->targetstrip, 0);
    assert_int_equal(override_index_count_of(bed, "deep.example.com", &record), 1);
    assert_int_equal(record->ttl_s, 9);
    assert_int_equal(override_index_count_of(bed, "txt.example.com", &record), 1);
    assert_true(record->lens[RECORD_TEXT] > 0);
}

UNIT_TEST_ON(test_settings, struct bed *bed)
{
    const struct record one = {.host = slice_str("10.0.0.1")};
    const struct store_record *record;
    override_index_put_record(bed, "www.example.com", &one);
    commit_all(bed);
    set_rule(bed, true, 45);
    commit_all(bed);
    assert_int_equal(override_index_count_of(bed, "www.example.com", &record), 1);
    assert_int_equal(record->ttl_s, 45);
    set_rule(bed, false, 45);
    commit_all(bed);
    assert_null(store_overrides(bed->store));
    override_index_put_record(bed, "b.example.com", &one);
    commit_all(bed);
    set_rule(bed, true, 45);
    commit_all(bed);
    assert_int_equal(override_index_count(bed->index), 2);
    bed->domain = dname_from("example.com");
    set_rule(bed, true, 45);
    commit_all(bed);
    assert_int_equal(override_index_count(bed->index), 0);
}

/* Puts, moves and deletes at random; a fresh index of the same records has as many for each. */
UNIT_TEST_ON(test_changes_add_up, struct bed *bed)
{
    enum { NAMES = 24, STEPS = 400 };
    uint32_t random = 1;
    for (unsigned step = 0; step < STEPS; step++) {
        for (unsigned k = 0; k < 3; k++) {
            char name[64];
            random = random * 1664525u + 1013904223u;
            const unsigned n = (random >> 8) % NAMES;
            (void)snprintf(name, sizeof(name), "c%u.b%u.a%u.example.com", n % 3, n % 4, n / 12);
            const struct record record = {.host = slice_str("10.0.0.1"),
                                          .targetstrip = (uint16_t)((random >> 20) % 3)};
            if ((random >> 24) % 4 == 0) {
                del_name(bed, name);
            } else {
                override_index_put_record(bed, name, &record);
            }
        }
        commit_all(bed);
        struct override_index *fresh = override_index_new();
        struct store_garbage *garbage;
        override_index_set(
            fresh, &(struct override_index_rule){
                       .is_on = true, .ttl_s = 30, .domain_count = 1, .domains = &bed->domain});
        (void)override_index_follow(fresh, NULL, bed->store, &garbage);
        store_garbage_free(garbage);
        assert_int_equal(override_index_count(fresh), override_index_count(bed->index));
        assert_int_equal(override_index_count(bed->index), store_writer_count(bed->writer));
        override_index_free(fresh);
    }
}
