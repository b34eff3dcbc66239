/* etcd_space: how often it looks, what it tells and how often, with an etcd that answers as the
 * test says. A real one is in tests/integration/test_etcd_space.py. */
#include "common/base/err.h"
#include "kube2sky/reconcile/etcd_space_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/grpc_peer.h"
#include "tests/support/h2_bytes.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

/* Turns of the loop in which an answer arrives. */
enum { CALL_TIMEOUT_MS = 600000, MINUTE_S = 60, TURNS = 20 };
static const uint64_t quota_bytes = 1 << 20;

static struct {
    struct ev_loop *loop;
    struct grpc_peer *peer;
    struct etcd *etcd;
    struct etcd_space *space;
    uint64_t file_bytes; /* in the next answer */
    bool is_denied;
    struct log_capture log;
} f;

static void etcd_space_append_number(struct buf *out, uint8_t field, uint64_t number)
{
    buf_append_u8(out, (uint8_t)(field << 3));
    for (; number >= 128; number /= 128) {
        buf_append_u8(out, (uint8_t)(number % 128 + 128));
    }
    buf_append_u8(out, (uint8_t)number);
}

static void answer_status(struct buf *out, uint32_t stream, bool is_long)
{
    struct buf message;
    if (f.is_denied) {
        h2_headers(out, H2_END_STREAM, stream,
                   ":status: 200\ncontent-type: application/grpc\n"
                   "grpc-status: 7\ngrpc-message: etcdserver: permission denied");
        return;
    }
    buf_init(&message, 64);
    buf_append_slice(&message, slice_of("\0\0\0\0", 4));
    buf_append_u8(&message, 0); /* its length */
    etcd_space_append_number(&message, 3, f.file_bytes);
    etcd_space_append_number(&message, 9, 1000);
    message.data[4] = (uint8_t)(message.len - 5);
    h2_headers(out, 0, stream, ":status: 200\ncontent-type: application/grpc");
    h2_frame(out, H2_DATA, 0, stream, buf_slice(&message));
    h2_headers(out, H2_END_STREAM, stream, "grpc-status: 0");
    buf_fini(&message);
}

static int reconcile_etcd_space_start(void **state)
{
    memset(&f, 0, sizeof(f));
    f.loop = ev_loop_new(EVFLAG_AUTO);
    f.peer = grpc_peer_new(f.loop, answer_status);
    f.etcd = sync_client(f.loop, grpc_peer_url(f.peer), CALL_TIMEOUT_MS);
    f.space = etcd_space_start(
        &(struct etcd_space_config){.loop = f.loop, .etcd = f.etcd, .quota_bytes = quota_bytes});
    log_capture_begin(&f.log);
    return 0;
}

static int reconcile_etcd_space_stop(void **state)
{
    test_clock_run();
    etcd_space_stop(f.space);
    etcd_free(f.etcd);
    grpc_peer_free(f.peer);
    ev_loop_destroy(f.loop);
    return 0;
}

UNIT_TESTS_EACH(reconcile_etcd_space_start, reconcile_etcd_space_stop)

static bool is_known(const void *data)
{
    return etcd_space_figures(f.space).file_bytes == f.file_bytes;
}

/* The next look, which must come within about a minute; the one before may not have ended yet. */
static void look_next(void)
{
    unsigned before = grpc_peer_counts(f.peer)->calls;
    test_clock_stop();
    for (int s = 0; grpc_peer_counts(f.peer)->calls == before; s++) {
        assert_true(s < 2 * MINUTE_S);
        test_clock_advance_ms(1000);
        for (int i = 0; i < TURNS; i++) {
            ev_run(f.loop, EVRUN_NOWAIT);
        }
    }
    test_clock_run();
}

static void etcd_space_look_at(uint64_t file_bytes)
{
    f.file_bytes = file_bytes;
    look_next();
    loop_until(f.loop, is_known, NULL);
}

static void first_look(uint64_t file_bytes)
{
    f.file_bytes = file_bytes;
    loop_until(f.loop, is_known, NULL);
}

UNIT_TEST(test_shortage_is_told_once)
{
    first_look(quota_bytes / 2);
    assert_null(etcd_space_shortage(f.space));
    assert_int_equal(etcd_space_figures(f.space).in_use_bytes, 1000);
    etcd_space_look_at(quota_bytes / 100 * 79);
    assert_null(etcd_space_shortage(f.space));
    etcd_space_look_at(quota_bytes / 100 * 82);
    etcd_space_look_at(quota_bytes / 100 * 83);
    assert_non_null(strstr(etcd_space_shortage(f.space), "compact and defragment"));
    etcd_space_look_at(quota_bytes / 100 * 10);
    assert_null(etcd_space_shortage(f.space));
    etcd_space_look_at(quota_bytes / 100 * 90);
    const char *log = log_capture_end(&f.log);
    assert_int_equal(log_occurrences(log, "etcd has filled more than 80 %"), 2);
    assert_int_equal(log_occurrences(log, "etcd has space again"), 1);
    assert_null(etcd_space_refusal(f.space)); /* nothing has been refused */
}

static bool etcd_space_is_unknown(const void *data)
{
    return !etcd_space_figures(f.space).is_known;
}

/* It goes on asking: the permission may come. */
UNIT_TEST(test_denial_is_told_once)
{
    first_look(quota_bytes);
    assert_non_null(etcd_space_shortage(f.space));
    f.is_denied = true;
    look_next();
    loop_until(f.loop, etcd_space_is_unknown, NULL);
    assert_null(etcd_space_shortage(f.space));
    look_next();
    f.is_denied = false;
    etcd_space_look_at(1);
    assert_true(etcd_space_figures(f.space).is_known);
    assert_int_equal(log_occurrences(log_capture_end(&f.log), "etcd's size cannot be read"), 1);
}

UNIT_TEST(test_refusals)
{
    struct err err;
    (void)err_set(&err, ERR_UNAVAILABLE, "etcdserver: mvcc: database space exceeded");
    etcd_space_note_write(f.space, &err);
    etcd_space_note_write(f.space, &err);
    assert_true(etcd_space_figures(f.space).is_exhausted);
    assert_non_null(etcd_space_refusal(f.space));
    etcd_space_note_write(f.space, NULL);
    assert_null(etcd_space_refusal(f.space));
    assert_int_equal(log_occurrences(log_capture_end(&f.log), "etcd is out of space"), 1);
}
