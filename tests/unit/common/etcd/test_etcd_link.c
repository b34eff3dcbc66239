/* common/etcd/etcd_link_internal.h against scripted peers, with a clock that the test advances:
 * when it connects, pings, closes, and moves to the next endpoint. */
#include "common/etcd/etcd_counts_internal.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/grpc/grpc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/grpc_peer.h"
#include "tests/support/h2_bytes.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { IDLE_LIMIT_MS = 30000, PING_INTERVAL_MS = 6000, CALL_TIMEOUT_MS = 5000 };

/* Loop iterations in which a client that must do nothing gets the chance to do it anyway. */
enum { TURNS = 20 };

static struct {
    struct ev_loop *loop;
    struct etcd_endpoints endpoints;
    struct etcd_link *link;
    struct etcd_counts counts;
    struct grpc_peer *peer;  /* the first endpoint */
    struct grpc_peer *other; /* the second; NULL: none */
} f;

/* ---- Calls ---- */

struct result {
    struct etcd_call *call;
    unsigned messages;
    bool is_ended;
    int status;
    struct err err;
};

static int etcd_link_on_message(void *data, struct slice message, struct err *err)
{
    ((struct result *)data)->messages++;
    return message.len == 0 ? 0 : err_set(err, ERR_PROTOCOL, "the only message is the empty one");
}

static void etcd_link_on_end(void *data, int status, const struct err *err)
{
    struct result *result = data;
    result->is_ended = true;
    result->status = status;
    if (err) {
        result->err = *err;
    }
}

static bool etcd_link_is_ended(const void *data)
{
    return ((const struct result *)data)->is_ended;
}

static bool has_message(const void *data)
{
    return ((const struct result *)data)->messages > 0;
}

static void call_over_link(struct result *result, uint32_t timeout_ms)
{
    const struct etcd_call_config config = {.path = "/test.Test/Call",
                                            .timeout_ms = timeout_ms,
                                            .on_message = etcd_link_on_message,
                                            .on_end = etcd_link_on_end,
                                            .data = result};
    struct buf request;
    buf_init(&request, 64);
    buf_append_str(&request, "request");
    *result = (struct result){.status = 0};
    result->call = etcd_link_call(f.link, &config, &request);
}

static void call_ok(void)
{
    struct result result;
    call_over_link(&result, CALL_TIMEOUT_MS);
    loop_until(f.loop, etcd_link_is_ended, &result);
    assert_that(!result.err.code, "%s", result.err.msg);
}

static void etcd_link_watch(struct result *result)
{
    call_over_link(result, 0);
    loop_until(f.loop, has_message, result);
}

/* ---- Peers ---- */

static const struct grpc_peer_counts *etcd_link_seen(void)
{
    return grpc_peer_counts(f.peer);
}

static void etcd_link_start(grpc_peer_answer answer, grpc_peer_answer other)
{
    char urls[256];
    struct err err;
    f.peer = grpc_peer_new(f.loop, answer);
    f.other = other ? grpc_peer_new(f.loop, other) : NULL;
    (void)snprintf(urls, sizeof(urls), "%s%s%s", grpc_peer_url(f.peer), other ? "," : "",
                   other ? grpc_peer_url(f.other) : "");
    assert_int_equal(etcd_endpoints_parse(urls, &f.endpoints, &err), 0);
    f.counts = (struct etcd_counts){.connections = {0}};
    f.link = etcd_link_new(
        &(struct etcd_link_config){.loop = f.loop, .endpoints = &f.endpoints, .counts = &f.counts});
}

static void etcd_link_stop(void)
{
    test_clock_run();
    etcd_link_free(f.link);
    grpc_peer_free(f.peer);
    grpc_peer_free(f.other);
    etcd_endpoints_fini(&f.endpoints);
}

static int etcd_link_setup(void **state)
{
    f.loop = ev_loop_new(EVFLAG_AUTO);
    return 0;
}

static int etcd_link_teardown(void **state)
{
    etcd_link_stop();
    ev_loop_destroy(f.loop);
    return 0;
}

UNIT_TESTS_EACH(etcd_link_setup, etcd_link_teardown)

/* Advances the clock: everything due happens. */
static void etcd_link_pass(int64_t ms)
{
    test_clock_advance_ms(ms);
    for (int i = 0; i < TURNS; i++) {
        ev_run(f.loop, EVRUN_NOWAIT);
    }
}

static bool nothing_is_open(const void *data)
{
    return ((const struct grpc_peer_counts *)data)->open == 0;
}

/* ---- The connection's lifetime ---- */

UNIT_TEST(test_closed_when_idle)
{
    etcd_link_start(grpc_peer_yes, NULL);
    assert_int_equal(etcd_link_seen()->accepted, 0); /* on demand */
    test_clock_stop();
    call_ok();
    etcd_link_pass(IDLE_LIMIT_MS - 1);
    assert_int_equal(etcd_link_seen()->open, 1);
    call_ok(); /* restarts the idle time */
    etcd_link_pass(IDLE_LIMIT_MS - 1);
    assert_int_equal(etcd_link_seen()->open, 1);
    assert_int_equal(etcd_link_seen()->accepted, 1);
    etcd_link_pass(2);
    loop_until(f.loop, nothing_is_open, etcd_link_seen());
    assert_int_equal(etcd_link_seen()->pings, 0); /* etcd treats pings without a stream as abuse */
    call_ok();
    assert_int_equal(etcd_link_seen()->accepted, 2);
    assert_int_equal(counter_get(&f.counts.connections), 2);
    assert_int_equal(counter_get(&f.counts.tls_connections), 0);
    assert_int_equal(counter_get(&f.counts.failures), 0);
}

UNIT_TEST(test_kept_while_a_watch_is_open)
{
    struct result result;
    etcd_link_start(grpc_peer_yes, NULL);
    test_clock_stop();
    etcd_link_watch(&result);
    etcd_link_pass(1);
    for (int ms = 0; ms < 3 * IDLE_LIMIT_MS; ms += PING_INTERVAL_MS) {
        unsigned pings = etcd_link_seen()->pings;
        etcd_link_pass(PING_INTERVAL_MS - 2);
        assert_int_equal(etcd_link_seen()->pings, pings);
        etcd_link_pass(2);
        assert_int_equal(etcd_link_seen()->pings, pings + 1);
    }
    assert_int_equal(etcd_link_seen()->open, 1);
    assert_false(result.is_ended);
}

/* The next connection pings half as often, down to once an hour after repeated refusals. */
UNIT_TEST(test_too_many_pings)
{
    enum { ENHANCE_YOUR_CALM = 11, HOUR_MS = 3600 * 1000 };
    etcd_link_start(grpc_peer_yes, NULL);
    test_clock_stop();
    for (int64_t interval_ms = PING_INTERVAL_MS, round = 0; round < 12; round++) {
        struct result result;
        unsigned pings = etcd_link_seen()->pings;
        etcd_link_watch(&result);
        etcd_link_pass(interval_ms - 1);
        assert_int_equal(etcd_link_seen()->pings, pings);
        etcd_link_pass(2);
        assert_int_equal(etcd_link_seen()->pings, pings + 1);
        grpc_peer_go_away(f.peer, ENHANCE_YOUR_CALM, "too_many_pings");
        loop_until(f.loop, etcd_link_is_ended, &result);
        assert_non_null(strstr(result.err.msg, "too_many_pings"));
        etcd_link_pass(1000); /* the backoff */
        interval_ms = interval_ms > HOUR_MS / 2 ? HOUR_MS : interval_ms * 2;
    }
}

UNIT_TEST(test_other_goaways_change_no_interval)
{
    struct result result;
    etcd_link_start(grpc_peer_yes, NULL);
    test_clock_stop();
    etcd_link_watch(&result);
    grpc_peer_go_away(f.peer, 0, "maintenance");
    loop_until(f.loop, etcd_link_is_ended, &result);
    etcd_link_pass(1000);
    etcd_link_watch(&result);
    etcd_link_pass(PING_INTERVAL_MS - 1);
    assert_int_equal(etcd_link_seen()->pings, 0);
    etcd_link_pass(2);
    assert_int_equal(etcd_link_seen()->pings, 1);
}

/* ---- Bad members ---- */

/* How etcd 3.4 ends a call, and a watch after three seconds without a leader. */
static void no_leader(struct buf *out, uint32_t stream, bool is_long)
{
    h2_headers(out, H2_END_STREAM, stream,
               ":status: 200\ncontent-type: application/grpc\n"
               "grpc-status: 14\ngrpc-message: etcdserver: no leader");
}

static void page_of_a_proxy(struct buf *out, uint32_t stream, bool is_long)
{
    h2_headers(out, H2_END_STREAM, stream, ":status: 503\ncontent-type: text/html");
}

static void etcd_link_reset(struct buf *out, uint32_t stream, bool is_long)
{
    h2_frame(out, H2_RST_STREAM, 0, stream, slice_of("\0\0\0\2", 4));
}

static void etcd_link_compressed(struct buf *out, uint32_t stream, bool is_long)
{
    h2_headers(out, 0, stream, ":status: 200\ncontent-type: application/grpc");
    h2_frame(out, H2_DATA, 0, stream, slice_of("\1\0\0\0\1x", 6));
}

static void endless_message(struct buf *out, uint32_t stream, bool is_long)
{
    h2_headers(out, 0, stream, ":status: 200\ncontent-type: application/grpc");
    h2_frame(out, H2_DATA, 0, stream, slice_of("\0\6\x40\0\0", 5)); /* 105 MB to come */
}

static void etcd_link_nonsense(struct buf *out, uint32_t stream, bool is_long)
{
    h2_headers(out, 0, stream, ":status: 200\ncontent-type: application/grpc");
    h2_frame(out, H2_DATA, 0, stream, slice_of("\0\0\0\0\1x", 6));
    h2_headers(out, H2_END_STREAM, stream, "grpc-status: 0");
}

static void success_without_reply(struct buf *out, uint32_t stream, bool is_long)
{
    h2_headers(out, H2_END_STREAM, stream,
               ":status: 200\ncontent-type: application/grpc\ngrpc-status: 0");
}

static void no_http2(struct buf *out, uint32_t stream, bool is_long)
{
    buf_append_str(out, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
}

static const struct {
    const char *name;
    grpc_peer_answer answer;
} bad_members[] = {
    {"no leader", no_leader},
    {"page of a proxy", page_of_a_proxy},
    {"reset", etcd_link_reset},
    {"compressed", etcd_link_compressed},
    {"endless", endless_message},
    {"nonsense", etcd_link_nonsense},
    {"success without reply", success_without_reply},
    {"no HTTP/2", no_http2},
    {"silence", grpc_peer_silence},
};

/* Advances the clock until the call ends. */
static struct result call_to_the_end(void)
{
    struct result result;
    call_over_link(&result, CALL_TIMEOUT_MS);
    for (int ms = 0; !result.is_ended; ms += 100) {
        assert_true(ms <= CALL_TIMEOUT_MS);
        etcd_link_pass(100);
    }
    return result;
}

/* Makes one call to the bad member; the link picks its first endpoint at random, so retry until it
 * is the one. */
static void etcd_link_meet(size_t i)
{
    for (;;) {
        etcd_link_start(bad_members[i].answer, grpc_peer_yes);
        test_clock_stop();
        if (call_to_the_end().err.code) {
            break;
        }
        etcd_link_stop();
    }
    assert_int_equal(etcd_link_seen()->calls, 1);
}

/* The next call goes elsewhere, and so do all that follow. */
UNIT_TEST(test_bad_member_is_left)
{
    for (size_t i = 0; i < ARRAY_LEN(bad_members); i++) {
        if (i > 0) {
            etcd_link_stop();
        }
        etcd_link_meet(i);
        for (int n = 0; n < 20; n++) {
            struct result result = call_to_the_end();
            assert_that(!result.err.code, "%s: asked again: %s", bad_members[i].name,
                        result.err.msg);
        }
        assert_int_equal(etcd_link_seen()->accepted, 1);
    }
}

UNIT_TEST(test_watch_leaves_a_member_without_leader)
{
    struct result result;
    etcd_link_meet(0);
    call_over_link(&result, 0);
    while (!has_message(&result)) {
        etcd_link_pass(100);
        assert_false(result.is_ended);
    }
    assert_int_equal(grpc_peer_counts(f.other)->open, 1);
    assert_int_equal(etcd_link_seen()->open, 0);
}
