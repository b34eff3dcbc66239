/* common/etcd/name_lookup.h: the C library's own lookups, and the handling of the helper thread. */
#include <pthread.h>
#include <semaphore.h>

#include "common/etcd/name_lookup.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

struct outcome {
    unsigned calls;
    struct name_addresses addresses;
    struct err err; /* code 0 = found */
};

static struct ev_loop *loop;

static int etcd_name_lookup_start(void **state)
{
    loop = ev_loop_new(EVFLAG_AUTO);
    return 0;
}

static int name_lookup_stop(void **state)
{
    ev_loop_destroy(loop);
    return 0;
}

UNIT_TESTS_ONCE(etcd_name_lookup_start, name_lookup_stop)
UNIT_TESTS_HAVE_THREADS

static void name_lookup_on_done(void *data, const struct name_addresses *addresses,
                                const struct err *err)
{
    struct outcome *o = data;
    o->calls++;
    assert_true(!addresses == !!err); /* exactly one of them */
    if (addresses) {
        o->addresses = *addresses;
    } else {
        o->err = *err;
    }
}

static bool name_lookup_is_done(const void *data)
{
    return ((const struct outcome *)data)->calls > 0;
}

static struct name_lookup *name_lookup_begin(const char *host, name_lookup_fn look_up,
                                             struct outcome *o)
{
    return name_lookup_start(&(struct name_lookup_config){.loop = loop,
                                                          .host = host,
                                                          .port = 4001,
                                                          .look_up = look_up,
                                                          .on_done = name_lookup_on_done,
                                                          .data = o});
}

UNIT_TEST(test_localhost)
{
    struct outcome o = {0};
    name_lookup_begin("localhost", NULL, &o);
    assert_int_equal(o.calls, 0); /* never from inside the call */
    loop_until(loop, name_lookup_is_done, &o);
    assert_that(!o.err.code, "%s", o.err.msg);
    assert_in_range(o.addresses.count, 1, NAME_ADDRESSES_MAX);
    for (size_t i = 0; i < o.addresses.count; i++) {
        struct ip ip = addr_ip(&o.addresses.items[i]);
        assert_true(ip.family_bytes == 4 ? ip.bytes[0] == 127 : ip.bytes[15] == 1);
        assert_int_equal(addr_port(&o.addresses.items[i]), 4001);
    }
}

UNIT_TEST(test_no_such_name)
{
    struct outcome o = {0};
    name_lookup_begin("a..b", NULL, &o); /* an empty label: rejected without a query */
    loop_until(loop, name_lookup_is_done, &o);
    assert_int_equal(o.err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(o.err.msg, "look up `a..b`: "));
}

/* ---- A lookup that takes as long as the test wants ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static sem_t entered;

static int look_up_slowly(const char *host, uint16_t port, struct name_addresses *ret,
                          struct err *err)
{
    (void)sem_post(&entered);
    (void)pthread_mutex_lock(&gate);
    (void)pthread_mutex_unlock(&gate);
    ret->count = 0;
    return err_set(err, ERR_UNAVAILABLE, "look up `%s`: closed", host);
}

UNIT_TEST(test_cancel_while_it_waits)
{
    struct outcome o = {0};
    struct outcome other = {0};
    assert_int_equal(sem_init(&entered, 0, 0), 0);
    assert_int_equal(pthread_mutex_lock(&gate), 0);
    struct name_lookup *lookup = name_lookup_begin("slow", look_up_slowly, &o);
    assert_int_equal(sem_wait(&entered), 0);

    name_lookup_begin("localhost", NULL, &other); /* the loop is free meanwhile */
    loop_until(loop, name_lookup_is_done, &other);
    name_lookup_cancel(lookup);
    assert_int_equal(pthread_mutex_unlock(&gate), 0);

    memset(&other, 0, sizeof(other));
    name_lookup_begin("after", look_up_slowly, &other);
    loop_until(loop, name_lookup_is_done, &other);
    assert_non_null(strstr(other.err.msg, "`after`: closed"));
    assert_int_equal(o.calls, 0);
}

UNIT_TEST(test_cancel_at_any_time)
{
    struct outcome o = {0};
    for (int i = 0; i < 200; i++) {
        struct name_lookup *lookup = name_lookup_begin("soon", look_up_slowly, &o);
        if (i % 2) {
            ev_run(loop, EVRUN_NOWAIT);
        }
        if (o.calls == 0) {
            name_lookup_cancel(lookup);
        }
        o.calls = 0;
    }
    name_lookup_cancel(NULL);
}
