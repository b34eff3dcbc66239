/* A store filled in one pass against one filled record by record: they are the same to the last
 * count, and stay so under any changes. And what the loader refuses. */
#include "common/base/seeded_hash.h"
#include "skydns/records/store_loader.h"
#include "skydns/records/store_node_internal.h"
#include "skydns/records/store_ready.h"
#include "tests/support/from_text.h"
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/records.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

/* ---- Equal stores ---- */

static void compare_records(const struct store_record *a, const struct store_record *b)
{
    assert_int_equal(a != NULL, b != NULL);
    if (a) {
        assert_true(store_record_equal(a, b));
        assert_int_equal(a->known_s, b->known_s);
        assert_int_equal(a->generation, b->generation);
        assert_int_equal(a->has_escapes, b->has_escapes);
    }
}

static void compare_ready(const struct store_ready *a, const struct store_ready *b)
{
    assert_memory_equal(a, b, offsetof(struct store_ready, bytes));
    if (a->kind == STORE_READY_ADDRESSES) {
        assert_memory_equal(a->bytes, b->bytes, a->count[0] * 4u + a->count[1] * 16u);
    }
    for (unsigned i = 0; a->kind == STORE_READY_TARGETS && i < a->count[0]; i++) {
        compare_records(a->records[i], b->records[i]);
    }
}

static void compare_nodes(const struct store_node *a, const struct store_node *b);

static void compare_slots(const struct store_node *parent, uintptr_t a, uintptr_t b, unsigned level)
{
    assert_int_equal(label_map_is_branch(a), label_map_is_branch(b));
    if (!label_map_is_branch(a)) {
        assert_int_equal(a != 0, b != 0);
        if (a) {
            compare_nodes(label_map_as_node(a), label_map_as_node(b));
        }
        return;
    }
    const struct label_branch *one = label_map_as_branch(a), *other = label_map_as_branch(b);
    assert_true(one->used == other->used);
    assert_memory_equal(&one->tally, &other->tally, sizeof(one->tally));
    for (unsigned i = 0; i < label_map_slot_count(one, level); i++) {
        if (level < LABEL_MAP_LEVELS) {
            compare_slots(parent, one->slots[i], other->slots[i], level + 1);
        } else { /* a list has no order */
            const struct store_node *node = label_map_as_node(one->slots[i]);
            compare_nodes(
                node, label_map_find(parent->children, node->hash, store_node_label_slice(node)));
        }
    }
}

static void compare_nodes(const struct store_node *a, const struct store_node *b)
{
    assert_non_null(b);
    assert_true(slice_equal(store_node_label_slice(a), store_node_label_slice(b)));
    assert_int_equal(a->hash, b->hash);
    assert_int_equal(a->visible, b->visible);
    assert_int_equal(a->has, b->has);
    if (a->has == STORE_NODE_READY) {
        compare_ready(a->ready, b->ready);
    } else {
        compare_records(a->record, b->record);
    }
    compare_slots(b, a->children.slot, b->children.slot, 0);
}

static void compare_order(const struct store *a, const struct store *b)
{
    const struct store_record *r = store_next(a, NULL), *s = store_next(b, NULL);
    while (r) {
        struct dname name;
        assert_non_null(s);
        compare_records(r, s);
        store_record_name(r, &name);
        r = store_next(a, &name);
        s = store_next(b, &name);
    }
    assert_null(s);
}

static void compare_stores(const struct store *a, const struct store *b)
{
    compare_nodes(store_root(a), store_root(b));
    compare_order(a, b);
}

/* ---- Loading ---- */

static size_t shared_end(const struct dname *a, const struct dname *b)
{
    struct dname_labels labels, others;
    dname_labels(a, &labels);
    dname_labels(b, &others);
    size_t shared = 1;
    for (unsigned i = labels.count, k = others.count; i > 0 && k > 0; i--, k--) {
        struct slice label = dname_label(a, labels.offsets[i - 1]);
        if (!slice_equal(label, dname_label(b, others.offsets[k - 1]))) {
            break;
        }
        shared += 1 + label.len;
    }
    return shared;
}

struct loading {
    struct store_loader *loader;
    struct dname last;
    size_t count;
};

static bool load_record(void *data, const struct store_record *record)
{
    struct loading *loading = data;
    struct store_saved saved = store_record_saved(record);
    struct dname name;
    store_record_name(record, &name);
    assert_true(
        store_loader_put(loading->loader, &name, shared_end(&loading->last, &name), &saved));
    loading->last = name;
    loading->count++;
    return true;
}

static struct store_writer *loaded_from(const struct store *store, size_t count)
{
    struct loading loading = {.loader = store_loader_new(), .last = {.len = 1}};
    assert_true(store_each_record(store, load_record, &loading));
    assert_int_equal(loading.count, count);
    struct store_writer *writer = store_loader_end(loading.loader);
    assert_non_null(writer);
    assert_int_equal(store_writer_count(writer), count);
    return writer;
}

static const struct store *store_loader_commit(struct store_writer *writer, int64_t revision)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(writer, revision, &garbage);
    store_garbage_free(garbage);
    return store;
}

/* ---- Random trees ---- */

enum { SEEDS = 30, COMMITS = 40, CHANGES_MAX = 8, RECORDS_MAX = 2000 };
enum { REVISIONS = RECORDS_MAX + COMMITS * (CHANGES_MAX + 1) };

static const char *const labels[] = {"a", "B", "b", "_tcp", "_http", "web", "x1", "x2"};
static const char *const hosts[] = {"10.0.0.1", "10.0.0.2", "FD00::1", "fd00::2",
                                    "a.test.",  "A.b.test", "",        "a..b"};
static const char *const texts[] = {"", "text", "two\\032words\\", "\\\\"};

static struct dname store_loader_random_name(void)
{
    unsigned depth = random_below(50) == 0   ? 0
                     : random_below(50) == 0 ? DNAME_LABELS_MAX
                                             : 1 + random_below(5);
    struct dname name = {.len = 1};
    while (depth-- > 0) {
        char text[16];
        unsigned n = random_below(ARRAY_LEN(labels) + 2);
        if (n >= ARRAY_LEN(labels)) { /* a name with many children */
            (void)snprintf(text, sizeof(text), "label-%u", random_below(400));
        }
        if (!dname_prepend(&name, slice_str(n < ARRAY_LEN(labels) ? labels[n] : text))) {
            break;
        }
    }
    return name;
}

static void random_put(struct store_writer *writers[2], int64_t revision)
{
    struct dname name = store_loader_random_name();
    struct record record = {
        .host = slice_str(hosts[random_below(ARRAY_LEN(hosts))]),
        .text = slice_str(texts[random_below(4) == 0 ? random_below(ARRAY_LEN(texts)) : 0]),
        .group = slice_str(random_below(9) == 0 ? "group" : ""),
        .ttl_s = random_below(5) * 30,
        .port = (uint16_t)random_below(3),
        .priority = (uint16_t)(random_below(8) == 0 ? 0 : 10),
        .weight = (uint16_t)(random_below(2) * 10),
        .targetstrip = random_below(9) == 0,
        .mail = random_below(5) == 0,
    };
    for (unsigned i = 0; i < 2 && writers[i]; i++) {
        (void)store_writer_put_view(writers[i], &name, &record, revision);
    }
}

/* Sets the TTL, whatever revision the record has. */
static void set_ttl(struct store_writer *writer, const struct dname *name, uint32_t ttl_s)
{
    bool is_changed, is_found = false;
    for (int64_t revision = 1; revision <= REVISIONS && !is_found; revision++) {
        is_found = store_writer_set_ttl(writer, name, revision, ttl_s, &is_changed);
    }
}

static void random_change(struct store_writer *writers[2], int64_t revision)
{
    struct dname name;
    uint32_t what = random_below(4);
    if (what > 1) {
        random_put(writers, revision);
        return;
    }
    name = store_loader_random_name();
    for (unsigned i = 0; i < 2; i++) {
        if (what == 0) {
            store_writer_del(writers[i], &name);
        } else {
            set_ttl(writers[i], &name, 1 + (uint32_t)revision % 5);
        }
    }
}

/* Everything is read again: most is as it was, some is new, the rest goes. */
static void store_loader_read_again(struct store_writer *writers[2], const struct store *store,
                                    int64_t revision)
{
    store_writer_clear(writers[0]);
    store_writer_clear(writers[1]);
    for (const struct store_record *r = store_next(store, NULL); r;) {
        char text[DNAME_TEXT_MAX];
        struct dname name;
        struct record view = {
            .host = store_record_host_text(r, text),
            .text = store_record_string(r, RECORD_TEXT),
            .group = store_record_string(r, RECORD_GROUP),
            .ttl_s = r->ttl_s,
            .port = r->port,
            .priority = r->priority,
            .weight = r->weight,
            .targetstrip = r->targetstrip,
            .mail = r->mail,
        };
        store_record_name(r, &name);
        for (unsigned i = 0; i < 2 && r->mod_revision % 8 != 0; i++) {
            (void)store_writer_put_view(writers[i], &name, &view, r->mod_revision);
        }
        r = store_next(store, &name);
    }
    random_put(writers, revision);
}

/* The loaded one as it is, with changes before its first commit, and ever after. */
UNIT_TEST(test_loaded_is_as_written)
{
    test_clock_stop(); /* both know of a change at the same time, and of each at another */
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct store_writer *writers[2] = {store_writer_new()};
        int64_t revision = 0;
        random_state = seed;
        print_message("seed %llu\n", (unsigned long long)seed);
        uint32_t sizes[] = {0, 1, 2, 10, 100, RECORDS_MAX};
        uint32_t size = sizes[seed % ARRAY_LEN(sizes)];
        while (revision < size) {
            random_put(writers, ++revision);
        }
        const struct store *written = store_loader_commit(writers[0], revision);
        writers[1] = loaded_from(written, store_writer_count(writers[0]));
        for (unsigned i = 0; i < COMMITS; i++) {
            /* The first time also none, or everything is read again. */
            uint32_t changes = i > 0 || seed % 3 > 0 ? 1 + random_below(CHANGES_MAX) : 0;
            for (; changes > 0; changes--) {
                test_clock_advance_ms(1000);
                random_change(writers, ++revision);
            }
            if (i % 16 == 15 || (i == 0 && seed % 3 == 2)) {
                store_loader_read_again(writers, written, ++revision);
            }
            written = store_loader_commit(writers[0], revision);
            compare_stores(written, store_loader_commit(writers[1], revision));
            assert_int_equal(store_writer_count(writers[1]), store_writer_count(writers[0]));
        }
        store_writer_free(writers[0]);
        store_writer_free(writers[1]);
    }
    test_clock_run();
}

/* ---- Equal hashes ---- */

struct hashed {
    uint32_t hash;
    uint32_t number;
};

static int compare_hashed(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* About ten pairs among 300,000 labels have equal hashes; none once in 30,000 runs. */
UNIT_TEST(test_equal_hashes)
{
    enum { LABELS = 300000 };
    CLEANUP_FREE struct hashed *all = xmalloc(LABELS * sizeof(all[0]));
    struct store_writer *writer = store_writer_new();
    char text[16];
    unsigned pairs = 0;
    for (uint32_t i = 0; i < LABELS; i++) {
        (void)snprintf(text, sizeof(text), "n%u", i);
        all[i] = (struct hashed){seeded_hash(slice_str(text)), i};
    }
    qsort(all, LABELS, sizeof(all[0]), compare_hashed);
    for (uint32_t i = 1; i < LABELS; i++) {
        pairs += all[i].hash == all[i - 1].hash;
        for (uint32_t k = i - 1; k <= i && all[i].hash == all[i - 1].hash; k++) {
            (void)snprintf(text, sizeof(text), "n%u", all[k].number);
            struct dname name = dname_from(text);
            struct record record = {.host = slice_str(hosts[k % 3]), .ttl_s = 30};
            (void)store_writer_put_view(writer, &name, &record, k);
        }
    }
    assert_true(pairs > 0);
    const struct store *written = store_loader_commit(writer, 1);
    struct store_writer *loaded = loaded_from(written, store_writer_count(writer));
    compare_stores(written, store_loader_commit(loaded, 1));
    store_writer_free(writer);
    store_writer_free(loaded);
}

/* ---- Refused ---- */

static struct store_saved plain_record(void)
{
    return (struct store_saved){
        .record.ttl_s = 30, .host = STORE_HOST_IP, .host_bytes = slice_of("\x0a\0\0\1", 4)};
}

UNIT_TEST(test_refuses_names)
{
    enum { PUTS = 6 };
    static const struct {
        const char *what, *names[PUTS];
        size_t shared; /* the last name says so; 0: as many as there are */
        bool is_end;   /* all puts are fine, the end is not */
    } cases[] = {
        {"twice", {"a.b", "a.b"}, 0, false},
        {"above", {"a.b", "b"}, 0, false},
        {"the root twice", {".", "."}, 0, false},
        {"the root later", {"a", "."}, 0, false},
        {"shared with none", {"a"}, 3, false},
        {"shared beyond both", {"a.b", "c.b"}, 9, false},
        {"shared beyond the name", {"aa.b", "a.b"}, 6, false},
        {"shared not equal", {"a.b", "c.d"}, 3, false},
        {"shared within a label of both", {"ab.c", "xb.c"}, 4, false},
        {"shared within a label of the last", {"\\002ab.c", "x.ab.c"}, 6, false},
        {"shared within a label of this", {"b.c", "\\001b.c"}, 5, false},
        {"shared less than there is", {"a.b", "c.b"}, 1, true},
        {"apart", {"a.b", "c", "d.b"}, 0, true},
        {"apart, below", {"a.b.c", "a.d.c", "x.b.c", "e"}, 0, false},
        {"apart twice", {"b", "c", "b", "d", "c"}, 0, true},
        {"apart with a record", {"b", "c", "a.b"}, 0, true},
    };
    struct store_saved record = plain_record();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_loader *loader = store_loader_new();
        struct dname last = {.len = 1};
        print_message("%s\n", cases[i].what);
        for (unsigned k = 0; k < PUTS && cases[i].names[k]; k++) {
            bool is_last = k + 1 == PUTS || !cases[i].names[k + 1];
            struct dname name = dname_from(cases[i].names[k]);
            size_t shared = is_last && cases[i].shared ? cases[i].shared : shared_end(&last, &name);
            assert_int_equal(store_loader_put(loader, &name, shared, &record),
                             !is_last || cases[i].is_end);
            last = name;
        }
        if (cases[i].is_end) {
            assert_null(store_loader_end(loader));
        } else {
            store_loader_free(loader);
        }
    }
}

UNIT_TEST(test_refuses_bad_names)
{
    static const struct slice wires[] = {
        {"", 0},         {"\1", 1},    {"\1a", 2},           {"\2a", 3},  {"\300\14", 3},
        {"\1a\0\1b", 6}, {"\0\1b", 4}, {"\100aaaaaaaa", 10}, {"\5ab", 4}, {"\1a\1b\1c\7", 8},
    };
    struct store_saved record = plain_record();
    for (size_t i = 0; i < ARRAY_LEN(wires); i++) {
        struct store_loader *loader = store_loader_new();
        struct dname name = {.len = (uint8_t)wires[i].len};
        memcpy(name.wire, wires[i].ptr, wires[i].len);
        assert_false(store_loader_put(loader, &name, 1, &record));
        store_loader_free(loader);
    }
}

UNIT_TEST(test_refuses_records)
{
    static char long_text[UINT16_MAX + 2];
    memset(long_text, 'x', sizeof(long_text) - 1);
    const struct slice too_long = slice_of(long_text, UINT16_MAX + 1);
    const struct slice longest = slice_of(long_text, UINT16_MAX), one = slice_of("x", 1);
    const struct {
        bool is_fine;
        struct store_saved saved;
    } cases[] = {
        {true, {.host = STORE_HOST_NONE}},
        {false, {.host = STORE_HOST_NONE, .host_bytes = one}},
        {false, {.host = STORE_HOST_NONE, .record.host = one}},
        {true, {.host = STORE_HOST_IP, .host_bytes = slice_of("\1\2\3\4", 4)}},
        {false, {.host = STORE_HOST_IP, .host_bytes = slice_of("\1\2\3\4\5", 5)}},
        {true, {.host = STORE_HOST_IP, .host_bytes = slice_of(long_text, 16)}},
        {false, {.host = STORE_HOST_IP, .host_bytes = slice_of(long_text, 260)}},
        {false, {.host = STORE_HOST_IP}},
        {true, {.host = STORE_HOST_NAME, .host_bytes = slice_of("\1A", 3)}},
        {true, {.host = STORE_HOST_NAME, .host_bytes = slice_of("", 1)}},
        {false, {.host = STORE_HOST_NAME}},
        {false, {.host = STORE_HOST_NAME, .host_bytes = slice_of("\1a", 2)}},
        {false, {.host = STORE_HOST_NAME, .host_bytes = slice_of("\1a\0\0", 4)}},
        {false, {.host = STORE_HOST_NAME, .host_bytes = slice_of("\300\0", 3)}},
        {false, {.host = STORE_HOST_NAME, .host_bytes = slice_of("\3ab", 4)}},
        {false, {.host = STORE_HOST_NAME, .host_bytes = longest}},
        {true, {.host = STORE_HOST_BAD, .record.host = one}},
        {false, {.host = STORE_HOST_BAD}},
        {false, {.host = STORE_HOST_BAD, .record.host = one, .host_bytes = one}},
        {false, {.host = STORE_HOST_BAD + 1}},
        {false, {.host = 255}},
        {true, {.record = {.text = longest, .group = longest}}},
        {false, {.record.text = too_long}},
        {false, {.record.group = too_long}},
        {false, {.host = STORE_HOST_BAD, .record.host = too_long}},
        {true, {.record.ttl_s = INT32_MAX}},
        {false, {.record.ttl_s = (uint32_t)INT32_MAX + 1}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_loader *loader = store_loader_new();
        struct dname name = dname_from("a.b");
        print_message("%zu\n", i);
        assert_int_equal(store_loader_put(loader, &name, 1, &cases[i].saved), cases[i].is_fine);
        store_loader_free(loader);
    }
}

/* A wire name of 256 bytes, each of its labels valid. */
UNIT_TEST(test_refuses_a_long_host)
{
    char wire[DNAME_MAX + 1];
    struct store_loader *loader = store_loader_new();
    struct dname name = dname_from("a");
    memset(wire, 1, sizeof(wire));
    wire[0] = 2;
    wire[DNAME_MAX] = 0;
    struct store_saved saved = {.host = STORE_HOST_NAME, .host_bytes = slice_of(wire, 256)};
    assert_false(store_loader_put(loader, &name, 1, &saved));
    wire[0] = 1;
    saved.host_bytes = slice_of(wire + 1, 255);
    assert_true(store_loader_put(loader, &name, 1, &saved));
    store_loader_free(loader);
    store_loader_free(NULL);
}

/* The whole file names one name: found at once, not by comparing each with each. */
UNIT_TEST(test_one_name_over_and_over)
{
    enum { TIMES = 200000 };
    struct store_loader *loader = store_loader_new();
    struct store_saved record = plain_record();
    struct dname names[] = {dname_from("a"), dname_from("b")};
    for (unsigned i = 0; i < TIMES; i++) {
        assert_true(store_loader_put(loader, &names[i % 2], 1, &record));
    }
    assert_null(store_loader_end(loader));
}

static bool store_loader_stop_at_third(void *data, const struct store_record *record)
{
    return ++*(unsigned *)data < 3;
}

UNIT_TEST(test_each_stops)
{
    struct store_writer *writers[2] = {store_writer_new()};
    unsigned count = 0;
    for (unsigned i = 0; i < 100; i++) {
        random_put(writers, i);
    }
    assert_false(
        store_each_record(store_loader_commit(writers[0], 1), store_loader_stop_at_third, &count));
    assert_int_equal(count, 3);
    store_writer_free(writers[0]);
}

/* A start that stops before it publishes. */
UNIT_TEST(test_freed_without_a_version)
{
    struct store_writer *writers[2] = {store_writer_new()};
    random_state = 1;
    for (unsigned i = 0; i < 100; i++) {
        random_put(writers, i);
    }
    writers[1] = loaded_from(store_loader_commit(writers[0], 1), store_writer_count(writers[0]));
    for (unsigned i = 0; i < 100; i++) {
        random_change(writers, i);
    }
    store_writer_free(writers[0]);
    store_writer_free(writers[1]);
}

/* The first commit publishes, also nothing; the second has nothing to publish. */
UNIT_TEST(test_first_commit)
{
    struct store_garbage *garbage;
    struct store_writer *writer = store_loader_end(store_loader_new());
    const struct store *store = store_writer_commit(writer, 7, &garbage);
    assert_null(garbage);
    assert_int_equal(store_revision(store), 7);
    assert_null(store_next(store, NULL));
    assert_ptr_equal(store_writer_commit(writer, 8, &garbage), store);
    store_writer_free(writer);
}
