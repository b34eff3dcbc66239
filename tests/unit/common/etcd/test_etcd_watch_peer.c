/* common/etcd/etcd_watch.h, and other calls on the watch line, against a scripted peer: for replies
 * that a real etcd cannot be made to give at a given moment. */
#include "common/base/buf.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_watch.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/grpc_peer.h"
#include "tests/support/h2_bytes.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 60000, RESPONSE_MAX = 4096 };

/* Loop iterations in which a client that must do nothing gets the chance to do it anyway. */
enum { TURNS = 20 };

static struct {
    struct ev_loop *loop;
    struct grpc_peer *peer;
    struct etcd *etcd;
} f;

/* ---- etcd's WatchResponse, as bytes (rpc.proto; every number here is below 128) ---- */

enum { VARINT = 0, BYTES = 2 };

static void etcd_watch_peer_number(struct buf *out, unsigned field, unsigned value)
{
    assert_in_range(value, 0, 127);
    buf_append_char(out, (char)(field << 3 | VARINT));
    buf_append_char(out, (char)value);
}

static void etcd_watch_peer_bytes(struct buf *out, unsigned field, struct slice value)
{
    assert_in_range(value.len, 0, 127);
    buf_append_char(out, (char)(field << 3 | BYTES));
    buf_append_char(out, (char)value.len);
    buf_append_slice(out, value);
}

struct response {
    unsigned revision; /* of its header */
    bool created;
    bool canceled;
    unsigned compact_revision;
    bool fragment;
    unsigned events[4]; /* the mod_revision of each; 0 ends them */
};

static void append_event(struct buf *out, unsigned revision)
{
    CLEANUP_BUF struct buf kv = buf_of(RESPONSE_MAX);
    CLEANUP_BUF struct buf event = buf_of(RESPONSE_MAX);
    etcd_watch_peer_bytes(&kv, 1, slice_str("/k"));
    etcd_watch_peer_number(&kv, 2, 1); /* create_revision */
    etcd_watch_peer_number(&kv, 3, revision);
    etcd_watch_peer_number(&kv, 4, 1); /* version */
    etcd_watch_peer_bytes(&kv, 5, slice_str("v"));
    etcd_watch_peer_bytes(&event, 2, buf_slice(&kv)); /* a put: type 0 is left out */
    etcd_watch_peer_bytes(out, 11, buf_slice(&event));
}

static void append_response(struct buf *out, const struct response *response)
{
    CLEANUP_BUF struct buf header = buf_of(RESPONSE_MAX);
    etcd_watch_peer_number(&header, 3, response->revision);
    etcd_watch_peer_bytes(out, 1, buf_slice(&header));
    etcd_watch_peer_number(out, 3, response->created);
    etcd_watch_peer_number(out, 4, response->canceled);
    etcd_watch_peer_number(out, 5, response->compact_revision);
    etcd_watch_peer_number(out, 7, response->fragment);
    for (size_t i = 0; i < ARRAY_LEN(response->events) && response->events[i]; i++) {
        append_event(out, response->events[i]);
    }
}

/* ---- The peer ---- */

static const struct response *script; /* the replies to a watch */
static size_t script_len;
static bool ends; /* the stream ends after the script */

static void etcd_watch_peer_say(struct buf *out, uint32_t stream, const struct response *response)
{
    CLEANUP_BUF struct buf message = buf_of(RESPONSE_MAX);
    CLEANUP_BUF struct buf framed = buf_of(RESPONSE_MAX);
    append_response(&message, response);
    buf_append(&framed, "\0\0\0", 3);
    buf_append_char(&framed, (char)(message.len >> 8));
    buf_append_char(&framed, (char)(message.len & 255));
    buf_append_slice(&framed, buf_slice(&message));
    h2_frame(out, H2_DATA, 0, stream, buf_slice(&framed));
}

static void etcd_watch_peer_play(struct buf *out, uint32_t stream, bool is_long)
{
    assert_true(is_long);
    h2_headers(out, 0, stream, ":status: 200\ncontent-type: application/grpc");
    for (size_t i = 0; i < script_len; i++) {
        etcd_watch_peer_say(out, stream, &script[i]);
    }
    if (ends) {
        h2_headers(out, H2_END_STREAM, stream, "grpc-status: 14");
    }
}

static void etcd_watch_peer_start(grpc_peer_answer answer, const char *username)
{
    struct err err;
    f.peer = grpc_peer_new(f.loop, answer);
    const struct etcd_config config = {
        .loop = f.loop,
        .endpoints = grpc_peer_url(f.peer),
        .call_timeout_ms = CALL_TIMEOUT_MS,
        .username = username,
        .password = "secret",
    };
    assert_that(etcd_new(&config, &f.etcd, &err) == 0, "%s", err.msg);
}

static int etcd_watch_peer_setup(void **state)
{
    f.loop = ev_loop_new(EVFLAG_AUTO);
    return 0;
}

static int etcd_watch_peer_teardown(void **state)
{
    etcd_free(f.etcd);
    grpc_peer_free(f.peer);
    ev_loop_destroy(f.loop);
    return 0;
}

UNIT_TESTS_EACH(etcd_watch_peer_setup, etcd_watch_peer_teardown)

/* ---- The watch ---- */

static struct {
    unsigned ups;
    unsigned batches;
    unsigned events;
    int64_t revision;
    struct err end; /* code 0: still running */
    unsigned want_events;
    const struct etcd_watch *watch;
    int64_t reached[4]; /* with each batch */
} seen;

static void etcd_watch_peer_on_events(void *data, const struct etcd_event *events, size_t count,
                                      int64_t revision)
{
    assert_int_equal(events[count - 1].kv.mod_revision, revision);
    assert_true(revision > seen.revision);
    assert_in_range(seen.batches, 0, ARRAY_LEN(seen.reached) - 1);
    seen.reached[seen.batches++] = etcd_watch_reached(seen.watch);
    seen.events += count;
    seen.revision = revision;
}

static void etcd_watch_peer_on_up(void *data)
{
    seen.ups++;
}

static void etcd_watch_peer_on_end(void *data, const struct err *err)
{
    seen.end = *err;
}

static bool is_as_wanted(const void *data)
{
    return seen.end.code || (seen.want_events && seen.events >= seen.want_events);
}

/* Plays these responses to a watch from revision 5 and waits for its end, or for this many events
 * if it does not end. */
static struct etcd_watch *etcd_watch_peer_watch(const struct response *responses, size_t count,
                                                unsigned events)
{
    memset(&seen, 0, sizeof(seen));
    seen.want_events = events;
    script = responses;
    script_len = count;
    etcd_watch_peer_start(etcd_watch_peer_play, NULL);
    struct etcd_watch *watch = etcd_watch_start(f.etcd, &(struct etcd_watch_config){
                                                            .key = slice_str("/"),
                                                            .range_end = slice_str("0"),
                                                            .start_revision = 5,
                                                            .on_events = etcd_watch_peer_on_events,
                                                            .on_up = etcd_watch_peer_on_up,
                                                            .on_end = etcd_watch_peer_on_end,
                                                        });
    seen.watch = watch;
    loop_until(f.loop, is_as_wanted, NULL);
    return watch;
}

/* A progress response may name a revision whose events are still to come (etcd issue 15220). The
 * header of a small batch tells how far it reaches, once all its fragments are there. */
UNIT_TEST(test_progress_is_not_believed)
{
    static const struct response responses[] = {
        {.revision = 4, .created = true},
        {.revision = 100},
        {.revision = 50, .events = {6, 7}},
        {.revision = 100},
        {.revision = 90, .fragment = true, .events = {80, 81}},
    };
    ends = false;
    struct etcd_watch *w = etcd_watch_peer_watch(responses, ARRAY_LEN(responses), 3);
    assert_int_equal(seen.end.code, 0);
    assert_int_equal(seen.ups, 1);
    assert_int_equal(seen.batches, 2);
    assert_int_equal(seen.revision, 80);
    assert_int_equal(seen.reached[0], 50);
    assert_int_equal(seen.reached[1], 80);
    assert_int_equal(etcd_watch_reached(w), 80);
    assert_int_equal(etcd_watch_told(w), 100);
    assert_int_equal(etcd_watch_lag(w), 10);
    etcd_watch_stop(w);
}

/* The connection is lost in the middle of a revision: the received part is dropped. */
UNIT_TEST(test_half_a_revision_is_dropped)
{
    static const struct response responses[] = {
        {.revision = 7, .created = true},
        {.revision = 7, .fragment = true, .events = {5, 6, 6}},
        {.revision = 7, .fragment = true, .events = {6, 7}},
        {.revision = 7, .fragment = true, .events = {7}},
    };
    ends = true;
    struct etcd_watch *w = etcd_watch_peer_watch(responses, ARRAY_LEN(responses), 0);
    assert_int_equal(seen.end.code, ERR_UNAVAILABLE);
    assert_int_equal(seen.batches, 2);
    assert_int_equal(seen.events, 4); /* one of 5, three of 6 */
    assert_int_equal(seen.revision, 6);
    etcd_watch_stop(w);
}

UNIT_TEST(test_compacted)
{
    static const struct response responses[] = {
        {.revision = 0, .created = true},
        {.revision = 0, .canceled = true, .compact_revision = 50},
    };
    ends = false;
    struct etcd_watch *w = etcd_watch_peer_watch(responses, ARRAY_LEN(responses), 0);
    assert_int_equal(seen.end.code, ERR_COMPACTED);
    assert_non_null(strstr(seen.end.msg, "revision 50"));
    assert_int_equal(seen.batches, 0);
    etcd_watch_stop(w);
}

UNIT_TEST(test_events_out_of_order)
{
    static const struct response old[] = {{.revision = 9, .created = true, .events = {4}}};
    static const struct response twice[] = {
        {.revision = 9, .created = true, .events = {5, 7}},
        {.revision = 9, .events = {7}},
    };
    ends = false;
    struct etcd_watch *w = etcd_watch_peer_watch(old, ARRAY_LEN(old), 0);
    assert_int_equal(seen.end.code, ERR_PROTOCOL);
    assert_int_equal(seen.batches, 0);
    etcd_watch_stop(w);
    etcd_free(f.etcd);
    grpc_peer_free(f.peer);

    w = etcd_watch_peer_watch(twice, ARRAY_LEN(twice), 0);
    assert_int_equal(seen.end.code, ERR_PROTOCOL);
    assert_int_equal(seen.revision, 7);
    etcd_watch_stop(w);
}

/* ---- Only now ---- */

struct result {
    bool is_ended;
    struct err err;
};

static void etcd_watch_peer_on_range(void *data, const struct etcd_range_reply *reply,
                                     const struct err *err)
{
    struct result *result = data;
    assert_null(reply);
    result->is_ended = true;
    result->err = *err;
}

static bool etcd_watch_peer_is_ended(const void *data)
{
    return ((const struct result *)data)->is_ended;
}

static bool is_asked(const void *data)
{
    return grpc_peer_counts(f.peer)->calls > 0;
}

/* Two calls wait for a token that never comes. When their connection closes, the one bound to it
 * ends; the other keeps waiting. */
UNIT_TEST(test_only_now_while_waiting_for_a_token)
{
    const struct etcd_range range = {.key = slice_str("/k")};
    struct result any = {.is_ended = false}, now = {.is_ended = false};
    etcd_watch_peer_start(grpc_peer_silence, "user");
    struct etcd_call *waiting =
        etcd_watch_range(f.etcd, &range, false, etcd_watch_peer_on_range, &any);
    loop_until(f.loop, is_asked, NULL); /* asked for a token: so the watch line is open */
    (void)etcd_watch_range(f.etcd, &range, true, etcd_watch_peer_on_range, &now);
    for (int i = 0; i < TURNS; i++) {
        ev_run(f.loop, EVRUN_NOWAIT);
    }
    assert_false(now.is_ended);
    grpc_peer_hang_up(f.peer); /* closes the watch line; the token request stays open */
    loop_until(f.loop, etcd_watch_peer_is_ended, &now);
    assert_int_equal(now.err.code, ERR_UNAVAILABLE);
    assert_false(any.is_ended);
    etcd_call_cancel(waiting);
}
