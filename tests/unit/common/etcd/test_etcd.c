/* The typed calls of common/etcd/etcd.h against a real etcd: pages, transactions, error texts, and
 * what happens when it goes away and comes back. */
#include "common/etcd/etcd.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 60000 };

struct fixture {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;
};

static struct fixture f;

static void etcd_connect_to(const char *endpoints, uint32_t timeout_ms)
{
    etcd_free(f.etcd);
    f.etcd = sync_client(f.loop, endpoints, timeout_ms);
}

static int etcd_start(void **state)
{
    f.loop = ev_loop_new(EVFLAG_AUTO);
    f.proc = etcd_proc_start();
    return 0;
}

static int etcd_stop(void **state)
{
    etcd_proc_free(f.proc);
    ev_loop_destroy(f.loop);
    return 0;
}

UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(etcd_start, etcd_stop)

static int etcd_each(void **state)
{
    if (f.proc) {
        etcd_connect_to(etcd_proc_url(f.proc), CALL_TIMEOUT_MS);
    }
    return 0;
}

static int etcd_each_end(void **state)
{
    etcd_free(f.etcd);
    f.etcd = NULL;
    return 0;
}

/* ---- Range, step by step ---- */

struct range_result {
    bool is_done;
    struct err err;
    int64_t revision;
    size_t count;
    bool more;
    char first[64];
    char last[64];
    char value[64]; /* of the first */
    int64_t mod_revision;
};

static void etcd_copy_text(char out[64], struct slice s)
{
    size_t n = s.len < 63 ? s.len : 63;
    if (n) {
        memcpy(out, s.ptr, n);
    }
    out[n] = '\0';
}

static void etcd_on_range(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct range_result *r = data;
    r->is_done = true;
    assert_true(!reply == !!err); /* exactly one of them */
    if (err) {
        r->err = *err;
        return;
    }
    r->revision = reply->revision;
    r->count = reply->count;
    r->more = reply->more;
    if (reply->count > 0) {
        etcd_copy_text(r->first, reply->kvs[0].key);
        etcd_copy_text(r->value, reply->kvs[0].value);
        etcd_copy_text(r->last, reply->kvs[reply->count - 1].key);
        r->mod_revision = reply->kvs[0].mod_revision;
    }
}

static bool is_range_done(const void *data)
{
    return ((const struct range_result *)data)->is_done;
}

static struct range_result etcd_get(const struct etcd_range *range)
{
    struct range_result r = {.is_done = false};
    etcd_range(f.etcd, range, etcd_on_range, &r);
    assert_false(r.is_done); /* never from inside the call */
    loop_until(f.loop, is_range_done, &r);
    return r;
}

static struct range_result etcd_get_ok(const struct etcd_range *range)
{
    struct range_result r = etcd_get(range);
    assert_that(!r.err.code, "range: %s", r.err.msg);
    return r;
}

/* ---- Tests ---- */

UNIT_TEST_IN(test_range_pages, etcd_each, etcd_each_end)
{
    int64_t revision = sync_put_many(f.loop, f.etcd, "/pages/", 300, slice_str("v"));
    struct etcd_range range = {
        .key = slice_str("/pages/"), .range_end = slice_str("/pages0"), .limit = 128};

    struct range_result r = etcd_get_ok(&range);
    assert_int_equal(r.count, 128);
    assert_true(r.more);
    assert_string_equal(r.first, "/pages/000000");
    assert_string_equal(r.last, "/pages/000127");
    assert_int_equal(r.revision, revision);

    /* Pinned: keys added past the cursor in between are not seen. */
    sync_put(f.loop, f.etcd, "/pages/999999", slice_str("late"));
    range.key = slice_str("/pages/000256");
    range.revision = revision;
    r = etcd_get_ok(&range);
    assert_int_equal(r.count, 300 - 256);
    assert_false(r.more);
    assert_string_equal(r.last, "/pages/000299");
}

UNIT_TEST_IN(test_range_one_key_and_none, etcd_each, etcd_each_end)
{
    int64_t revision = sync_put(f.loop, f.etcd, "/one", slice_str("first"));
    struct range_result r = etcd_get_ok(&(struct etcd_range){.key = slice_str("/one")});
    assert_int_equal(r.count, 1);
    assert_string_equal(r.value, "first");
    assert_int_equal(r.mod_revision, revision);

    r = etcd_get_ok(&(struct etcd_range){.key = slice_str("/one"), .keys_only = true});
    assert_int_equal(r.count, 1);
    assert_string_equal(r.value, "");

    r = etcd_get_ok(&(struct etcd_range){.key = slice_str("/nothing/here")});
    assert_int_equal(r.count, 0);
    assert_false(r.more);
    assert_int_equal(r.revision, revision);
}

UNIT_TEST_IN(test_range_of_lost_and_future_revisions, etcd_each, etcd_each_end)
{
    sync_put(f.loop, f.etcd, "/lost", slice_str("1"));
    int64_t revision = sync_put(f.loop, f.etcd, "/lost", slice_str("2"));
    etcd_proc_compact(f.proc, revision);

    struct range_result r =
        etcd_get(&(struct etcd_range){.key = slice_str("/lost"), .revision = revision - 1});
    assert_int_equal(r.err.code, ERR_COMPACTED);
    assert_non_null(strstr(r.err.msg, etcd_proc_url(f.proc)));
    assert_non_null(strstr(r.err.msg, "required revision has been compacted"));

    r = etcd_get(&(struct etcd_range){.key = slice_str("/lost"), .revision = revision + 1000});
    assert_int_equal(r.err.code, ERR_FUTURE);
    assert_non_null(strstr(r.err.msg, "future revision"));
}

UNIT_TEST_IN(test_txn_with_compares, etcd_each, etcd_each_end)
{
    const struct etcd_op put = {
        .kind = ETCD_OP_PUT, .key = slice_str("/txn/a"), .value = slice_str("1")};
    const struct etcd_compare absent = {
        .target = ETCD_COMPARE_CREATE_REVISION, .key = slice_str("/txn/a"), .revision = 0};
    struct etcd_txn txn = {.compares = &absent, .compare_count = 1, .ops = &put, .op_count = 1};
    struct etcd_txn_reply first;
    struct etcd_txn_reply reply;

    assert_int_equal(sync_txn(f.loop, f.etcd, &txn, &first, NULL), 0);
    assert_true(first.succeeded);
    assert_int_equal(sync_txn(f.loop, f.etcd, &txn, &reply, NULL), 0);
    assert_false(reply.succeeded); /* it exists now */
    assert_int_equal(reply.revision, first.revision);

    const struct etcd_compare unchanged = {.target = ETCD_COMPARE_MOD_REVISION,
                                           .key = slice_str("/txn/a"),
                                           .revision = first.revision};
    const struct etcd_op ops[] = {
        {.kind = ETCD_OP_DELETE, .key = slice_str("/txn/a")},
        {.kind = ETCD_OP_PUT, .key = slice_str("/txn/b"), .value = slice_str("2")},
    };
    txn = (struct etcd_txn){
        .compares = &unchanged, .compare_count = 1, .ops = ops, .op_count = ARRAY_LEN(ops)};
    assert_int_equal(sync_txn(f.loop, f.etcd, &txn, &reply, NULL), 0);
    assert_true(reply.succeeded);
    assert_int_equal(reply.revision, first.revision + 1); /* both in one revision */
    struct range_result r = etcd_get_ok(
        &(struct etcd_range){.key = slice_str("/txn/"), .range_end = slice_str("/txn0")});
    assert_int_equal(r.count, 1);
    assert_string_equal(r.first, "/txn/b");
}

UNIT_TEST_IN(test_txn_too_large, etcd_each, etcd_each_end)
{
    struct etcd_op ops[ETCD_TXN_OPS_MAX + 1];
    char keys[ARRAY_LEN(ops)][32];
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        snprintf(keys[i], sizeof(keys[i]), "/many/%zu", i);
        ops[i] = (struct etcd_op){.kind = ETCD_OP_PUT, .key = slice_str(keys[i])};
    }
    struct etcd_txn txn = {.ops = ops, .op_count = ARRAY_LEN(ops)};
    assert_int_equal(sync_txn(f.loop, f.etcd, &txn, NULL, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "too many operations in txn request"));
    txn.op_count = ETCD_TXN_OPS_MAX;
    assert_int_equal(sync_txn(f.loop, f.etcd, &txn, NULL, &err), 0);

    ops[1].key = ops[0].key;
    assert_int_equal(sync_txn(f.loop, f.etcd, &txn, NULL, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "duplicate key"));

    /* Above etcd's limit of 1.5 MiB, below ours; then above ours, which is not even sent. */
    CLEANUP_FREE char *large = xcalloc(3, 1 << 20);
    ops[0].value = slice_of(large, 1700000);
    txn.op_count = 1;
    assert_int_equal(sync_txn(f.loop, f.etcd, &txn, NULL, &err), ERR_REFUSED);
    assert_non_null(strstr(err.msg, "request is too large"));
    ops[0].value = slice_of(large, 3 << 20);
    assert_int_equal(sync_txn(f.loop, f.etcd, &txn, NULL, &err), ERR_TOO_LARGE);
}

UNIT_TEST_IN(test_large_values, etcd_each, etcd_each_end)
{
    CLEANUP_FREE char *value = xmalloc(1400000);
    memset(value, 'x', 1400000);
    for (int i = 0; i < 5; i++) {
        char key[32];
        snprintf(key, sizeof(key), "/large/%d", i);
        sync_put(f.loop, f.etcd, key, slice_of(value, 1400000));
    }
    struct range_result r = etcd_get_ok(
        &(struct etcd_range){.key = slice_str("/large/"), .range_end = slice_str("/large0")});
    assert_int_equal(r.count, 5);
}

UNIT_TEST_IN(test_pipelined_calls_and_cancel, etcd_each, etcd_each_end)
{
    enum { CALLS = 200 };
    static struct range_result results[CALLS];
    struct etcd_call *calls[CALLS];
    memset(results, 0, sizeof(results));
    sync_put(f.loop, f.etcd, "/pipelined", slice_str("x"));
    for (int i = 0; i < CALLS; i++) {
        calls[i] = etcd_range(f.etcd, &(struct etcd_range){.key = slice_str("/pipelined")},
                              etcd_on_range, &results[i]);
    }
    for (int i = 0; i < CALLS; i += 2) {
        etcd_call_cancel(calls[i]);
    }
    for (int i = 1; i < CALLS; i += 2) {
        loop_until(f.loop, is_range_done, &results[i]);
        assert_int_equal(results[i].err.code, 0);
        assert_int_equal(results[i].count, 1);
        assert_false(results[i - 1].is_done);
    }
}

UNIT_TEST_IN(test_too_many_calls, etcd_each, etcd_each_end)
{
    enum { CALLS = 1025 };
    struct range_result *results = xcalloc(CALLS, sizeof(*results));
    unsigned refused = 0;
    for (int i = 0; i < CALLS; i++) {
        etcd_range(f.etcd, &(struct etcd_range){.key = slice_str("/x")}, etcd_on_range,
                   &results[i]);
    }
    for (int i = 0; i < CALLS; i++) {
        loop_until(f.loop, is_range_done, &results[i]);
        refused += results[i].err.code == ERR_TOO_LARGE;
    }
    assert_int_equal(refused, 1);
    assert_int_equal(results[CALLS - 1].err.code, ERR_TOO_LARGE);
    free(results);
}

UNIT_TEST_IN(test_nobody_listens, etcd_each, etcd_each_end)
{
    etcd_proc_kill(f.proc);
    struct range_result r = etcd_get(&(struct etcd_range){.key = slice_str("/x")});
    assert_int_equal(r.err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(r.err.msg, etcd_proc_url(f.proc)));
    assert_non_null(strstr(r.err.msg, "Connection refused"));

    etcd_proc_restart(f.proc);
    assert_int_equal(etcd_get(&(struct etcd_range){.key = slice_str("/x")}).err.code, 0);
}

UNIT_TEST_IN(test_killed_in_between, etcd_each, etcd_each_end)
{
    sync_put(f.loop, f.etcd, "/kept", slice_str("x"));
    etcd_proc_kill(f.proc);
    etcd_proc_restart(f.proc);
    /* The old connection is dead and the client may not have noticed yet: one error at most. */
    struct range_result r = etcd_get(&(struct etcd_range){.key = slice_str("/kept")});
    if (r.err.code) {
        assert_int_equal(r.err.code, ERR_UNAVAILABLE);
        r = etcd_get_ok(&(struct etcd_range){.key = slice_str("/kept")});
    }
    assert_int_equal(r.count, 1);
}

UNIT_TEST_IN(test_next_endpoint, etcd_each, etcd_each_end)
{
    char endpoints[128];
    /* Nobody listens on port 1 of loopback. */
    snprintf(endpoints, sizeof(endpoints), "http://127.0.0.1:1,%s", etcd_proc_url(f.proc));
    etcd_connect_to(endpoints, CALL_TIMEOUT_MS);
    etcd_get_ok(&(struct etcd_range){.key = slice_str("/x")});
}

UNIT_TEST_IN(test_deadline, etcd_each, etcd_each_end)
{
    etcd_connect_to(etcd_proc_url(f.proc), 200);
    /* A working call first, to connect. Slow machines: retry until one works. */
    while (etcd_get(&(struct etcd_range){.key = slice_str("/x")}).err.code) {
    }
    etcd_proc_pause(f.proc);
    struct range_result r = etcd_get(&(struct etcd_range){.key = slice_str("/x")});
    etcd_proc_resume(f.proc);
    assert_int_equal(r.err.code, ERR_TIMEOUT);
    assert_non_null(strstr(r.err.msg, "no response within 200 ms"));
}

/* Two independent etcds: the value tells which one answered. */
UNIT_TEST_IN(test_hung_member_is_left, etcd_each, etcd_each_end)
{
    struct etcd_proc *other = etcd_proc_start();
    const struct etcd_range range = {.key = slice_str("/who")};
    char endpoints[128];
    etcd_connect_to(etcd_proc_url(other), CALL_TIMEOUT_MS);
    sync_put(f.loop, f.etcd, "/who", slice_str("other"));
    etcd_connect_to(etcd_proc_url(f.proc), CALL_TIMEOUT_MS);
    sync_put(f.loop, f.etcd, "/who", slice_str("first"));

    snprintf(endpoints, sizeof(endpoints), "%s,%s", etcd_proc_url(f.proc), etcd_proc_url(other));
    etcd_connect_to(endpoints, 200);
    struct range_result r;
    do { /* slow machines: until one answers in time */
        r = etcd_get(&range);
    } while (r.err.code);
    bool is_other = strcmp(r.value, "other") == 0;
    struct etcd_proc *hung = is_other ? other : f.proc;
    etcd_proc_pause(hung);
    assert_int_equal(etcd_get(&range).err.code, ERR_TIMEOUT);
    do {
        r = etcd_get(&range);
    } while (r.err.code);
    assert_string_equal(r.value, is_other ? "first" : "other");
    etcd_proc_resume(hung);
    etcd_proc_free(other);
}

UNIT_TEST_IN(test_free_with_calls_under_way, etcd_each, etcd_each_end)
{
    struct range_result r = {.is_done = false};
    etcd_range(f.etcd, &(struct etcd_range){.key = slice_str("/x")}, etcd_on_range, &r);
    ev_run(f.loop, EVRUN_NOWAIT);
    etcd_free(f.etcd);
    f.etcd = NULL;
    ev_run(f.loop, EVRUN_NOWAIT);
    assert_false(r.is_done);
}

UNIT_TEST(test_prefix_end)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"/skydns/", "/skydns0"}, {"a", "b"}, {"a\xff\xff", "b"}, {"\xff\xff", ""}, {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[16];
        struct slice end = etcd_prefix_end(slice_str(cases[i].in), out);
        assert_that(slice_equal(end, slice_str(cases[i].want)),
                    "prefix `%s`: want `%s`, got `%.*s`", cases[i].in, cases[i].want, (int)end.len,
                    end.ptr);
    }
}
