/* store_sync with a real etcd: first content, changes, kill -9 and restart, compaction meanwhile.
 * The writer has its own client and loop, so the reader's loop does not run while it writes: as if
 * the reader were away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "skydns/sync/store_sync.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"

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

static void put(struct fixture *f, const char *key, const char *value)
{
    struct etcd_op op = {.kind = ETCD_OP_PUT, .key = slice_str(key), .value = slice_str(value)};
    write_ops(f, &op, 1);
}

static void del(struct fixture *f, const char *key)
{
    struct etcd_op op = {.kind = ETCD_OP_DELETE, .key = slice_str(key)};
    write_ops(f, &op, 1);
}

/* ---- The reader ---- */

static void on_ready(void *data)
{
    *(bool *)data = true;
}

static void start_sync(struct fixture *f)
{
    struct etcd_config client = {
        .loop = f->loop, .endpoints = etcd_proc_url(f->proc), .call_timeout_ms = CALL_TIMEOUT_MS};
    assert_int_equal(etcd_new(&client, &f->etcd, NULL), 0);
    struct dname domain;
    assert_true(dname_from_text(slice_str("test."), &domain));
    struct store_sync_config config = {.loop = f->loop,
                                       .etcd = f->etcd,
                                       .publisher = f->publisher,
                                       .path_prefix = "skydns",
                                       .domains = &domain,
                                       .domain_count = 1,
                                       .stale_max_ms = 5000,
                                       .on_ready = on_ready,
                                       .data = &f->is_ready};
    f->sync = store_sync_start(&config);
}

/* The address a reader finds; "" if there is no such record, NULL if there is no store. In static
 * storage. */
static const char *address(const struct fixture *f, const char *text)
{
    static char printed[INET6_ADDRSTRLEN];
    const char *result = NULL;
    struct dname name;
    assert_true(dname_from_text(slice_str(text), &name));
    const struct store *store = publisher_enter(f->reader);
    if (store) {
        const struct store_node *node = store_find(store, &name, NULL);
        const struct store_record *record = node ? store_node_record(node) : NULL;
        struct ip ip = record ? store_record_ip(record) : (struct ip){0};
        result = ip.family_bytes ? ip_format(&ip, printed) : "";
    }
    publisher_leave(f->reader);
    return result;
}

/* The predicates check the records as well, once per loop iteration. */
static bool is_ready(const void *data)
{
    const struct fixture *f = data;
    if (!f->is_ready) {
        assert_null(address(f, "stays.test"));
    }
    return f->is_ready;
}

static void until_ready(struct fixture *f)
{
    loop_until(f->loop, is_ready, f);
}

static bool is_caught_up(const void *data)
{
    const struct fixture *f = data;
    assert_string_equal(address(f, "stays.test"), "10.0.0.1");
    return store_sync_counts(f->sync).revision >= f->written;
}

/* Runs until everything written has arrived; `stays.test` must be answered all the time. */
static void catch_up(struct fixture *f)
{
    loop_until(f->loop, is_caught_up, f);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->proc = etcd_proc_start();
    f->writer_loop = ev_loop_new(0);
    f->loop = ev_loop_new(0);
    f->publisher = publisher_new();
    f->reader = publisher_reader_new(f->publisher);
    struct etcd_config client = {.loop = f->writer_loop,
                                 .endpoints = etcd_proc_url(f->proc),
                                 .call_timeout_ms = CALL_TIMEOUT_MS};
    assert_int_equal(etcd_new(&client, &f->writer, NULL), 0);
    put(f, "/skydns/test/stays", "{\"host\":\"10.0.0.1\"}");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    store_sync_stop(f->sync);
    publisher_free(f->publisher);
    etcd_free(f->etcd);
    etcd_free(f->writer);
    ev_loop_destroy(f->loop);
    ev_loop_destroy(f->writer_loop);
    etcd_proc_free(f->proc);
    free(f);
    return 0;
}

/* ---- Tests ---- */

static void test_first_content(void **state)
{
    struct fixture *f = *state;
    put(f, "/skydns/test/b", "{\"host\":");
    put(f, "/skydns/config", "{\"domain\":\"test.\"}");
    put(f, "/skydnsx/test/c", "{\"host\":\"10.0.0.3\"}");
    start_sync(f);
    until_ready(f);
    assert_true(store_sync_is_ready(f->sync));
    assert_string_equal(address(f, "stays.test"), "10.0.0.1");
    assert_string_equal(address(f, "c.test"), "");
    struct store_sync_counts counts = store_sync_counts(f->sync);
    assert_int_equal(counts.keys, 1);
    assert_int_equal(counts.skipped, 1);
    assert_int_equal(counts.published, 1);
    assert_int_equal(counts.revision, f->written);
}

/* More than two pages of the mirror. */
static void test_many_keys(void **state)
{
    struct fixture *f = *state;
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
    start_sync(f);
    until_ready(f);
    assert_int_equal(store_sync_counts(f->sync).keys, KEYS + 1);
    for (int t = 0; t < TXNS; t++) {
        for (int i = 0; i < ETCD_TXN_OPS_MAX; i++) {
            char name[64], want[32];
            (void)snprintf(name, sizeof(name), "k%d-%d.many.test", t, i);
            (void)snprintf(want, sizeof(want), "10.1.%d.%d", t, i);
            assert_string_equal(address(f, name), want);
        }
    }
}

static void test_changes(void **state)
{
    struct fixture *f = *state;
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
    start_sync(f);
    until_ready(f);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (steps[i].value) {
            put(f, "/skydns/test/a", steps[i].value);
        } else {
            del(f, "/skydns/test/a");
        }
        catch_up(f);
        assert_string_equal(address(f, "a.test"), steps[i].want);
    }
    assert_int_equal(store_sync_counts(f->sync).skipped, 1);
}

/* One transaction is one version: readers never see one name without the other. */
static void test_a_revision_comes_whole(void **state)
{
    struct fixture *f = *state;
    start_sync(f);
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
    catch_up(f);
    assert_string_equal(address(f, "a.test"), "10.0.0.2");
    assert_string_equal(address(f, "b.test"), "10.0.0.3");
    assert_int_equal(store_sync_counts(f->sync).published, published + 1);
}

static void test_kill_and_restart(void **state)
{
    struct fixture *f = *state;
    start_sync(f);
    until_ready(f);
    etcd_proc_kill(f->proc);
    for (int turns = 0; turns < 5; turns++) { /* connection attempts fail meanwhile */
        ev_run(f->loop, EVRUN_ONCE);
        assert_string_equal(address(f, "stays.test"), "10.0.0.1");
    }
    etcd_proc_restart(f->proc);
    put(f, "/skydns/test/a", "{\"host\":\"10.0.0.2\"}");
    catch_up(f);
    assert_string_equal(address(f, "a.test"), "10.0.0.2");
    assert_true(store_sync_is_ready(f->sync));
}

static void test_compaction_while_away(void **state)
{
    struct fixture *f = *state;
    put(f, "/skydns/test/goes", "{\"host\":\"10.0.0.9\"}");
    put(f, "/skydns/test/changes", "{\"host\":\"10.0.0.2\"}");
    start_sync(f);
    until_ready(f);
    etcd_proc_kill(f->proc);
    etcd_proc_restart(f->proc);
    del(f, "/skydns/test/goes");
    put(f, "/skydns/test/changes", "{\"host\":\"10.0.0.3\"}");
    put(f, "/skydns/test/comes", "{\"host\":\"10.0.0.4\"}");
    etcd_proc_compact(f->proc, f->written);
    assert_string_equal(address(f, "goes.test"), "10.0.0.9");
    catch_up(f);
    assert_string_equal(address(f, "goes.test"), "");
    assert_string_equal(address(f, "changes.test"), "10.0.0.3");
    assert_string_equal(address(f, "comes.test"), "10.0.0.4");
    assert_int_equal(store_sync_counts(f->sync).keys, 3);

    put(f, "/skydns/test/after", "{\"host\":\"10.0.0.5\"}"); /* the watch is up again */
    catch_up(f);
    assert_string_equal(address(f, "after.test"), "10.0.0.5");
}

static void test_needs_etcd(void **state)
{
    (void)state;
    print_message("skipped: %s\n", etcd_proc_missing());
    skip();
}

int main(void)
{
    if (etcd_proc_missing()) {
        const struct CMUnitTest skipped[] = {cmocka_unit_test(test_needs_etcd)};
        return cmocka_run_group_tests(skipped, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_content, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_revision_comes_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kill_and_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_compaction_while_away, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
