/* store_sync with a real etcd: first content, changes, kill -9 and restart, compaction meanwhile.
 * The writer has its own client and loop, so the reader's loop does not run while it writes: as if
 * the reader were away. */
#include "common/etcd/etcd_lease.h"
#include "skydns/sync/store_sync.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/snapshot_copy.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 5000 };

struct fixture {
    struct etcd_proc *proc;

    struct ev_loop *writer_loop;
    struct etcd *writer;
    int64_t written; /* the newest revision */

    struct ev_loop *loop;
    struct etcd *etcd;
    struct publisher *publisher;
    struct publisher_reader *reader;
    struct store_sync *sync;
    bool is_ready;
    bool requires_store_key;
    enum client_want wants_clients;
    size_t zones;      /* stub zones told last */
    unsigned settings; /* how often the document was told */
    char document[64]; /* as told last; "none" */
};

/* ---- The writer ---- */

/* Retries until etcd accepts it: after a restart the first attempt may hit the old connection. */
static void write_ops(struct fixture *f, const struct etcd_op *ops, size_t count)
{
    struct etcd_txn txn = {.ops = ops, .op_count = count};
    struct etcd_txn_reply reply;
    while (sync_txn(f->writer_loop, f->writer, &txn, &reply, NULL) < 0) {
    }
    f->written = reply.revision;
}

static void store_sync_etcd_put(struct fixture *f, const char *key, const char *value)
{
    struct etcd_op op = {.kind = ETCD_OP_PUT, .key = slice_str(key), .value = slice_str(value)};
    write_ops(f, &op, 1);
}

static void store_sync_etcd_del(struct fixture *f, const char *key)
{
    struct etcd_op op = {.kind = ETCD_OP_DELETE, .key = slice_str(key)};
    write_ops(f, &op, 1);
}

/* ---- The reader ---- */

static void store_sync_etcd_on_ready(void *data)
{
    struct fixture *f = data;
    f->is_ready = true;
}

static void store_sync_etcd_on_config(void *data, struct slice value)
{
    struct fixture *f = data;
    f->settings++;
    (void)snprintf(f->document, sizeof(f->document), "%.*s", value.ptr ? (int)value.len : 4,
                   value.ptr ? value.ptr : "none"); /* short */
}

static void store_sync_etcd_on_stubs(void *data, const struct forward_zone *zones, size_t count)
{
    struct fixture *f = data;
    f->zones = count;
}

/* From what a snapshot says; NULL: there is none. */
static void start_from(struct fixture *f, struct snapshot_content *start)
{
    struct etcd_config client = {
        .loop = f->loop, .endpoints = etcd_proc_url(f->proc), .call_timeout_ms = CALL_TIMEOUT_MS};
    assert_int_equal(etcd_new(&client, &f->etcd, NULL), 0);
    struct dname domains[2];
    assert_true(dname_from_text(slice_str("test."), &domains[0]));
    assert_true(dname_from_text(slice_str("other."), &domains[1]));
    struct store_sync_config config = {.loop = f->loop,
                                       .etcd = f->etcd,
                                       .publisher = f->publisher,
                                       .path_prefix = "skydns",
                                       .domains = domains,
                                       .domain_count = 2,
                                       .default_ttl_s = 30,
                                       .requires_store_key = f->requires_store_key,
                                       .start = start,
                                       .wants_stubs = true,
                                       .wants_clients = f->wants_clients,
                                       .on_config = store_sync_etcd_on_config,
                                       .on_stubs = store_sync_etcd_on_stubs,
                                       .on_ready = store_sync_etcd_on_ready,
                                       .data = f};
    f->sync = store_sync_start(&config);
}

static void store_sync_etcd_start_sync(struct fixture *f)
{
    start_from(f, NULL);
}

/* The address a reader finds; "" if there is no such record, NULL if there is no store. In static
 * storage. */
static const char *store_sync_etcd_address(const struct fixture *f, const char *text)
{
    static char printed[INET6_ADDRSTRLEN];
    const char *result = NULL;
    struct dname name = dname_from(text);
    const struct store *store = publisher_enter(f->reader);
    if (store) {
        const struct store_node *node = store_find(store, &name);
        const struct store_record *record = node ? store_node_record(node) : NULL;
        struct ip ip = record ? store_record_ip(record) : (struct ip){0};
        result = ip.family_bytes ? ip_format(&ip, printed) : "";
    }
    publisher_leave(f->reader);
    return result;
}

/* The predicates check the records as well, once per loop iteration. */
static bool is_started(const void *data)
{
    const struct fixture *f = data;
    return f->is_ready;
}

static bool is_ready(const void *data)
{
    const struct fixture *f = data;
    if (!f->is_ready) {
        assert_null(store_sync_etcd_address(f, "stays.test"));
    }
    return f->is_ready;
}

static void until_ready(struct fixture *f)
{
    loop_until(f->loop, is_ready, f);
}

static bool store_sync_etcd_is_caught_up(const void *data)
{
    const struct fixture *f = data;
    assert_string_equal(store_sync_etcd_address(f, "stays.test"), "10.0.0.1");
    return store_sync_counts(f->sync).revision >= f->written;
}

/* Runs until everything written has arrived; `stays.test` must be answered all the time. */
static void store_sync_etcd_catch_up(struct fixture *f)
{
    loop_until(f->loop, store_sync_etcd_is_caught_up, f);
}

static void store_sync_etcd_setup(struct fixture *f)
{
    f->proc = etcd_proc_start();
    f->writer_loop = ev_loop_new(0);
    f->loop = ev_loop_new(0);
    f->publisher = publisher_new();
    f->reader = publisher_reader_new(f->publisher);
    struct etcd_config client = {.loop = f->writer_loop,
                                 .endpoints = etcd_proc_url(f->proc),
                                 .call_timeout_ms = CALL_TIMEOUT_MS};
    assert_int_equal(etcd_new(&client, &f->writer, NULL), 0);
    store_sync_etcd_put(f, "/skydns/test/stays", "{\"host\":\"10.0.0.1\"}");
}

static void store_sync_etcd_teardown(struct fixture *f)
{
    store_sync_stop(f->sync);
    publisher_free(f->publisher);
    etcd_free(f->etcd);
    etcd_free(f->writer);
    ev_loop_destroy(f->loop);
    ev_loop_destroy(f->writer_loop);
    etcd_proc_free(f->proc);
}

UNIT_FIXTURE(struct fixture, store_sync_etcd_setup, store_sync_etcd_teardown)
UNIT_TESTS_NEED(etcd_proc_missing)

/* ---- Tests ---- */

UNIT_TEST_ON(test_first_content, struct fixture *f)
{
    store_sync_etcd_put(f, "/skydns/test/b", "{\"host\":");
    store_sync_etcd_put(f, "/skydns/config", "{\"domain\":\"test.\"}");
    store_sync_etcd_put(f, "/skydnsx/test/c", "{\"host\":\"10.0.0.3\"}");
    store_sync_etcd_start_sync(f);
    until_ready(f);
    assert_true(store_sync_is_ready(f->sync));
    assert_string_equal(store_sync_etcd_address(f, "stays.test"), "10.0.0.1");
    assert_string_equal(store_sync_etcd_address(f, "c.test"), "");
    struct store_sync_counts counts = store_sync_counts(f->sync);
    assert_int_equal(counts.keys, 1);
    assert_int_equal(counts.skipped, 1);
    assert_int_equal(counts.published, 1);
    assert_int_equal(counts.revision, f->written);
}

/* More than two pages of the mirror. */
UNIT_TEST_ON(test_many_keys, struct fixture *f)
{
    enum { TXNS = 90, KEYS = TXNS * ETCD_TXN_OPS_MAX };
    static char keys[ETCD_TXN_OPS_MAX][64], values[ETCD_TXN_OPS_MAX][64];
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    for (int t = 0; t < TXNS; t++) {
        for (int i = 0; i < ETCD_TXN_OPS_MAX; i++) {
            (void)snprintf(keys[i], sizeof(keys[i]), "/skydns/test/many/k%d-%d", t, i);
            (void)snprintf(values[i], sizeof(values[i]), "{\"host\":\"10.1.%d.%d\"}", t, i);
            ops[i] = (struct etcd_op){
                .kind = ETCD_OP_PUT, .key = slice_str(keys[i]), .value = slice_str(values[i])};
        }
        write_ops(f, ops, ETCD_TXN_OPS_MAX);
    }
    store_sync_etcd_start_sync(f);
    until_ready(f);
    assert_int_equal(store_sync_counts(f->sync).keys, KEYS + 1);
    for (int t = 0; t < TXNS; t++) {
        for (int i = 0; i < ETCD_TXN_OPS_MAX; i++) {
            char name[64], want[32];
            (void)snprintf(name, sizeof(name), "k%d-%d.many.test", t, i);
            (void)snprintf(want, sizeof(want), "10.1.%d.%d", t, i);
            assert_string_equal(store_sync_etcd_address(f, name), want);
        }
    }
}

UNIT_TEST_ON(test_changes, struct fixture *f)
{
    static const struct {
        const char *value; /* NULL: deleted */
        const char *want;
    } steps[] = {
        {"{\"host\":\"10.0.0.2\"}", "10.0.0.2"},
        {"{\"host\":\"10.0.0.3\"}", "10.0.0.3"},
        {NULL, ""},
        {"{\"host\":\"10.0.0.4\"}", "10.0.0.4"},
        {"{\"host\":10}", ""}, /* broken: not an address */
        {"{\"host\":\"10.0.0.5\"}", "10.0.0.5"},
    };
    store_sync_etcd_start_sync(f);
    until_ready(f);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (steps[i].value) {
            store_sync_etcd_put(f, "/skydns/test/a", steps[i].value);
        } else {
            store_sync_etcd_del(f, "/skydns/test/a");
        }
        store_sync_etcd_catch_up(f);
        assert_string_equal(store_sync_etcd_address(f, "a.test"), steps[i].want);
    }
    assert_int_equal(store_sync_counts(f->sync).skipped, 1);
}

/* One transaction is one version: readers never see one name without the other. */
UNIT_TEST_ON(test_a_revision_comes_whole, struct fixture *f)
{
    store_sync_etcd_start_sync(f);
    until_ready(f);
    uint64_t published = store_sync_counts(f->sync).published;
    const struct etcd_op ops[] = {
        {.kind = ETCD_OP_PUT,
         .key = slice_str("/skydns/test/a"),
         .value = slice_str("{\"host\":\"10.0.0.2\"}")},
        {.kind = ETCD_OP_PUT,
         .key = slice_str("/skydns/test/b"),
         .value = slice_str("{\"host\":\"10.0.0.3\"}")},
    };
    write_ops(f, ops, ARRAY_LEN(ops));
    store_sync_etcd_catch_up(f);
    assert_string_equal(store_sync_etcd_address(f, "a.test"), "10.0.0.2");
    assert_string_equal(store_sync_etcd_address(f, "b.test"), "10.0.0.3");
    assert_int_equal(store_sync_counts(f->sync).published, published + 1);
}

UNIT_TEST_ON(test_kill_and_restart, struct fixture *f)
{
    store_sync_etcd_start_sync(f);
    until_ready(f);
    etcd_proc_kill(f->proc);
    for (int turns = 0; turns < 5; turns++) { /* connection attempts fail meanwhile */
        ev_run(f->loop, EVRUN_ONCE);
        assert_string_equal(store_sync_etcd_address(f, "stays.test"), "10.0.0.1");
    }
    etcd_proc_restart(f->proc);
    store_sync_etcd_put(f, "/skydns/test/a", "{\"host\":\"10.0.0.2\"}");
    store_sync_etcd_catch_up(f);
    assert_string_equal(store_sync_etcd_address(f, "a.test"), "10.0.0.2");
    assert_true(store_sync_is_ready(f->sync));
}

UNIT_TEST_ON(test_compaction_while_away, struct fixture *f)
{
    store_sync_etcd_put(f, "/skydns/test/goes", "{\"host\":\"10.0.0.9\"}");
    store_sync_etcd_put(f, "/skydns/test/changes", "{\"host\":\"10.0.0.2\"}");
    store_sync_etcd_start_sync(f);
    until_ready(f);
    etcd_proc_kill(f->proc);
    etcd_proc_restart(f->proc);
    store_sync_etcd_del(f, "/skydns/test/goes");
    store_sync_etcd_put(f, "/skydns/test/changes", "{\"host\":\"10.0.0.3\"}");
    store_sync_etcd_put(f, "/skydns/test/comes", "{\"host\":\"10.0.0.4\"}");
    etcd_proc_compact(f->proc, f->written);
    assert_string_equal(store_sync_etcd_address(f, "goes.test"), "10.0.0.9");
    store_sync_etcd_catch_up(f);
    assert_string_equal(store_sync_etcd_address(f, "goes.test"), "");
    assert_string_equal(store_sync_etcd_address(f, "changes.test"), "10.0.0.3");
    assert_string_equal(store_sync_etcd_address(f, "comes.test"), "10.0.0.4");
    assert_int_equal(store_sync_counts(f->sync).keys, 3);

    store_sync_etcd_put(f, "/skydns/test/after",
                        "{\"host\":\"10.0.0.5\"}"); /* the watch is up again */
    store_sync_etcd_catch_up(f);
    assert_string_equal(store_sync_etcd_address(f, "after.test"), "10.0.0.5");
}

/* ---- From a snapshot ---- */

static bool is_saved(const void *data)
{
    const struct fixture *f = data;
    struct snapshot_image image;
    snapshot_image_init(&image);
    bool can = store_sync_save(f->sync, &image);
    snapshot_image_fini(&image);
    return can;
}

/* Ends it once it can be saved: then it has all that was written before it started. The caller
 * frees the content. */
static void end_saved(struct fixture *f, struct snapshot_content *ret_content)
{
    struct snapshot_image image;
    loop_until(f->loop, is_saved, f);
    snapshot_image_init(&image);
    assert_true(store_sync_save(f->sync, &image));
    image.store = store_sync_store(f->sync); /* stays: nothing else happens meanwhile */
    snapshot_copy(&image, ret_content);
    store_sync_stop(f->sync);
    etcd_free(f->etcd);
    publisher_free(f->publisher);
    f->sync = NULL;
    f->etcd = NULL;
    f->publisher = publisher_new();
    f->reader = publisher_reader_new(f->publisher);
    f->is_ready = false;
    f->zones = f->settings = 0;
}

/* The next one has everything at once, whatever etcd does. */
static void store_sync_etcd_start_saved(struct fixture *f, struct snapshot_content *content)
{
    struct err err;
    assert_that(store_sync_can_start(content, &err), "%s", err.msg);
    start_from(f, content);
    snapshot_content_fini(content);
    assert_string_equal(store_sync_etcd_address(f, "stays.test"), "10.0.0.1");
}

static bool store_sync_etcd_is_from_snapshot(const struct fixture *f)
{
    int64_t heard_ms;
    return store_sync_is_from_snapshot(f->sync, &heard_ms);
}

static bool is_confirmed(const void *data)
{
    return !store_sync_etcd_is_from_snapshot(data);
}

static void store_sync_etcd_confirm(struct fixture *f)
{
    assert_true(store_sync_etcd_is_from_snapshot(f));
    loop_until(f->loop, is_confirmed, f);
}

static bool store_sync_etcd_is_incomplete(const struct fixture *f, const char *domain)
{
    struct dname name = dname_from(domain);
    return store_sync_is_incomplete(f->sync, &name);
}

static bool is_other_incomplete(const void *data)
{
    return store_sync_etcd_is_incomplete(data, "other.");
}

static bool is_other_complete(const void *data)
{
    return !store_sync_etcd_is_incomplete(data, "other.");
}

static void store_sync_etcd_put_all(struct fixture *f)
{
    store_sync_etcd_put(f, "/skydns/test/goes", "{\"host\":\"10.0.0.2\"}");
    store_sync_etcd_put(f, "/skydns/test/bad", "{");
    store_sync_etcd_put(f, "/skydns/test/worse", "{");
    store_sync_etcd_put(f, "/skydns/test/dns/stub/local/acme/1", "{\"host\":\"10.0.0.53\"}");
    store_sync_etcd_put(f, "/skydns/config", "{\"ttl\":5}");
    store_sync_etcd_put(f, "/kube2sky/test/store", "one");
}

/* Etcd is away; it comes back with changes, and only those are asked for. */
UNIT_TEST_ON(test_only_what_has_changed, struct fixture *f)
{
    struct snapshot_content content;
    store_sync_etcd_put_all(f);
    store_sync_etcd_start_sync(f);
    end_saved(f, &content);
    etcd_proc_kill(f->proc);
    store_sync_etcd_start_saved(f, &content);
    assert_true(f->is_ready);
    assert_int_equal(f->settings, 0);
    assert_int_equal(f->zones, 1);
    assert_int_equal(store_sync_counts(f->sync).broken, 2);
    assert_string_equal(store_sync_etcd_address(f, "goes.test"), "10.0.0.2");
    assert_string_equal(store_sync_etcd_address(f, "bad.test"), "");
    etcd_proc_restart(f->proc);
    store_sync_etcd_del(f, "/skydns/test/goes");
    store_sync_etcd_put(f, "/skydns/test/bad", "{\"host\":\"10.0.0.3\"}");
    store_sync_etcd_del(f, "/skydns/test/worse");
    store_sync_etcd_put(f, "/skydns/config", "{\"ttl\":6}");
    store_sync_etcd_put(f, "/skydns/test/dns/stub/local/corp/1", "{\"host\":\"10.0.0.54\"}");
    store_sync_etcd_confirm(f);
    assert_string_equal(store_sync_etcd_address(f, "goes.test"), "");
    assert_string_equal(store_sync_etcd_address(f, "bad.test"), "10.0.0.3");
    assert_int_equal(f->zones, 2);
    assert_int_equal(f->settings, 1);
    assert_string_equal(f->document, "{\"ttl\":6}");
    struct store_sync_counts counts = store_sync_counts(f->sync);
    assert_int_equal(counts.broken, 0);
    assert_int_equal(counts.reads, 0);
    assert_int_equal(counts.mirror.resumed, 1);
    assert_int_equal(counts.mirror.events, 5);

    end_saved(f, &content); /* and again, with nothing new */
    store_sync_etcd_start_saved(f, &content);
    store_sync_etcd_confirm(f);
    counts = store_sync_counts(f->sync);
    assert_int_equal(counts.reads, 0);
    assert_int_equal(counts.mirror.events, 0);
    assert_int_equal(f->settings, 0);
    assert_int_equal(f->zones, 2);
}

UNIT_TEST_ON(test_saved_then_compacted, struct fixture *f)
{
    struct snapshot_content content;
    store_sync_etcd_put_all(f);
    store_sync_etcd_start_sync(f);
    end_saved(f, &content);
    store_sync_etcd_del(f, "/skydns/test/goes");
    store_sync_etcd_del(f, "/skydns/config");
    store_sync_etcd_put(f, "/skydns/test/comes", "{\"host\":\"10.0.0.4\"}");
    etcd_proc_compact(f->proc, f->written);
    store_sync_etcd_start_saved(f, &content);
    store_sync_etcd_confirm(f);
    assert_string_equal(store_sync_etcd_address(f, "stays.test"), "10.0.0.1");
    assert_string_equal(store_sync_etcd_address(f, "goes.test"), "");
    assert_string_equal(store_sync_etcd_address(f, "comes.test"), "10.0.0.4");
    assert_string_equal(f->document, "none");
    assert_int_equal(store_sync_counts(f->sync).reads, 1);
}

/* Nothing goes until its writer has written all again. */
UNIT_TEST_ON(test_saved_then_emptied, struct fixture *f)
{
    struct snapshot_content content;
    store_sync_etcd_put_all(f);
    store_sync_etcd_start_sync(f);
    end_saved(f, &content);
    etcd_proc_kill(f->proc);
    etcd_proc_wipe(f->proc);
    etcd_proc_restart(f->proc);
    store_sync_etcd_put(f, "/skydns/test/comes", "{\"host\":\"10.0.0.4\"}");
    store_sync_etcd_start_saved(f, &content);
    store_sync_etcd_confirm(f);
    assert_string_equal(store_sync_etcd_address(f, "comes.test"), "10.0.0.4");
    assert_string_equal(store_sync_etcd_address(f, "goes.test"), "10.0.0.2");
    assert_false(store_sync_etcd_is_incomplete(f, "test."));
    assert_true(store_sync_counts(f->sync).mirror.is_holding_old);

    end_saved(f, &content); /* still so in the next life */
    store_sync_etcd_start_saved(f, &content);
    assert_string_equal(store_sync_etcd_address(f, "goes.test"), "10.0.0.2");
    assert_false(store_sync_etcd_is_incomplete(f, "test."));
    store_sync_etcd_confirm(f);
    assert_string_equal(store_sync_etcd_address(f, "goes.test"), "10.0.0.2");
    store_sync_etcd_put(f, "/skydns/test/stays", "{\"host\":\"10.0.0.1\"}");
    store_sync_etcd_put(f, "/kube2sky/test/store", "two");
    while (*store_sync_etcd_address(f, "goes.test")) {
        ev_run(f->loop, EVRUN_ONCE);
        assert_string_equal(store_sync_etcd_address(f, "stays.test"), "10.0.0.1");
    }
    assert_false(store_sync_counts(f->sync).mirror.is_holding_old);
    assert_false(store_sync_etcd_is_incomplete(f, "test."));
}

/* An older copy of the same store lacks what was written since. */
UNIT_TEST_ON(test_saved_then_restored, struct fixture *f)
{
    struct snapshot_content content;
    store_sync_etcd_put_all(f);
    etcd_proc_terminate(f->proc);
    etcd_proc_save(f->proc);
    etcd_proc_restart(f->proc);
    store_sync_etcd_put(f, "/skydns/test/late", "{\"host\":\"10.0.0.5\"}");
    store_sync_etcd_start_sync(f);
    end_saved(f, &content);
    etcd_proc_kill(f->proc);
    etcd_proc_restore(f->proc);
    etcd_proc_restart(f->proc);
    store_sync_etcd_put(f, "/skydns/test/comes",
                        "{\"host\":\"10.0.0.4\"}"); /* at late's revision */
    store_sync_etcd_start_saved(f, &content);
    store_sync_etcd_confirm(f);
    assert_string_equal(store_sync_etcd_address(f, "late.test"), "10.0.0.5");
    assert_string_equal(store_sync_etcd_address(f, "comes.test"), "10.0.0.4");
    assert_true(store_sync_counts(f->sync).mirror.is_holding_old);
}

/* Restores store keys of a second domain, too: one that has gone, and one that comes. */
UNIT_TEST_ON(test_saved_store_keys, struct fixture *f)
{
    struct snapshot_content content;
    store_sync_etcd_put_all(f);
    store_sync_etcd_put(f, "/kube2sky/other/store", "one");
    f->requires_store_key = true;
    store_sync_etcd_start_sync(f);
    loop_until(f->loop, is_started, f);
    f->requires_store_key = false;
    end_saved(f, &content);
    store_sync_etcd_start_saved(f, &content);
    assert_false(store_sync_etcd_is_incomplete(f, "other."));
    store_sync_etcd_confirm(f);
    end_saved(f, &content);
    store_sync_etcd_del(f, "/kube2sky/other/store");
    store_sync_etcd_start_saved(f, &content);
    assert_false(store_sync_etcd_is_incomplete(f, "other."));
    loop_until(f->loop, is_other_incomplete, f);
    loop_until(f->loop, is_confirmed, f);
    assert_false(store_sync_etcd_is_incomplete(f, "test."));
    end_saved(f, &content);
    store_sync_etcd_put(f, "/kube2sky/other/store", "two");
    f->requires_store_key = true;
    store_sync_etcd_start_saved(f, &content);
    assert_false(f->is_ready);
    assert_true(store_sync_etcd_is_incomplete(f, "other."));
    loop_until(f->loop, is_other_complete, f);
    assert_int_equal(store_sync_counts(f->sync).reads, 1); /* what was written before the key */
    assert_true(f->is_ready);
    assert_false(store_sync_etcd_is_incomplete(f, "test."));
}

/* ---- Clients ---- */

/* Returns whose the pod's address below is; "": nobody's. In static storage. */
static const char *store_sync_etcd_client(const struct fixture *f)
{
    static char text[64];
    struct ip ip = ip_from("10.1.0.1");
    (void)publisher_enter(f->reader);
    struct slice label = client_space_label(client_index_find(store_sync_clients(f->sync), &ip));
    (void)snprintf(text, sizeof(text), "%.*s", (int)label.len, label.ptr); /* fits */
    publisher_leave(f->reader);
    return text;
}

static bool store_sync_etcd_is_known(const void *data)
{
    return strcmp(store_sync_etcd_client(data), "x") == 0;
}

static bool is_nobody(const void *data)
{
    return strcmp(store_sync_etcd_client(data), "") == 0;
}

struct granted {
    int64_t id; /* 0: not yet */
};

static void store_sync_etcd_on_granted(void *data, const struct etcd_lease_reply *reply,
                                       const struct err *err)
{
    struct granted *granted = data;
    assert_null(err);
    granted->id = reply->id;
}

static bool store_sync_etcd_is_granted(const void *data)
{
    return ((const struct granted *)data)->id != 0;
}

static void put_leased(struct fixture *f, const char *key, const char *value, int64_t ttl_s)
{
    struct granted granted = {.id = 0};
    etcd_lease_grant(f->writer, 0, ttl_s, store_sync_etcd_on_granted, &granted);
    loop_until(f->writer_loop, store_sync_etcd_is_granted, &granted);
    const struct etcd_op op = {
        .kind = ETCD_OP_PUT, .key = slice_str(key), .value = slice_str(value), .lease = granted.id};
    write_ops(f, &op, 1);
}

static bool is_lease_known(const void *data)
{
    const struct fixture *f = data;
    struct lease_counts leases = store_sync_counts(f->sync).leases;
    return leases.questions > 0 && leases.asking == 0;
}

static const char pod_key[] = "/skydns/test/pod/x/10-1-0-1/h";
static const char pod_value[] = "{\"host\":\"10.1.0.1\"}";

UNIT_TEST_ON(test_clients, struct fixture *f)
{
    f->wants_clients = CLIENTS_FOR_ANSWERS;
    store_sync_etcd_put(f, pod_key, pod_value);
    store_sync_etcd_start_sync(f);
    loop_until(f->loop, store_sync_etcd_is_known, f);
    store_sync_etcd_put(f, "/kube2sky/other/node-address/n", pod_value);
    loop_until(f->loop, is_nobody, f);
    store_sync_etcd_del(f, "/kube2sky/other/node-address/n");
    loop_until(f->loop, store_sync_etcd_is_known, f);
    store_sync_set_clients(f->sync, CLIENTS_UNKNOWN, false);
    assert_true(is_nobody(f));
    store_sync_set_clients(f->sync, CLIENTS_FOR_ANSWERS, false);
    assert_true(is_nobody(f)); /* not known yet which addresses are nodes' */
    loop_until(f->loop, store_sync_etcd_is_known, f);
    store_sync_etcd_del(f, pod_key);
    loop_until(f->loop, is_nobody, f);
}

static bool has_pod(const void *data)
{
    return *store_sync_etcd_address((const struct fixture *)data, "h.10-1-0-1.x.pod.test") != '\0';
}

static bool lacks_pod(const void *data)
{
    return !has_pod(data);
}

/* A record that the store lacks since its lease has ended, as far as the snapshot knows, and that
 * comes back without an event. */
UNIT_TEST_ON(test_a_client_with_a_lease, struct fixture *f)
{
    enum { TTL_S = 600 };
    struct snapshot_content content;
    f->wants_clients = CLIENTS_FOR_ANSWERS;
    put_leased(f, pod_key, pod_value, TTL_S);
    store_sync_etcd_start_sync(f);
    loop_until(f->loop, store_sync_etcd_is_known, f);
    loop_until(f->loop, is_lease_known, f);
    end_saved(f, &content);
    etcd_proc_kill(f->proc);
    store_sync_etcd_start_saved(f, &content);
    assert_true(is_nobody(f) && has_pod(f)); /* its address may be another's by now */
    test_clock_stop();
    test_clock_advance_ms(INT64_C(2) * TTL_S * 1000);
    test_clock_run();
    loop_until(f->loop, lacks_pod, f);
    etcd_proc_restart(f->proc);
    store_sync_etcd_confirm(f);
    loop_until(f->loop, store_sync_etcd_is_known, f);
}
