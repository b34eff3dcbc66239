/* The calls of common/etcd/etcd_lease.h, against a real etcd. Range and Txn are in test_etcd.c. */
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_lease.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 60000 };

static struct {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;
} f;

static int start_lease_bed(void **state)
{
    f.loop = ev_loop_new(EVFLAG_AUTO);
    f.proc = etcd_proc_start();
    f.etcd = sync_client(f.loop, etcd_proc_url(f.proc), CALL_TIMEOUT_MS);
    return 0;
}

static int stop_lease_bed(void **state)
{
    etcd_free(f.etcd);
    etcd_proc_free(f.proc);
    ev_loop_destroy(f.loop);
    return 0;
}

UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_lease_bed, stop_lease_bed)

/* The outcome of any call. */
struct result {
    bool is_done;
    struct err err;
    struct etcd_lease_reply lease;
    size_t count; /* of a range */
    int64_t key_lease;
};

static bool etcd_lease_is_done(const void *data)
{
    return ((const struct result *)data)->is_done;
}

static void etcd_lease_finish(struct result *r, const void *reply, const struct err *err)
{
    assert_false(r->is_done);
    assert_true(!reply == !!err); /* exactly one of them */
    r->is_done = true;
    if (err) {
        r->err = *err;
    }
}

static void etcd_lease_on_revoked(void *data, const struct etcd_revoke_reply *reply,
                                  const struct err *err)
{
    etcd_lease_finish(data, reply, err);
}

static void on_lease(void *data, const struct etcd_lease_reply *reply, const struct err *err)
{
    struct result *r = data;
    etcd_lease_finish(r, reply, err);
    if (reply) {
        r->lease = *reply;
    }
}

static void etcd_lease_on_range(void *data, const struct etcd_range_reply *reply,
                                const struct err *err)
{
    struct result *r = data;
    etcd_lease_finish(r, reply, err);
    if (reply) {
        r->count = reply->count;
        r->key_lease = reply->count ? reply->kvs[0].lease : 0;
    }
}

/* Waits for the call started with r. */
static void etcd_lease_wait_for(struct result *r)
{
    assert_false(r->is_done); /* never from inside the call */
    loop_until(f.loop, etcd_lease_is_done, r);
}

static void wait_ok(struct result *r)
{
    etcd_lease_wait_for(r);
    assert_that(!r->err.code, "%s", r->err.msg);
}

static struct result etcd_lease_read_key(const char *key)
{
    struct result r = {.is_done = false};
    etcd_range(f.etcd, &(struct etcd_range){.key = slice_str(key)}, etcd_lease_on_range, &r);
    wait_ok(&r);
    return r;
}

static int etcd_lease_put(const char *key, int64_t lease, struct err *err)
{
    const struct etcd_op op = {
        .kind = ETCD_OP_PUT, .key = slice_str(key), .value = slice_str("v"), .lease = lease};
    return sync_txn(f.loop, f.etcd, &(struct etcd_txn){.ops = &op, .op_count = 1}, NULL, err);
}

UNIT_TEST(test_lease)
{
    enum { TTL_S = 600 };
    struct result r = {.is_done = false};
    etcd_lease_grant(f.etcd, 0, TTL_S, on_lease, &r);
    wait_ok(&r);
    int64_t id = r.lease.id;
    assert_int_not_equal(id, 0);
    assert_int_equal(r.lease.granted_s, TTL_S);

    assert_int_equal(etcd_lease_put("/leased", id, NULL), 0);
    assert_int_equal(etcd_lease_read_key("/leased").key_lease, id);

    r = (struct result){.is_done = false};
    etcd_lease_time_to_live(f.etcd, id, on_lease, &r);
    wait_ok(&r);
    assert_int_equal(r.lease.id, id);
    assert_int_equal(r.lease.granted_s, TTL_S);
    assert_in_range(r.lease.ttl_s, 1, TTL_S);

    r = (struct result){.is_done = false};
    etcd_lease_keep_alive(f.etcd, id, on_lease, &r);
    wait_ok(&r);
    assert_int_equal(r.lease.id, id);
    assert_int_equal(r.lease.ttl_s, TTL_S);

    r = (struct result){.is_done = false};
    etcd_lease_revoke(f.etcd, id, etcd_lease_on_revoked, &r);
    wait_ok(&r);
    assert_int_equal(etcd_lease_read_key("/leased").count, 0);
}

UNIT_TEST(test_lease_that_is_gone)
{
    enum { NO_LEASE = 4711 };
    struct result r = {.is_done = false};
    etcd_lease_time_to_live(f.etcd, NO_LEASE, on_lease, &r);
    wait_ok(&r);
    assert_int_equal(r.lease.ttl_s, -1);

    r = (struct result){.is_done = false};
    etcd_lease_keep_alive(f.etcd, NO_LEASE, on_lease, &r);
    wait_ok(&r);
    assert_int_equal(r.lease.ttl_s, 0);

    r = (struct result){.is_done = false};
    etcd_lease_revoke(f.etcd, NO_LEASE, etcd_lease_on_revoked, &r);
    etcd_lease_wait_for(&r);
    assert_int_equal(r.err.code, ERR_NOT_FOUND);

    struct err err;
    assert_int_equal(etcd_lease_put("/x", NO_LEASE, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.msg, "requested lease not found"));
}

UNIT_TEST(test_lease_that_is_refused)
{
    struct result r = {.is_done = false};
    etcd_lease_grant(f.etcd, 815, 60, on_lease, &r);
    wait_ok(&r);
    r = (struct result){.is_done = false};
    etcd_lease_grant(f.etcd, 815, 60, on_lease, &r);
    etcd_lease_wait_for(&r);
    assert_int_equal(r.err.code, ERR_REFUSED);
    r = (struct result){.is_done = false};
    etcd_lease_grant(f.etcd, 0, INT64_MAX, on_lease, &r);
    etcd_lease_wait_for(&r);
    assert_int_equal(r.err.code, ERR_REFUSED);
}
