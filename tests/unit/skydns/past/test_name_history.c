/* name_history.h against a scripted etcd, which comes round to old watches when the test says so.
 */
#include "skydns/past/name_history_internal.h"

#include <ev.h>

#include "common/base/err.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_watch.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/grpc_peer.h"
#include "tests/support/h2_bytes.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(name_history_free, struct name_history)

enum { CALL_TIMEOUT_MS = 60000, MESSAGE_MAX = 4096 };

/* etcd is at NOW, the history is read from FROM; one key was changed last at OLD. */
enum { OLD = 3, FROM = 5, MADE = 6, GONE = 7, NOW = 9 };

/* Watches in the order in which they are started. */
enum { OF_NAME, OF_BELOW, OF_PROBE, OF_TEST, WATCHES };

static struct {
    struct ev_loop *loop;
    struct grpc_peer *peer;
    struct etcd *etcd;
    bool has_key; /* beside the name */
    enum { TELLS_CHANGE, IS_COMPACTED, IS_LOST } probe;
    unsigned watches;
    uint32_t streams[WATCHES];
    bool is_done;
    struct err err;
} f;

/* ---- etcd's messages (rpc.proto; every number and length here is below 128) ---- */

enum { VARINT = 0, BYTES = 2 };

static void history_peer_number(struct buf *out, unsigned field, unsigned value)
{
    buf_append_char(out, (char)(field << 3 | VARINT));
    buf_append_char(out, (char)value);
}

static void history_peer_bytes(struct buf *out, unsigned field, const struct buf *value)
{
    assert_in_range(value->len, 0, 127);
    buf_append_char(out, (char)(field << 3 | BYTES));
    buf_append_char(out, (char)value->len);
    buf_append_slice(out, buf_slice(value));
}

static void history_peer_kv(struct buf *out, unsigned field, const char *key, unsigned revision)
{
    CLEANUP_BUF struct buf kv = buf_of(MESSAGE_MAX);
    buf_append_char(&kv, (char)(1 << 3 | BYTES));
    buf_append_char(&kv, (char)strlen(key));
    buf_append_str(&kv, key);
    history_peer_number(&kv, 3, revision);
    history_peer_bytes(out, field, &kv);
}

static void history_peer_event(struct buf *out, bool is_delete, const char *key, unsigned revision)
{
    CLEANUP_BUF struct buf event = buf_of(MESSAGE_MAX);
    if (is_delete) {
        history_peer_number(&event, 1, 1);
    }
    history_peer_kv(&event, 2, key, revision);
    history_peer_bytes(out, 11, &event);
}

static void history_peer_begin(struct buf *message)
{
    buf_init(message, MESSAGE_MAX);
    CLEANUP_BUF struct buf header = buf_of(MESSAGE_MAX);
    history_peer_number(&header, 3, NOW);
    history_peer_bytes(message, 1, &header);
}

static void history_peer_send(struct buf *out, uint32_t stream, struct buf *message)
{
    CLEANUP_BUF struct buf framed = buf_of(MESSAGE_MAX);
    buf_append(&framed, "\0\0\0\0", 4);
    buf_append_char(&framed, (char)message->len);
    buf_append_slice(&framed, buf_slice(message));
    h2_frame(out, H2_DATA, 0, stream, buf_slice(&framed));
    buf_fini(message);
}

/* ---- The peer ---- */

/* Answers a range: only the first one, of any key, may find something. */
static void answer_range(struct buf *out, uint32_t stream)
{
    struct buf message;
    history_peer_begin(&message);
    if (f.has_key) {
        history_peer_kv(&message, 2, "/p/k", OLD);
        history_peer_number(&message, 4, 1);
        f.has_key = false;
    }
    h2_headers(out, 0, stream, ":status: 200\ncontent-type: application/grpc");
    history_peer_send(out, stream, &message);
    h2_headers(out, H2_END_STREAM, stream, "grpc-status: 0");
}

static void answer_probe(struct buf *out)
{
    struct buf message;
    if (f.probe == IS_LOST) {
        h2_headers(out, H2_END_STREAM, f.streams[OF_PROBE], "grpc-status: 14");
        return;
    }
    history_peer_begin(&message);
    if (f.probe == IS_COMPACTED) {
        history_peer_number(&message, 4, 1);        /* canceled */
        history_peer_number(&message, 5, FROM - 1); /* compact_revision */
    } else {
        history_peer_event(&message, false, "/p/k", OLD);
    }
    history_peer_send(out, f.streams[OF_PROBE], &message);
}

static void history_peer_answer(struct buf *out, uint32_t stream, bool is_long)
{
    struct buf message;
    if (!is_long) {
        answer_range(out, stream);
        return;
    }
    assert_in_range(f.watches, 0, WATCHES - 1);
    f.streams[f.watches++] = stream;
    if (f.watches <= OF_TEST) {
        history_peer_begin(&message);
        history_peer_number(&message, 3, 1); /* created */
        h2_headers(out, 0, stream, ":status: 200\ncontent-type: application/grpc");
        history_peer_send(out, stream, &message);
        return;
    }
    /* etcd comes round. */
    answer_probe(out);
    if (f.probe == TELLS_CHANGE) {
        history_peer_begin(&message);
        history_peer_event(&message, false, "/p/n/a", MADE);
        history_peer_event(&message, true, "/p/n/a", GONE);
        history_peer_send(out, f.streams[OF_BELOW], &message);
    }
}

/* ---- The bed ---- */

static int history_peer_setup(void **state)
{
    struct err err;
    (void)state;
    memset(&f, 0, sizeof(f));
    f.loop = ev_loop_new(0);
    f.peer = grpc_peer_new(f.loop, history_peer_answer);
    const struct etcd_config config = {
        .loop = f.loop, .endpoints = grpc_peer_url(f.peer), .call_timeout_ms = CALL_TIMEOUT_MS};
    assert_int_equal(etcd_new(&config, &f.etcd, &err), 0);
    return 0;
}

static int history_peer_teardown(void **state)
{
    (void)state;
    etcd_free(f.etcd);
    grpc_peer_free(f.peer);
    ev_loop_destroy(f.loop);
    return 0;
}

UNIT_TESTS_EACH(history_peer_setup, history_peer_teardown)

static void history_on_done(void *data, const struct err *err)
{
    (void)data;
    f.is_done = true;
    f.err = err ? *err : (struct err){0};
}

static struct name_history *start_history(bool has_key)
{
    f.has_key = has_key;
    return name_history_read(&(struct name_history_config){
        .loop = f.loop,
        .etcd = f.etcd,
        .prefix = slice_str("/p"),
        .key = slice_str("/p/n"),
        .from = FROM,
        .done = history_on_done,
    });
}

static bool is_history_done(const void *data)
{
    (void)data;
    return f.is_done;
}

static bool is_probe_there(const void *data)
{
    (void)data;
    return f.watches > OF_PROBE;
}

static void stop_after_a_while(struct ev_loop *loop, ev_timer *timer, int events)
{
    (void)timer;
    (void)events;
    ev_break(loop, EVBREAK_ONE);
}

/* Longer than silence counts as the end. */
static void let_silence_pass(void)
{
    ev_timer timer;
    ev_timer_init(&timer, stop_after_a_while, 0.7, 0.);
    ev_timer_start(f.loop, &timer);
    ev_run(f.loop, 0);
}

static void test_watch_on_events(void *data, const struct etcd_event *events, size_t count,
                                 int64_t revision)
{
    (void)data, (void)events, (void)count, (void)revision;
}

static void test_watch_on_up(void *data)
{
    (void)data;
}

static void test_watch_on_end(void *data, const struct err *err)
{
    (void)data, (void)err;
}

/* A watch of the test makes etcd come round to the others. */
static void run_until_done(void)
{
    struct etcd_watch *watch =
        etcd_watch_start(f.etcd, &(struct etcd_watch_config){.key = slice_str("/t"),
                                                             .start_revision = 1,
                                                             .on_events = test_watch_on_events,
                                                             .on_up = test_watch_on_up,
                                                             .on_end = test_watch_on_end});
    loop_until(f.loop, is_history_done, NULL);
    etcd_watch_stop(watch);
}

/* ---- Tests ---- */

/* A name that came and went is told, however late etcd is. */
UNIT_TEST(test_late_etcd)
{
    CLEANUP(name_history_free_of) struct name_history *history = start_history(true);
    loop_until(f.loop, is_probe_there, NULL);
    let_silence_pass();
    assert_false(f.is_done);
    run_until_done();
    assert_int_equal(f.err.code, 0);
    const struct name_change *change = name_history_newest(history);
    assert_true(change && change->revision == GONE);
    change = change->older;
    assert_true(change && change->revision == MADE && !change->older);
    assert_int_equal(name_history_to(history), NOW);
}

UNIT_TEST(test_compacted_probe)
{
    f.probe = IS_COMPACTED;
    CLEANUP(name_history_free_of) struct name_history *history = start_history(true);
    loop_until(f.loop, is_probe_there, NULL);
    run_until_done();
    assert_int_equal(f.err.code, 0);
    assert_null(name_history_newest(history));
}

UNIT_TEST(test_lost_probe)
{
    f.probe = IS_LOST;
    CLEANUP(name_history_free_of) struct name_history *history = start_history(true);
    loop_until(f.loop, is_probe_there, NULL);
    run_until_done();
    assert_int_equal(f.err.code, ERR_UNAVAILABLE);
}

/* Nothing there that a probe could watch: silence must do. */
UNIT_TEST(test_no_key_at_all)
{
    CLEANUP(name_history_free_of) struct name_history *history = start_history(false);
    loop_until(f.loop, is_history_done, NULL);
    assert_int_equal(f.err.code, 0);
    assert_int_equal(f.watches, OF_PROBE);
}

/* Freed at any time. */
UNIT_TEST(test_history_is_freed)
{
    struct name_history *history = start_history(true);
    loop_until(f.loop, is_probe_there, NULL);
    name_history_free(history);
    assert_false(f.is_done);
}
