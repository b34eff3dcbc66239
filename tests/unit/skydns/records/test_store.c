/* Table-driven tests of the tree. Random transactions against a model are in test_store_model.c. */
#include "common/dns/record_json.h"
#include "skydns/records/store.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/records.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(store_writer_free, struct store_writer)

static struct record records_store_record_of(const char *host)
{
    struct record record;
    record = (struct record){.ttl_s = 0};
    record.host = slice_str(host);
    return record;
}

static void records_store_put(struct store_writer *writer, const char *name, const char *host,
                              int64_t revision)
{
    struct dname key = dname_from(name);
    struct record record = records_store_record_of(host);
    records_put(writer, &key, &record, revision);
}

/* `value` has ' for ". */
static void store_put_value(struct store_writer *writer, const char *name, const char *value)
{
    char json[256];
    size_t len = strlen(value);
    struct dname key = dname_from(name);
    struct record record;
    assert_true(len < sizeof(json));
    for (size_t i = 0; i < len; i++) {
        json[i] = value[i];
        if (json[i] == '\'') {
            json[i] = '"';
        }
    }
    assert_int_equal(record_from_json(slice_of(json, len), &record, NULL), 0);
    records_put(writer, &key, &record, 1);
}

static void store_del(struct store_writer *writer, const char *name)
{
    struct dname key = dname_from(name);
    store_writer_del(writer, &key);
}

/* Commits and frees the garbage. */
static const struct store *store_commit(struct store_writer *writer, int64_t revision)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(writer, revision, &garbage);
    store_garbage_free(garbage);
    return store;
}

static const struct store_node *records_store_find(const struct store *store, const char *name)
{
    struct dname key = dname_from(name);
    return store_find(store, &key);
}

/* The name of a record as text, in static storage. */
static const char *store_name_text(const struct store_record *record)
{
    static char text[DNAME_TEXT_MAX];
    struct dname name;
    store_record_name(record, &name);
    return dname_to_text(&name, text);
}

/* Two services, one with a port, a name that is both leaf and parent, and a foreign leaf. */
static struct store_writer *example_writer(void)
{
    struct store_writer *writer = store_writer_new();
    records_store_put(writer, "c88f1059.web.default.svc.cluster.local", "10.0.0.1", 2);
    records_store_put(writer, "c88f1059._http._tcp.web.default.svc.cluster.local",
                      "web.default.svc.cluster.local.", 3);
    records_store_put(writer, "19ccb11.db.default.svc.cluster.local", "10.0.0.9", 4);
    records_store_put(writer, "db.default.svc.cluster.local", "db.example.com.", 5);
    records_store_put(writer, "_hidden._udp.default.svc.cluster.local", "10.0.0.7", 6);
    records_store_put(writer, "1.0.0.10.in-addr.arpa", "web.default.svc.cluster.local.", 7);
    return writer;
}

UNIT_TEST(test_find)
{
    static const struct {
        const char *name;
        bool is_found;
        const char *label;
        int64_t revision; /* its record's; 0 = none */
        size_t visible;
    } cases[] = {
        {".", true, "", 0, 4},
        {"local", true, "local", 0, 3},
        {"svc.cluster.local", true, "svc", 0, 3},
        {"default.svc.cluster.local", true, "default", 0, 3},
        {"web.default.svc.cluster.local", true, "web", 0, 1},
        {"c88f1059.web.default.svc.cluster.local", true, "c88f1059", 2, 1},
        {"_tcp.web.default.svc.cluster.local", true, "_tcp", 0, 0},
        {"_http._tcp.web.default.svc.cluster.local", true, "_http", 0, 1},
        {"c88f1059._http._tcp.web.default.svc.cluster.local", true, "c88f1059", 3, 1},
        {"db.default.svc.cluster.local", true, "db", 5, 2},
        {"_udp.default.svc.cluster.local", true, "_udp", 0, 0},
        {"_hidden._udp.default.svc.cluster.local", true, "_hidden", 6, 1},
        {"x.db.default.svc.cluster.local", false, NULL, 0, 0},
        {"x.y.z.default.svc.cluster.local", false, NULL, 0, 0},
        {"we.default.svc.cluster.local", false, NULL, 0, 0},
        {"webb.default.svc.cluster.local", false, NULL, 0, 0},
        {"WEB.default.svc.cluster.local", false, NULL, 0, 0},
        {"example.com", false, NULL, 0, 0},
    };
    CLEANUP(store_writer_free_of) struct store_writer *writer = example_writer();
    const struct store *store = store_commit(writer, 9);
    assert_int_equal(store_revision(store), 9);
    assert_int_equal(store_writer_count(writer), 6);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct dname name = dname_from(cases[i].name);
        const struct store_node *node = store_find(store, &name);
        assert_int_equal(node != NULL, cases[i].is_found);
        if (node) {
            const struct store_record *record = store_node_record(node);
            assert_true(slice_equal(store_node_label(node), slice_str(cases[i].label)));
            assert_int_equal(record ? record->mod_revision : 0, cases[i].revision);
            assert_int_equal(store_visible_count(node), cases[i].visible);
        }
    }
    assert_false(
        records_are_below(records_store_find(store, "c88f1059.web.default.svc.cluster.local")));
    assert_true(records_are_below(records_store_find(store, "db.default.svc.cluster.local")));
}

struct seen {
    size_t count;
    size_t stop_after;
    int64_t revisions; /* their sum */
};

static bool see_record(void *data, const struct store_record *record)
{
    struct seen *seen = data;
    seen->revisions += record->mod_revision;
    return ++seen->count != seen->stop_after;
}

static bool store_see_child(void *data, const struct store_node *child)
{
    struct seen *seen = data;
    assert_true(store_node_label(child).len > 0);
    return ++seen->count != seen->stop_after;
}

UNIT_TEST(test_each)
{
    CLEANUP(store_writer_free_of) struct store_writer *writer = example_writer();
    const struct store *store = store_commit(writer, 9);

    struct seen all = {0}, below_port = {0}, two = {.stop_after = 2}, leaf = {0};
    assert_true(records_each_visible(store_root(store), see_record, &all));
    assert_int_equal(all.count, 4);
    assert_int_equal(all.revisions, 2 + 4 + 5 + 7);
    assert_true(
        records_each_visible(records_store_find(store, "_http._tcp.web.default.svc.cluster.local"),
                             see_record, &below_port));
    assert_int_equal(below_port.revisions, 3);
    assert_false(records_each_visible(store_root(store), see_record, &two));
    assert_int_equal(two.count, 2);
    assert_true(records_each_visible(records_store_find(store, "1.0.0.10.in-addr.arpa"), see_record,
                                     &leaf));
    assert_int_equal(leaf.revisions, 7);

    struct seen children = {0}, one = {.stop_after = 1}, none = {0};
    assert_true(store_each_child(records_store_find(store, "default.svc.cluster.local"),
                                 store_see_child, &children));
    assert_int_equal(children.count, 3); /* hidden ones too */
    assert_false(store_each_child(records_store_find(store, "default.svc.cluster.local"),
                                  store_see_child, &one));
    assert_int_equal(one.count, 1);
    assert_true(store_each_child(records_store_find(store, "1.0.0.10.in-addr.arpa"),
                                 store_see_child, &none));
    assert_int_equal(none.count, 0);
}

UNIT_TEST(test_nodes_go_with_their_records)
{
    CLEANUP(store_writer_free_of) struct store_writer *writer = example_writer();
    (void)store_commit(writer, 9);

    store_del(writer, "db.default.svc.cluster.local"); /* stays as a parent */
    store_del(writer, "c88f1059._http._tcp.web.default.svc.cluster.local");
    store_del(writer, "nothing.default.svc.cluster.local"); /* never existed */
    store_del(writer, "default.svc.cluster.local");         /* a node without a record */
    const struct store *store = store_commit(writer, 10);
    assert_null(store_node_record(records_store_find(store, "db.default.svc.cluster.local")));
    assert_int_equal(store_visible_count(records_store_find(store, "db.default.svc.cluster.local")),
                     1);
    assert_null(records_store_find(store, "_tcp.web.default.svc.cluster.local"));
    assert_non_null(records_store_find(store, "web.default.svc.cluster.local"));

    store_del(writer, "19ccb11.db.default.svc.cluster.local");
    store_del(writer, "c88f1059.web.default.svc.cluster.local");
    store_del(writer, "_hidden._udp.default.svc.cluster.local");
    store = store_commit(writer, 11);
    assert_null(records_store_find(store, "local"));
    assert_int_equal(store_visible_count(store_root(store)), 1);

    store_del(writer, "1.0.0.10.in-addr.arpa");
    store = store_commit(writer, 12);
    assert_false(records_are_below(store_root(store)));
    assert_int_equal(store_writer_count(writer), 0);
}

UNIT_TEST(test_same_content_is_the_same_version)
{
    struct store_garbage *garbage;
    CLEANUP(store_writer_free_of) struct store_writer *writer = example_writer();
    const struct store *first = store_commit(writer, 9);

    records_store_put(writer, "db.default.svc.cluster.local", "db.example.com.", 5);
    store_del(writer, "nothing.there");
    assert_ptr_equal(store_writer_commit(writer, 10, &garbage), first);
    assert_null(garbage);
    assert_int_equal(store_revision(first), 9);

    records_store_put(writer, "db.default.svc.cluster.local", "db.example.com.",
                      11); /* written again */
    const struct store *second = store_writer_commit(writer, 11, &garbage);
    assert_ptr_not_equal(second, first);
    assert_int_equal(
        store_node_record(records_store_find(first, "db.default.svc.cluster.local"))->mod_revision,
        5);
    assert_int_equal(
        store_node_record(records_store_find(second, "db.default.svc.cluster.local"))->mod_revision,
        11);
    store_garbage_free(garbage);
}

static void put_two(struct store_writer *writer)
{
    records_store_put(writer, "1.0.0.10.in-addr.arpa", "web.default.svc.cluster.local.", 7);
    records_store_put(writer, "db.default.svc.cluster.local", "db.example.com.", 5);
}

UNIT_TEST(test_clear)
{
    struct store_garbage *garbage;
    CLEANUP(store_writer_free_of) struct store_writer *writer = example_writer();
    const struct store *first = store_commit(writer, 9);
    const struct store_record *kept =
        store_node_record(records_store_find(first, "1.0.0.10.in-addr.arpa"));

    /* Started over: the puts in between do not count, the old version is intact. */
    store_writer_clear(writer);
    put_two(writer);
    records_store_put(writer, "void.example", "10.9.9.9", 8);
    store_writer_clear(writer);
    put_two(writer);
    assert_int_equal(store_visible_count(store_root(first)), 4);

    const struct store *second = store_writer_commit(writer, 10, &garbage);
    assert_int_equal(store_writer_count(writer), 2);
    assert_int_equal(store_visible_count(store_root(second)), 2);
    assert_null(records_store_find(second, "void.example"));
    assert_null(records_store_find(second, "web.default.svc.cluster.local"));
    assert_ptr_equal(store_node_record(records_store_find(second, "1.0.0.10.in-addr.arpa")), kept);
    assert_int_equal(store_visible_count(store_root(first)), 4);
    store_garbage_free(garbage);

    /* The same content again is not a new version. */
    store_writer_clear(writer);
    put_two(writer);
    assert_ptr_equal(store_writer_commit(writer, 11, &garbage), second);
    assert_null(garbage);

    store_writer_clear(writer);
    assert_false(records_are_below(store_root(store_commit(writer, 12))));
}

UNIT_TEST(test_first_commit_may_be_empty)
{
    struct store_garbage *garbage;
    CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
    const struct store *store = store_writer_commit(writer, 3, &garbage);
    assert_null(garbage);
    assert_int_equal(store_revision(store), 3);
    assert_int_equal(store_visible_count(store_root(store)), 0);
    assert_null(records_store_find(store, "local"));
}

UNIT_TEST(test_deepest_and_longest_names)
{
    char deep[2 * DNAME_LABELS_MAX + 1], wide[256];
    for (size_t i = 0; i + 1 < sizeof(deep); i += 2) {
        memcpy(deep + i, "x.", 2);
    }
    deep[sizeof(deep) - 1] = '\0';
    memset(wide, 'y', sizeof(wide));
    wide[63] = wide[127] = wide[191] = '.';
    wide[253] = '\0';

    CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
    records_store_put(writer, deep, "10.0.0.1", 2);
    records_store_put(writer, wide, "10.0.0.2", 3);
    const struct store *store = store_commit(writer, 4);
    struct seen seen = {0};
    assert_true(records_each_visible(store_root(store), see_record, &seen));
    assert_int_equal(seen.count, 2);
    assert_string_equal(store_name_text(store_node_record(records_store_find(store, deep))), deep);
    assert_int_equal(store_node_record(records_store_find(store, wide))->mod_revision, 3);
    store_del(writer, deep);
    store_del(writer, wide);
    assert_false(records_are_below(store_root(store_commit(writer, 5))));
}

UNIT_TEST(test_many_children)
{
    enum { MANY = 20000 };
    char name[64];
    CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "svc-%d.default.svc.cluster.local", i);
        records_store_put(writer, name, "10.0.0.1", i + 1);
    }
    const struct store *store = store_commit(writer, MANY + 1);
    assert_int_equal(store_visible_count(records_store_find(store, "svc.cluster.local")), MANY);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "svc-%d.default.svc.cluster.local", i);
        assert_int_equal(store_node_record(records_store_find(store, name))->mod_revision, i + 1);
    }
    assert_null(records_store_find(store, "svc-20000.default.svc.cluster.local"));
}

static const struct store_record *only_record(struct store_writer *writer, struct record *record)
{
    struct dname name = dname_from("key.test");
    records_put(writer, &name, record, 1);
    return store_node_record(records_store_find(store_commit(writer, 1), "key.test"));
}

UNIT_TEST(test_hosts)
{
    static const struct {
        const char *host;
        enum store_host kind;
        const char *want; /* the address or name read back */
    } cases[] = {
        {"", STORE_HOST_NONE, NULL},
        {"10.0.0.1", STORE_HOST_IP, "10.0.0.1"},
        {"::ffff:10.0.0.1", STORE_HOST_IP, "10.0.0.1"},
        {"fd00::1", STORE_HOST_IP, "fd00::1"},
        {"FD00:0::1", STORE_HOST_IP, "fd00::1"},
        {"web.example.com.", STORE_HOST_NAME, "web.example.com."},
        {"Web.Example.com", STORE_HOST_NAME, "Web.Example.com."},
        {"10.0.0.1.", STORE_HOST_NAME, "10.0.0.1."},
        {"a\\.b.example", STORE_HOST_NAME, "a\\.b.example."},
        {".", STORE_HOST_NAME, "."},
        {"a..b", STORE_HOST_BAD, NULL},
        {"label-of-more-than-63-bytes-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.test", STORE_HOST_BAD,
         NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("host `%s`\n", cases[i].host);
        CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
        struct record record = records_store_record_of(cases[i].host);
        const struct store_record *got = only_record(writer, &record);
        assert_int_equal(got->host, cases[i].kind);

        char ip_text[INET6_ADDRSTRLEN], text[DNAME_TEXT_MAX];
        struct ip ip = store_record_ip(got);
        struct dname host = {0};
        assert_int_equal(ip.family_bytes != 0, cases[i].kind == STORE_HOST_IP);
        assert_int_equal(store_record_host_name(got, &host), cases[i].kind == STORE_HOST_NAME);
        if (ip.family_bytes) {
            assert_string_equal(ip_format(&ip, ip_text), cases[i].want);
        } else if (host.len) {
            assert_string_equal(dname_to_text(&host, text), cases[i].want);
        }
        assert_string_equal(store_name_text(got), "key.test.");
    }
}

UNIT_TEST(test_record_fields)
{
    struct record record =
        records_store_record_of("db.example"); /* host text, text and group, all kept */
    record.text = slice_str("some text");
    record.group = slice_str("g1");
    record.ttl_s = 4000000000;
    record.port = 65535;
    record.priority = 11;
    record.weight = 12;
    record.targetstrip = 13;
    record.mail = true;
    CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
    const struct store_record *got = only_record(writer, &record);
    assert_int_equal(got->mod_revision, 1);
    assert_int_equal(got->ttl_s, 4000000000);
    assert_int_equal(got->port, 65535);
    assert_int_equal(got->priority, 11);
    assert_int_equal(got->weight, 12);
    assert_int_equal(got->targetstrip, 13);
    assert_true(got->mail);
    assert_true(slice_equal(store_record_string(got, RECORD_TEXT), slice_str("some text")));
    assert_true(slice_equal(store_record_string(got, RECORD_GROUP), slice_str("g1")));
}

/* A text with escapes is there as written and as bytes; whether two are equal is what was written.
 */
UNIT_TEST(test_text_with_escapes)
{
    static const struct {
        const char *text, *bytes;
        size_t len;
    } rows[] = {{"plain", "plain", 5}, {"a\\;b\\000", "a;b\0", 4}, {"\\", "", 0}, {"", "", 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct record record = records_store_record_of("10.0.0.1");
        record.text = slice_str(rows[i].text);
        record.group = slice_str("g1");
        CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
        struct dname name = dname_from("key.test");
        bool is_changed = false;
        const struct store_record *first = only_record(writer, &record);
        struct slice bytes = store_record_text_bytes(first);
        assert_true(slice_equal(store_record_string(first, RECORD_TEXT), slice_str(rows[i].text)));
        assert_true(slice_equal(bytes, slice_of(rows[i].bytes, rows[i].len)));
        assert_true(bytes.len == 0 || store_record_holds(first, bytes));
        assert_true(store_writer_set_ttl(writer, &name, 1, 7, &is_changed)); /* copies it */
        const struct store_record *copy =
            store_node_record(records_store_find(store_commit(writer, 2), "key.test"));
        assert_true(slice_equal(store_record_string(copy, RECORD_TEXT), slice_str(rows[i].text)));
        assert_true(
            slice_equal(store_record_text_bytes(copy), slice_of(rows[i].bytes, rows[i].len)));
        assert_true(slice_equal(store_record_string(copy, RECORD_GROUP), slice_str("g1")));
    }
}

UNIT_TEST(test_same_data)
{
    static const struct {
        const char *name, *a, *b; /* values */
        bool want;
    } cases[] = {
        {"equal", "{'host':'x.y.','port':1}", "{'host':'x.y.','port':1}", true},
        {"ttl, group, mail and targetstrip do not count",
         "{'host':'10.0.0.1','ttl':1,'group':'g','mail':true,'targetstrip':1}",
         "{'host':'10.0.0.1'}", true},
        {"host", "{'host':'10.0.0.1'}", "{'host':'10.0.0.2'}", false},
        {"address as written", "{'host':'fd00::1'}", "{'host':'FD00::1'}", false},
        {"dot as written", "{'host':'x.y.'}", "{'host':'x.y'}", false},
        {"case as written", "{'host':'x.y.'}", "{'host':'X.y.'}", false},
        {"hosts that are no names", "{'host':'x..y'}", "{'host':'x..z'}", false},
        {"port", "{'host':'x.','port':1}", "{'host':'x.','port':2}", false},
        {"priority", "{'host':'x.','priority':1}", "{'host':'x.'}", false},
        {"weight", "{'host':'x.','weight':1}", "{'host':'x.'}", false},
        {"text", "{'host':'x.','text':'t'}", "{'host':'x.','text':'u'}", false},
        {"text, host being a prefix", "{'host':'x','text':'t'}", "{'host':'xt'}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].name);
        CLEANUP(store_writer_free_of) struct store_writer *writer = store_writer_new();
        store_put_value(writer, "a.test", cases[i].a);
        store_put_value(writer, "b.test", cases[i].b);
        const struct store *store = store_commit(writer, 1);
        const struct store_record *a = store_node_record(records_store_find(store, "a.test"));
        const struct store_record *b = store_node_record(records_store_find(store, "b.test"));
        assert_int_equal(store_record_same_data(a, b), cases[i].want);
        assert_int_equal(store_record_same_data(b, a), cases[i].want);
    }
}
