/* etcd_status_of of common/etcd/etcd_unary_internal.h. The texts are those that etcd 3.4's
 * grpc-proxy hands on. */
#include "common/base/err.h"
#include "common/etcd/etcd_unary_internal.h"
#include "tests/support/unit_test.h"

static int status_of_text(int status, const char *text, int *ret_code)
{
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "%s", text);
    status = etcd_status_of(status, &err);
    *ret_code = err.code;
    assert_string_equal(err.msg, text);
    return status;
}

static void etcd_status_expect(const char *text, int status, int code)
{
    int got;
    assert_int_equal(status_of_text(STATUS_UNKNOWN, text, &got), status);
    assert_int_equal(got, code);
}

UNIT_TEST(test_recognized)
{
    etcd_status_expect("etcdserver: invalid auth token", STATUS_UNAUTHENTICATED, ERR_REFUSED);
    etcd_status_expect("etcdserver: user name is empty", STATUS_INVALID_ARGUMENT, ERR_REFUSED);
    etcd_status_expect("etcdserver: permission denied", STATUS_PERMISSION_DENIED, ERR_REFUSED);
    etcd_status_expect("etcdserver: mvcc: required revision has been compacted",
                       STATUS_OUT_OF_RANGE, ERR_REFUSED);
    etcd_status_expect("etcdserver: mvcc: required revision is a future revision",
                       STATUS_OUT_OF_RANGE, ERR_REFUSED);
    etcd_status_expect("etcdserver: requested lease not found", STATUS_NOT_FOUND, ERR_NOT_FOUND);
    etcd_status_expect("etcdserver: request timed out, possibly due to connection lost",
                       STATUS_UNAVAILABLE, ERR_UNAVAILABLE);
}

UNIT_TEST(test_all_others_stay)
{
    int code;
    etcd_status_expect("etcdserver: something new", STATUS_UNKNOWN, ERR_UNAVAILABLE);
    etcd_status_expect("permission denied", STATUS_UNKNOWN, ERR_UNAVAILABLE); /* not etcd's */
    etcd_status_expect("", STATUS_UNKNOWN, ERR_UNAVAILABLE);
    assert_int_equal(status_of_text(STATUS_UNAVAILABLE, "etcdserver: permission denied", &code),
                     STATUS_UNAVAILABLE);
    assert_int_equal(code, ERR_UNAVAILABLE);
}
