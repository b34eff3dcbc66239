/* Random transactions on the store against a naive model, a plain array of keys that is scanned for
 * every question. Old versions must not change as long as their garbage is held back. */
#include "common/base/buf.h"
#include "skydns/records/store.h"
#include "skydns/records/store_pick.h"
#include "tests/support/from_text.h"
#include "tests/support/random_numbers.h"
#include "tests/support/skydns/records.h"
#include "tests/support/unit_test.h"

/* Few labels, so that names are often put, deleted, parents or hidden; 300 steps of up to six
 * changes for each of ten seeds. */
enum { KEYS_MAX = 400, SEEDS = 10, STEPS = 300, CHANGES_MAX = 6, HELD_VERSIONS = 8 };
enum { DUMP_MAX = 4 << 20 };

static const char *const labels[] = {"a", "b", "_tcp", "_http", "web"};
enum { LABELS_DEEP = 4 };

static size_t order_count; /* what store_model_check_order saw */

/* ---- The model ---- */

struct key {
    char name[64]; /* "a._tcp.web.", "." */
    int64_t revision;
};

struct model {
    struct key keys[KEYS_MAX];
    size_t count;
};

static struct key *model_find(struct model *model, const char *name)
{
    for (size_t i = 0; i < model->count; i++) {
        if (strcmp(model->keys[i].name, name) == 0) {
            return &model->keys[i];
        }
    }
    return NULL;
}

static void model_put(struct model *model, const char *name, int64_t revision)
{
    struct key *key = model_find(model, name);
    if (!key) {
        assert_true(model->count < KEYS_MAX);
        key = &model->keys[model->count++];
        (void)snprintf(key->name, sizeof(key->name), "%s", name); /* names are short */
    }
    key->revision = revision;
}

static void model_del(struct model *model, const char *name)
{
    struct key *key = model_find(model, name);
    if (key) {
        *key = model->keys[--model->count];
    }
}

/* Whether name is parent or below it, and if so whether a label in between hides it. */
static bool store_model_is_at_or_below(const char *name, const char *parent, bool *ret_hidden)
{
    size_t n = strlen(name), p = strcmp(parent, ".") == 0 ? 0 : strlen(parent);
    if (strcmp(name, ".") == 0) {
        n = 0;
    }
    if (n < p || memcmp(name + n - p, parent, p) != 0 || (n > p && p && name[n - p - 1] != '.')) {
        return false;
    }
    *ret_hidden = false;
    for (size_t i = 0; i < n - p; i++) {
        if (name[i] == '_' && (i == 0 || name[i - 1] == '.')) {
            *ret_hidden = true;
        }
    }
    return true;
}

/* ---- The dump: one line per node, sorted: name, record, what a listing from it shows ---- */

struct dump {
    char **lines;
    size_t count;
    size_t cap;
};

static void store_model_add_line(struct dump *dump, char *line)
{
    if (dump->count == dump->cap) {
        dump->cap = dump->cap ? dump->cap * 2 : 64;
        dump->lines = xrealloc_array(dump->lines, dump->cap, sizeof(dump->lines[0]));
    }
    dump->lines[dump->count++] = line;
}

static int store_model_compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted and deduplicated, as one text. Empties the dump. */
static char *dump_text(struct dump *dump)
{
    CLEANUP_BUF struct buf text = buf_of(DUMP_MAX);
    if (dump->count > 0) {
        qsort(dump->lines, dump->count, sizeof(dump->lines[0]), store_model_compare_lines);
    }
    for (size_t i = 0; i < dump->count; i++) {
        if (i == 0 || strcmp(dump->lines[i], dump->lines[i - 1]) != 0) {
            buf_printf(&text, "%s\n", dump->lines[i]);
        }
    }
    for (size_t i = 0; i < dump->count; i++) {
        free(dump->lines[i]);
    }
    free(dump->lines);
    assert_false(text.failed);
    return xstrdup(buf_cstr(&text));
}

struct visible {
    size_t count;
    uint64_t sum;             /* of the revisions' squares: distinguishes sets */
    struct store_tally tally; /* of the store's records */
    uint64_t sum_v4;          /* of those with such an address */
};

static void add_visible(struct visible *visible, int64_t revision)
{
    visible->count++;
    visible->sum += (uint64_t)revision * (uint64_t)revision;
}

static char *node_line(const char *name, int64_t revision, struct visible visible)
{
    return xasprintf("%s record=%lld visible=%zu sum=%llu", name, (long long)revision,
                     visible.count, (unsigned long long)visible.sum);
}

static char *dump_model(struct model *model)
{
    struct dump dump = {0};
    model_put(model, "", -1); /* stands for the root during the dump */
    for (size_t i = 0; i < model->count; i++) {
        const char *at = model->keys[i].name;
        for (;;) { /* the name and all its parents */
            const char *name = *at ? at : ".";
            struct visible visible = {0};
            int64_t own = 0;
            for (size_t k = 0; k < model->count; k++) {
                const struct key *key = &model->keys[k];
                bool is_hidden;
                if (key->revision > 0 && store_model_is_at_or_below(key->name, name, &is_hidden)) {
                    if (!is_hidden) {
                        add_visible(&visible, key->revision);
                    }
                    own = strcmp(key->name, name) == 0 ? key->revision : own;
                }
            }
            store_model_add_line(&dump, node_line(name, own, visible));
            if (!*at || strcmp(at, ".") == 0) {
                break;
            }
            at = strchr(at, '.') + 1;
        }
    }
    model_del(model, "");
    return dump_text(&dump);
}

struct scan {
    struct dump *dump;
    struct dname name; /* the node's */
    const struct store *store;
};

static bool see_visible(void *data, const struct store_record *record)
{
    struct visible *visible = data;
    struct store_tally tally = store_record_tally(record);
    add_visible(visible, record->mod_revision);
    store_tally_add(&visible->tally, &tally);
    visible->sum_v4 += tally.v4 * (uint64_t)record->mod_revision * (uint64_t)record->mod_revision;
    return true;
}

static bool see_picked(void *data, const struct store_record *record)
{
    assert_int_equal(record->host_len, 4);
    return see_visible(data, record);
}

/* The counts are those of the records, and each address is picked once, wherever it begins. */
static void check_counts(const struct store_node *node, const struct visible *visible)
{
    struct store_tally tally = store_node_tally(node);
    struct visible picked = {0};
    assert_memory_equal(&tally, &visible->tally, sizeof(tally));
    if (tally.v4 > 0) {
        store_pick_addresses(node, 4, random_below(tally.v4), see_picked, &picked);
    }
    assert_int_equal(picked.count, tally.v4);
    assert_true(picked.sum == visible->sum_v4);
}

static bool dump_node(void *data, const struct store_node *node)
{
    struct scan scan = *(struct scan *)data;
    struct visible visible = {0};
    char text[DNAME_TEXT_MAX], name_text[DNAME_TEXT_MAX];
    struct slice label = store_node_label(node);
    const struct store_record *record = store_node_record(node);
    if (label.len > 0) {
        assert_true(dname_prepend(&scan.name, label));
    }
    assert_ptr_equal(store_find(scan.store, &scan.name), node);
    assert_true(records_each_visible(node, see_visible, &visible));
    assert_int_equal(store_visible_count(node), visible.count);
    check_counts(node, &visible);
    dname_to_text(&scan.name, text);
    if (record) {
        struct dname name;
        store_record_name(record, &name);
        assert_string_equal(dname_to_text(&name, name_text), text);
    }
    assert_true(record || records_are_below(node) || label.len == 0);
    store_model_add_line(scan.dump, node_line(text, record ? record->mod_revision : 0, visible));
    return store_each_child(node, dump_node, &scan);
}

/* store_next returns every record once; from any of them, or from any other name, those after
 * it. */
static void store_model_check_order(const struct store *store, const char *other)
{
    struct dname last = {0}, name, from;
    size_t count = 0, behind = 0, left = 0;
    assert_true(dname_from_text(slice_str(other), &from));
    for (const struct store_record *r = store_next(store, &from); r; behind++) {
        store_record_name(r, &name);
        r = store_next(store, &name);
    }
    bool is_found = false;
    for (const struct store_record *r = store_next(store, NULL); r; count++) {
        store_record_name(r, &last);
        is_found = is_found || dname_equal(&last, &from);
        r = store_next(store, &last);
    }
    for (const struct store_record *r = store_next(store, NULL); r && is_found;) {
        store_record_name(r, &name);
        left++;
        if (dname_equal(&name, &from)) {
            assert_int_equal(left + behind, count);
            break;
        }
        r = store_next(store, &name);
    }
    assert_true(behind <= count);
    order_count = count;
}

static char *dump_store(const struct store *store)
{
    struct dump dump = {0};
    struct scan scan = {.dump = &dump, .name = {.len = 1}, .store = store};
    assert_true(dump_node(&scan, store_root(store)));
    return dump_text(&dump);
}

/* ---- The steps ---- */

struct fixture {
    struct store_writer *writer;
    struct model model;
    int64_t revision;
    struct {
        const struct store *store;
        char *text;                    /* its dump when it was new */
        struct store_garbage *garbage; /* left by its successor */
    } held[HELD_VERSIONS];             /* the newest is held[steps % HELD_VERSIONS] */
    unsigned steps;
};

static void store_model_random_name(char name[64])
{
    size_t depth = random_below(20) == 0 ? 0 : 1 + random_below(LABELS_DEEP), len = 0;
    for (size_t i = 0; i < depth; i++) {
        len +=
            (size_t)snprintf(name + len, 64 - len, "%s.", labels[random_below(ARRAY_LEN(labels))]);
    }
    if (depth == 0) {
        memcpy(name, ".", 2);
    }
}

static const char *const hosts[] = {"10.0.0.1", "10.0.0.2", "fd00::1", "a.test.", "", "a..b"};

static void store_model_put_both(struct fixture *f, const char *name, int64_t revision)
{
    struct record record;
    struct dname key = dname_from(name);
    record = (struct record){.ttl_s = 0};
    record.port = (uint16_t)revision;
    record.host = slice_str(hosts[revision % (int64_t)ARRAY_LEN(hosts)]);
    record.mail = revision % 3 == 0;
    if (revision % 4 == 0) {
        record.text = slice_str("text");
    }
    if (revision % 7 == 0) {
        record.group = slice_str("group");
    }
    records_put(f->writer, &key, &record, revision);
    model_put(&f->model, name, revision);
}

static void store_model_change_something(struct fixture *f)
{
    char name[64];
    store_model_random_name(name);
    struct dname key = dname_from(name);
    if (random_below(5) < 2) {
        store_writer_del(f->writer, &key);
        model_del(&f->model, name);
    } else {
        store_model_put_both(f, name, f->revision);
    }
}

/* Rewrites the content: most keys unchanged, some missing, some new. */
static void replace_everything(struct fixture *f)
{
    struct model before = f->model;
    f->model.count = 0;
    store_writer_clear(f->writer);
    for (size_t i = 0; i < before.count; i++) {
        if (random_below(8) != 0) {
            store_model_put_both(f, before.keys[i].name, before.keys[i].revision);
        }
    }
}

static void commit_and_check(struct fixture *f)
{
    const struct store *before = f->held[f->steps % HELD_VERSIONS].store;
    char *want = dump_model(&f->model), other[64];
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(f->writer, f->revision, &garbage);
    char *got = dump_store(store);
    assert_string_equal(got, want);
    assert_int_equal(store_writer_count(f->writer), f->model.count);
    store_model_random_name(other);
    store_model_check_order(store, other);
    assert_int_equal(order_count, f->model.count);
    free(want);
    if (store == before) {
        assert_null(garbage);
        free(got);
        return;
    }
    f->held[f->steps % HELD_VERSIONS].garbage = garbage;
    f->steps++;
    unsigned at = f->steps % HELD_VERSIONS;
    if (f->held[at].text) { /* the oldest: unchanged to the end */
        CLEANUP_FREE char *text = dump_store(f->held[at].store);
        assert_string_equal(text, f->held[at].text);
        free(f->held[at].text);
        store_garbage_free(f->held[at].garbage);
    }
    f->held[at].store = store;
    f->held[at].text = got;
    f->held[at].garbage = NULL;
}

/* A version made by many updates equals one built from its keys at once. */
static void compare_with_fresh(struct fixture *f)
{
    struct store_writer *grown = f->writer;
    struct store_garbage *garbage;
    struct model model = f->model;
    CLEANUP_FREE char *want = dump_store(f->held[f->steps % HELD_VERSIONS].store);
    f->writer = store_writer_new();
    for (size_t i = 0; i < model.count; i++) {
        store_model_put_both(f, model.keys[i].name, model.keys[i].revision);
    }
    CLEANUP_FREE char *got = dump_store(store_writer_commit(f->writer, f->revision, &garbage));
    assert_string_equal(got, want);
    store_garbage_free(garbage);
    store_writer_free(f->writer);
    f->writer = grown;
}

UNIT_TEST(test_random_transactions)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fixture f = {.writer = store_writer_new()};
        random_state = seed;
        print_message("seed %llu\n", (unsigned long long)seed);
        for (int step = 0; step < STEPS; step++) {
            f.revision++;
            if (random_below(12) == 0) {
                replace_everything(&f);
            }
            if (random_below(40) == 0) { /* started over */
                replace_everything(&f);
            }
            for (uint32_t n = random_below(CHANGES_MAX + 1); n > 0; n--) {
                store_model_change_something(&f);
            }
            commit_and_check(&f);
        }
        assert_true(f.steps > STEPS / 2);
        compare_with_fresh(&f);
        for (unsigned i = 0; i < HELD_VERSIONS; i++) {
            free(f.held[i].text);
            store_garbage_free(f.held[i].garbage);
        }
        store_writer_free(f.writer);
    }
}
