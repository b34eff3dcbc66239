/* config_keys, as part of a reconciler on a real etcd: in small transactions, with crashes
 * between any two of them, with others who write the same keys, and with an etcd that loses
 * replies. */
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

#include "common/etcd/etcd_store_id.h"
#include "kube2sky/naming/config_map.h"
#include "kube2sky/reconcile/config_keys_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "tests/support/unit_test.h"

/* ---- Maps ---- */

/* Names n0, n1, ... of the set bits, each with a value of this version. */
static void want_names(struct fixture *f, uint32_t names, unsigned version)
{
    CLEANUP(config_map_fini) struct config_map map;
    config_map_init(&map);
    for (unsigned i = 0; i < 32; i++) {
        if (names >> i & 1) {
            CLEANUP_FREE char *key = xasprintf("%sn%02u", f->tree, i);
            CLEANUP_FREE char *value = xasprintf("{\"text\":\"%u\"}", version);
            desired_add(&map.keys, slice_str(key), slice_str(value));
        }
    }
    if (version % 3) {
        buf_append_str(&map.nameservers, "[\"8.8.8.8:53\"]");
    }
    desired_seal(&map.keys);
    reconciler_want_config(f->reconciler, &map);
}

/* "n00 {"text":"7"}\n" of each, before what is there anyway; without the other's. */
static void assert_names(struct fixture *f, uint32_t names, unsigned version, uint32_t others)
{
    CLEANUP_BUF struct buf want = buf_of(1 << 16);
    for (unsigned i = 0; i < 32; i++) {
        if (others >> i & 1) {
            buf_printf(&want, "n%02u theirs\n", i);
        } else if (names >> i & 1) {
            buf_printf(&want, "n%02u {\"text\":\"%u\"}\n", i, version);
        }
    }
    buf_append_str(&want, KUBERNETES);
    assert_tree(f, buf_cstr(&want));
}

/* ---- The document ---- */

struct document {
    struct fixture *f;
    uint32_t names; /* listed */
    bool exists;
    bool is_read;
    char nameserver;
};

/* Returns the bit of the name that begins with "n07". */
static uint32_t bit_of(const char *name)
{
    return 1u << ((name[1] - '0') * 10 + name[2] - '0');
}

static void config_keys_on_listed(void *data, struct slice key)
{
    struct document *document = data;
    struct slice tree = slice_str(document->f->tree);
    assert_true(slice_has_prefix(key, tree));
    document->names |= bit_of(key.ptr + tree.len);
}

static void config_keys_on_document(void *data, const struct etcd_range_reply *reply,
                                    const struct err *err)
{
    struct document *document = data;
    assert_null(err);
    document->is_read = true;
    document->exists = reply->count > 0;
    if (document->exists) {
        assert_int_equal(
            config_document_read(reply->kvs[0].value, config_keys_on_listed, document, NULL), 0);
    }
}

static bool is_document_read(const void *data)
{
    return ((const struct document *)data)->is_read;
}

static struct document config_keys_read_document(struct fixture *f)
{
    struct document document = {.f = f};
    CLEANUP_FREE char *key = etcd_writer_key(slice_str(f->domain), CONFIG_DOCUMENT_NAME);
    const struct etcd_range range = {.key = slice_str(key)};
    etcd_range(f->etcd, &range, config_keys_on_document, &document);
    loop_until(f->loop, is_document_read, &document);
    return document;
}

static void put_document(struct fixture *f, const char *text)
{
    CLEANUP_FREE char *key = etcd_writer_key(slice_str(f->domain), CONFIG_DOCUMENT_NAME);
    sync_put(f->loop, f->etcd, key, slice_str(text));
}

/* ---- Waiting ---- */

static bool config_keys_is_in_order(const void *data)
{
    const struct fixture *f = data;
    bool is_settled = true;
    CLEANUP_BUF struct buf lines = buf_of(1 << 20);
    reconciler_preview(f->reconciler, slice_str("ConfigMap"), &lines);
    for (size_t i = 0; i + 1 < lines.len; i++) {
        bool begins = i == 0 || lines.data[i - 1] == '\n';
        is_settled = is_settled && !(begins && lines.data[i] != '=');
    }
    return has_synced(f) && is_settled;
}

static void config_keys_settle(struct fixture *f)
{
    loop_until(f->loop, config_keys_is_in_order, f);
    wait_drained(f);
}

static void config_keys_begin(struct fixture *f, size_t txn_ops_max)
{
    f->has_config_map = true;
    f->txn_ops_max = txn_ops_max;
    start_reconciler(f);
    list_nothing_else(f);
}

/* ---- Tests ---- */

static int config_keys_before_tests(void **state)
{
    record_json_use_xalloc();
    return start_etcd(state);
}

UNIT_TESTS_ONCE(config_keys_before_tests, end_etcd)

UNIT_TEST_IN(test_small_transactions, set_up, tear_down)
{
    struct fixture *f = *state;
    for (size_t max = 2; max < 6; max++) {
        config_keys_begin(f, max);
        want_names(f, 0x3ff, (unsigned)max);
        config_keys_settle(f);
        assert_names(f, 0x3ff, (unsigned)max, 0);
        assert_int_equal(config_keys_read_document(f).names, 0x3ff);
        want_names(f, 0x0f0f0, (unsigned)max);
        config_keys_settle(f);
        assert_names(f, 0x0f0f0, (unsigned)max, 0);
        assert_int_equal(config_keys_read_document(f).names, 0x0f0f0);
        reconciler_stop(f->reconciler);
        f->reconciler = NULL;
        start_inventory(f);
    }
}

/* A plan that fits is one transaction, whatever its operations. */
UNIT_TEST_IN(test_one_transaction, set_up, tear_down)
{
    struct fixture *f = *state;
    config_keys_begin(f, 0);
    want_names(f, 0, 0);
    config_keys_settle(f);
    uint64_t before = reconciler_get_stats(f->reconciler).transaction_count;
    want_names(f, 0xffff, 1);
    config_keys_settle(f);
    want_names(f, 0xff00ff, 2);
    config_keys_settle(f);
    want_names(f, 0, 0);
    config_keys_settle(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).transaction_count, before + 3);
    assert_false(config_keys_read_document(f).exists);
    assert_names(f, 0, 0, 0);
}

static bool has_sent(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).transaction_count >= f->want ||
           config_keys_is_in_order(f);
}

/* After each transaction: what is there is listed. And the next process finds its way from
 * anywhere, without touching the keys of others. */
UNIT_TEST_IN(test_crashes, set_up, tear_down)
{
    struct fixture *f = *state;
    const uint32_t others = 1u << 3 | 1u << 20;
    uint32_t random = 12345, names = 0;
    put(f, "n03", "theirs");
    put(f, "n20", "theirs");
    for (unsigned round = 1; round <= 40; round++) {
        config_keys_begin(f, 2 + round % 4);
        random = random * 1664525 + 1013904223;
        names = random >> 4;
        want_names(f, names, round);
        f->want = 1 + random % 7;
        loop_until(f->loop, round == 40 ? config_keys_is_in_order : has_sent, f);
        reconciler_stop(f->reconciler); /* whatever is in flight may have happened */
        f->reconciler = NULL;
        start_inventory(f);
        struct document document = config_keys_read_document(f);
        struct tree tree;
        read_tree(f, 0, &tree);
        for (const char *line = buf_cstr(&tree.text); *line; line = strchr(line, '\n') + 1) {
            if (line[0] == 'n') {
                bool is_theirs = strncmp(line + 3, " theirs", 7) == 0;
                assert_true((is_theirs ? others : document.names) & bit_of(line));
                assert_int_equal(document.names & others & bit_of(line), 0);
            }
        }
        buf_fini(&tree.text);
    }
    config_keys_begin(f, 2);
    want_names(f, names, 40);
    config_keys_settle(f);
    assert_names(f, names, 40, others);
    assert_int_equal(reconciler_get_stats(f->reconciler).config_left,
                     __builtin_popcount(names & others));
    want_names(f, 0, 0);
    config_keys_settle(f);
    assert_names(f, 0, 0, others);
}

/* Without a map, and as a dry run: what an earlier one left goes. */
UNIT_TEST_IN(test_without_a_map, set_up, tear_down)
{
    struct fixture *f = *state;
    config_keys_begin(f, 0);
    want_names(f, 7, 1);
    config_keys_settle(f);
    reconciler_stop(f->reconciler);
    start_inventory(f);
    f->has_config_map = false;
    f->is_dry = true;
    start_reconciler(f);
    list_nothing_else(f);
    wait_synced(f);
    assert_int_equal(f->planned, 4);
    reconciler_stop(f->reconciler);
    start_inventory(f);
    f->is_dry = false;
    start_reconciler(f);
    list_nothing_else(f);
    config_keys_settle(f);
    assert_names(f, 0, 0, 0);
    assert_false(config_keys_read_document(f).exists);
}

/* It is not known: nothing changes, and nothing waits for it once that is told. */
UNIT_TEST_IN(test_an_unknown_map, set_up, tear_down)
{
    struct fixture *f = *state;
    config_keys_begin(f, 0);
    want_names(f, 7, 1);
    config_keys_settle(f);
    reconciler_stop(f->reconciler);
    start_inventory(f);
    config_keys_begin(f, 0);
    put_service(f, "web", "10.0.0.9");
    f->want = 1;
    loop_until(f->loop, has_written, f);
    assert_false(reconciler_has_synced(f->reconciler));
    reconciler_lack_config(f->reconciler);
    wait_synced(f);
    assert_int_equal(config_keys_read_document(f).names, 7);
    want_names(f, 8, 1);
    config_keys_settle(f);
    assert_int_equal(config_keys_read_document(f).names, 8);
}

/* Others change the list while we lead: it comes back, and so do the keys' owners. */
UNIT_TEST_IN(test_a_list_that_others_change, set_up, tear_down)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"{\"keys\":[]}", "nonsense", "[]", "{\"keys\":[7]}"};
    config_keys_begin(f, 0);
    want_names(f, 7, 1);
    config_keys_settle(f);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        uint64_t restored = reconciler_get_stats(f->reconciler).keys_restored;
        put_document(f, texts[i]);
        while (reconciler_get_stats(f->reconciler).keys_restored == restored) {
            ev_run(f->loop, EVRUN_ONCE);
        }
        config_keys_settle(f);
        assert_int_equal(config_keys_read_document(f).names, 7);
    }
    want_names(f, 0, 0);
    config_keys_settle(f);
    assert_names(f, 0, 0, 0);
}

/* Replies get lost: transactions of unknown outcome. */
UNIT_TEST_IN(test_lost_replies, set_up, tear_down)
{
    struct fixture *f = *state;
    config_keys_begin(f, 3);
    want_names(f, 0, 0);
    config_keys_settle(f);
    for (unsigned round = 1; round < 6; round++) {
        want_names(f, 0x5a5a5a >> round, round);
        f->want = reconciler_get_stats(f->reconciler).transaction_count + round;
        loop_until(f->loop, has_sent, f);
        etcd_calls_elsewhere(f->etcd);
    }
    config_keys_settle(f);
    assert_names(f, 0x5a5a5a >> 5, 5, 0);
    assert_int_equal(config_keys_read_document(f).names, 0x5a5a5a >> 5);
}

/* ---- Without etcd ---- */

static void list_one(struct config_keys *keys, const char *text)
{
    const struct etcd_kv kv = {
        .key = slice_str(keys->document_key), .value = slice_str(text), .mod_revision = 7};
    config_keys_put_document(keys, &kv, 1, false);
}

/* Two mirrors show the list and the keys: one that is listed may be in etcd although it is not
 * shown yet. It stays listed until a transaction has found it absent, and so is never left behind.
 */
UNIT_TEST(test_a_list_ahead_of_its_keys)
{
    CLEANUP(ownership_fini) struct ownership ownership;
    CLEANUP(config_keys_fini) struct config_keys keys;
    CLEANUP(config_map_fini) struct config_map none;
    struct plan plan, left;
    ownership_init(&ownership, &(struct ownership_config){.domain = "cluster.local."});
    config_keys_init(&keys, &ownership, "cluster.local.");
    config_map_init(&none);
    plan_init(&plan);
    plan_init(&left);
    desired_seal(&none.keys);
    (void)config_keys_want(&keys, &none);
    list_one(&keys, "{\"keys\":[\"/skydns/local/cluster/a\"]}");
    config_keys_plan(&keys, &plan, &left);
    assert_int_equal(plan.op_count, 2);
    assert_int_equal(plan.put_count, 0);
    assert_true(slice_equal(plan_get(&plan, 0).key, slice_str("/skydns/local/cluster/a")));
    assert_int_equal(plan.ops[0].revision, 0); /* the condition: it is not there */
    plan_truncate(&plan, 1);                   /* a transaction of deletes alone */
    config_keys_note_written(&keys, &plan);
    config_keys_plan(&keys, &plan, &left);
    assert_int_equal(plan.op_count, 1); /* the list */
    const struct etcd_kv late = {.key = slice_str("/skydns/local/cluster/a"), .mod_revision = 6};
    assert_true(config_keys_put(&keys, &late, 1));
    config_keys_plan(&keys, &plan, &left);
    assert_int_equal(plan.op_count, 2);
    assert_int_equal(plan.ops[0].revision, 6);
    plan_fini(&plan);
    plan_fini(&left);
}

/* ---- Its text ---- */

static void config_keys_append_listed(void *data, struct slice key)
{
    struct buf *out = data;
    buf_append_slice(out, key);
    buf_append_char(out, ' ');
}

UNIT_TEST(test_document)
{
    static const struct {
        const char *text;
        const char *want; /* the keys, or the error */
    } cases[] = {
        {"{\"nameservers\":[\"8.8.8.8:53\"],\"keys\":[\"/a\",\"/b\"]}", "/a /b "},
        {"{\"keys\":[]}", ""},
        {"{}", ""},
        {"[]", "expected a JSON object"},
        {"", "expected a JSON object: '[' or '{' expected near end of file"},
        {"{\"keys\":7}", "keys: expected a list"},
        {"{\"keys\":[\"/a\",7]}", "keys[1]: expected a string"},
    };
    CLEANUP_BUF struct buf got = buf_of(4096);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        buf_clear(&got);
        if (config_document_read(slice_str(cases[i].text), config_keys_append_listed, &got, &err) <
            0) {
            assert_int_equal(got.len, 0);
            buf_append_str(&got, err.msg);
        }
        assert_string_equal(buf_cstr(&got), cases[i].want);
    }
    buf_clear(&got);
    config_document_begin(slice_str("[\"8.8.8.8:53\"]"), &got);
    config_document_add(slice_str("/a"), &got);
    config_document_add(slice_str("/b\"\\["), &got);
    config_document_add(slice_str("/c"), &got);
    config_document_end(&got);
    assert_string_equal(
        buf_cstr(&got),
        "{\"nameservers\":[\"8.8.8.8:53\"],\"keys\":[\"/a\",\"/b\\\"\\\\[\",\"/c\"]}");
    buf_clear(&got);
    config_document_begin(slice_str(""), &got);
    config_document_end(&got);
    assert_string_equal(buf_cstr(&got), "{\"keys\":[]}");
}
