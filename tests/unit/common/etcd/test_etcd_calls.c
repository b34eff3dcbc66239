/* Each call of common/etcd/etcd.h and etcd_lease.h that changes something or asks about etcd
 * itself, against a real etcd; Range and Txn are in test_etcd.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/etcd/etcd.h"
#include "common/etcd/etcd_lease.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"

enum { CALL_TIMEOUT_MS = 60000 };

static struct {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;
} f;

static int start(void **state)
{
    (void)state;
    f.loop = ev_loop_new(EVFLAG_AUTO);
    if (!etcd_proc_missing()) {
        f.proc = etcd_proc_start();
        f.etcd = sync_client(f.loop, etcd_proc_url(f.proc), CALL_TIMEOUT_MS);
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    etcd_free(f.etcd);
    etcd_proc_free(f.proc);
    ev_loop_destroy(f.loop);
    return 0;
}

/* What came of a call, whichever it was. */
struct result {
    bool is_done;
    struct err err;
    struct etcd_write_reply write;
    struct etcd_lease_reply lease;
    struct etcd_status_reply status;
    char version[32];
    size_t count; /* of a range */
    int64_t key_lease;
};

static bool is_done(const void *data)
{
    return ((const struct result *)data)->is_done;
}

static void finish(struct result *r, const void *reply, const struct err *err)
{
    assert_false(r->is_done);
    assert_true(!reply == !!err); /* exactly one of them */
    r->is_done = true;
    if (err) {
        r->err = *err;
    }
}

static void on_write(void *data, const struct etcd_write_reply *reply, const struct err *err)
{
    struct result *r = data;
    finish(r, reply, err);
    if (reply) {
        r->write = *reply;
    }
}

static void on_lease(void *data, const struct etcd_lease_reply *reply, const struct err *err)
{
    struct result *r = data;
    finish(r, reply, err);
    if (reply) {
        r->lease = *reply;
    }
}

static void on_status(void *data, const struct etcd_status_reply *reply, const struct err *err)
{
    struct result *r = data;
    finish(r, reply, err);
    if (reply) {
        r->status = *reply;
        (void)snprintf(r->version, sizeof(r->version), "%s", reply->version); /* "3.4.23" */
    }
}

static void on_range(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct result *r = data;
    finish(r, reply, err);
    if (reply) {
        r->count = reply->count;
        r->key_lease = reply->count ? reply->kvs[0].lease : 0;
    }
}

/* Waits for the call that was started with r. */
static void wait_for(struct result *r)
{
    assert_false(r->is_done); /* never from inside the call */
    loop_until(f.loop, is_done, r);
}

static void wait_ok(struct result *r)
{
    wait_for(r);
    if (r->err.code) {
        fail_msg("%s", r->err.msg);
    }
}

static struct result read_key(const char *key)
{
    struct result r = {.is_done = false};
    etcd_range(f.etcd, &(struct etcd_range){.key = slice_str(key)}, on_range, &r);
    wait_ok(&r);
    return r;
}

static int64_t put(const char *key, int64_t lease)
{
    struct result r = {.is_done = false};
    etcd_put(f.etcd,
             &(struct etcd_put){.key = slice_str(key), .value = slice_str("v"), .lease = lease},
             on_write, &r);
    wait_ok(&r);
    assert_true(r.write.revision > 0);
    return r.write.revision;
}

static void test_put_and_delete(void **state)
{
    (void)state;
    etcd_proc_need();
    struct result r = {.is_done = false};
    int64_t revision = put("/calls/a", 0);
    assert_int_equal(put("/calls/b", 0), revision + 1);
    assert_int_equal(put("/calls/c", 0), revision + 2);
    assert_int_equal(read_key("/calls/a").count, 1);

    etcd_delete(f.etcd, &(struct etcd_delete){.key = slice_str("/calls/a")}, on_write, &r);
    wait_ok(&r);
    assert_int_equal(r.write.deleted, 1);
    assert_int_equal(r.write.revision, revision + 3);
    assert_int_equal(read_key("/calls/a").count, 0);

    r = (struct result){.is_done = false};
    etcd_delete(
        f.etcd,
        &(struct etcd_delete){.key = slice_str("/calls/"), .range_end = slice_str("/calls0")},
        on_write, &r);
    wait_ok(&r);
    assert_int_equal(r.write.deleted, 2);
}

static void test_compact(void **state)
{
    (void)state;
    etcd_proc_need();
    struct result r = {.is_done = false};
    int64_t old = put("/compact", 0);
    int64_t revision = put("/compact", 0);
    etcd_compact(f.etcd, revision, on_write, &r);
    wait_ok(&r);

    r = (struct result){.is_done = false};
    etcd_range(f.etcd, &(struct etcd_range){.key = slice_str("/compact"), .revision = old},
               on_range, &r);
    wait_for(&r);
    assert_int_equal(r.err.code, ERR_COMPACTED);

    r = (struct result){.is_done = false};
    etcd_compact(f.etcd, old, on_write, &r);
    wait_for(&r);
    assert_int_equal(r.err.code, ERR_COMPACTED);
}

static void test_lease(void **state)
{
    (void)state;
    etcd_proc_need();
    enum { TTL_S = 600 };
    struct result r = {.is_done = false};
    etcd_lease_grant(f.etcd, 0, TTL_S, on_lease, &r);
    wait_ok(&r);
    int64_t id = r.lease.id;
    assert_int_not_equal(id, 0);
    assert_int_equal(r.lease.granted_s, TTL_S);

    put("/leased", id);
    assert_int_equal(read_key("/leased").key_lease, id);

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
    etcd_lease_revoke(f.etcd, id, on_write, &r);
    wait_ok(&r);
    assert_int_equal(read_key("/leased").count, 0);
}

static void test_lease_that_is_gone(void **state)
{
    (void)state;
    etcd_proc_need();
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
    etcd_lease_revoke(f.etcd, NO_LEASE, on_write, &r);
    wait_for(&r);
    assert_int_equal(r.err.code, ERR_NOT_FOUND);

    r = (struct result){.is_done = false};
    etcd_put(f.etcd, &(struct etcd_put){.key = slice_str("/x"), .lease = NO_LEASE}, on_write, &r);
    wait_for(&r);
    assert_int_equal(r.err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(r.err.msg, "requested lease not found"));
}

static void test_lease_that_is_refused(void **state)
{
    (void)state;
    etcd_proc_need();
    struct result r = {.is_done = false};
    etcd_lease_grant(f.etcd, 815, 60, on_lease, &r);
    wait_ok(&r);
    r = (struct result){.is_done = false};
    etcd_lease_grant(f.etcd, 815, 60, on_lease, &r);
    wait_for(&r);
    assert_int_equal(r.err.code, ERR_REFUSED);
    r = (struct result){.is_done = false};
    etcd_lease_grant(f.etcd, 0, INT64_MAX, on_lease, &r);
    wait_for(&r);
    assert_int_equal(r.err.code, ERR_REFUSED);
}

static void test_status(void **state)
{
    (void)state;
    etcd_proc_need();
    struct result r = {.is_done = false};
    int64_t revision = put("/status", 0);
    etcd_status(f.etcd, on_status, &r);
    wait_ok(&r);
    assert_int_equal(r.status.revision, revision);
    assert_int_equal(r.status.leader_id, r.status.member_id); /* it is alone */
    assert_true(r.status.cluster_id != 0);
    assert_true(r.status.db_size > 0);
    assert_int_equal(strncmp(r.version, "3.", 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_and_delete),
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_lease),
        cmocka_unit_test(test_lease_that_is_gone),
        cmocka_unit_test(test_lease_that_is_refused),
        cmocka_unit_test(test_status),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
