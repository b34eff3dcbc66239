/* common/etcd/etcd_watch.h against a real etcd: events as complete revisions, long messages,
 * resuming after kill -9, compaction, lag. */
#include <inttypes.h>

#include "common/etcd/etcd_watch.h"
#include "common/grpc/grpc.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(etcd_watch_stop, struct etcd_watch)

enum { CALL_TIMEOUT_MS = 60000 };

/* Holds what a watch has reported. */
struct seen {
    unsigned ups;
    unsigned ends;
    unsigned batches;
    size_t events;
    size_t puts;
    int64_t first_revision; /* of the very first event */
    int64_t revision;       /* of the last on_events */
    size_t last_value_len;
    char last_key[64];
    bool is_out_of_order; /* an event not above the previous batch, or above its own */
    struct err end;
    struct etcd_watch *stop_in_events; /* stop this from inside the next on_events */
    bool kill_in_events;               /* kill etcd inside the next on_events */

    int64_t want_revision; /* for the waits below */
    unsigned want_ups;
};

struct fixture {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;   /* the watch's */
    struct etcd *writer; /* the test's: another client, so that nothing is shared */
};

static struct fixture f;

static struct etcd *etcd_watch_client(void)
{
    return sync_client(f.loop, etcd_proc_url(f.proc), CALL_TIMEOUT_MS);
}

static int start_watch_bed(void **state)
{
    f.loop = ev_loop_new(EVFLAG_AUTO);
    f.proc = etcd_proc_start();
    return 0;
}

static int stop_watch_bed(void **state)
{
    etcd_proc_free(f.proc);
    ev_loop_destroy(f.loop);
    return 0;
}

static int etcd_watch_each(void **state)
{
    if (f.proc) {
        f.etcd = etcd_watch_client();
        f.writer = etcd_watch_client();
    }
    return 0;
}

static int etcd_watch_each_end(void **state)
{
    etcd_free(f.etcd);
    etcd_free(f.writer);
    f.etcd = f.writer = NULL;
    return 0;
}

UNIT_TESTS_EACH(etcd_watch_each, etcd_watch_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_watch_bed, stop_watch_bed)

static void on_events(void *data, const struct etcd_event *events, size_t count, int64_t revision)
{
    struct seen *seen = data;
    assert_true(count > 0);
    seen->batches++;
    for (size_t i = 0; i < count; i++) {
        int64_t at = events[i].kv.mod_revision;
        seen->is_out_of_order |= at <= seen->revision || at > revision;
        seen->is_out_of_order |= i > 0 && at < events[i - 1].kv.mod_revision;
        seen->puts += events[i].kind == ETCD_EVENT_PUT;
    }
    if (seen->events == 0) {
        seen->first_revision = events[0].kv.mod_revision;
    }
    seen->events += count;
    seen->revision = revision;
    seen->last_value_len = events[count - 1].kv.value.len;
    snprintf(seen->last_key, sizeof(seen->last_key), "%.*s", (int)events[count - 1].kv.key.len,
             events[count - 1].kv.key.ptr);
    if (seen->kill_in_events) {
        seen->kill_in_events = false;
        etcd_proc_kill(f.proc);
    }
    etcd_watch_stop(seen->stop_in_events);
    seen->stop_in_events = NULL;
}

static void count_watch_up(void *data)
{
    ((struct seen *)data)->ups++;
}

static void count_watch_end(void *data, const struct err *err)
{
    struct seen *seen = data;
    seen->ends++;
    seen->end = *err;
}

static struct etcd_watch *start_seen_watch(struct seen *seen, const char *key,
                                           const char *range_end, int64_t start_revision)
{
    const struct etcd_watch_config config = {
        .key = slice_str(key),
        .range_end = slice_str(range_end),
        .start_revision = start_revision,
        .on_events = on_events,
        .on_up = count_watch_up,
        .on_end = count_watch_end,
        .data = seen,
    };
    ev_now_update(f.loop); /* stale after the start of etcd */
    return etcd_watch_start(f.etcd, &config);
}

static bool etcd_watch_has_revision(const void *data)
{
    const struct seen *seen = data;
    return seen->revision >= seen->want_revision;
}

static bool etcd_watch_has_ups(const void *data)
{
    const struct seen *seen = data;
    return seen->ups >= seen->want_ups;
}

static bool has_ended(const void *data)
{
    return ((const struct seen *)data)->ends > 0;
}

static void wait_revision(struct seen *seen, int64_t revision)
{
    seen->want_revision = revision;
    loop_until(f.loop, etcd_watch_has_revision, seen);
}

static void wait_ups(struct seen *seen, unsigned ups)
{
    seen->want_ups = ups;
    loop_until(f.loop, etcd_watch_has_ups, seen);
}

static int64_t etcd_watch_put(const char *key)
{
    return sync_put(f.loop, f.writer, key, slice_str("v"));
}

/* ---- Tests ---- */

UNIT_TEST(test_put_and_delete)
{
    struct seen seen = {.ups = 0};
    int64_t before = etcd_watch_put("/other");
    CLEANUP(etcd_watch_stop_of)
    struct etcd_watch *w = start_seen_watch(&seen, "/w1/", "/w10", before + 1);
    wait_ups(&seen, 1);
    assert_int_equal(seen.batches, 0);

    wait_revision(&seen, etcd_watch_put("/w1/a"));
    assert_string_equal(seen.last_key, "/w1/a");
    assert_int_equal(seen.last_value_len, 1);
    etcd_watch_put("/w2/not-ours");
    wait_revision(&seen, sync_del(f.loop, f.writer, "/w1/a"));
    assert_string_equal(seen.last_key, "/w1/a");
    assert_int_equal(seen.last_value_len, 0);
    assert_int_equal(seen.events, 2);
    assert_int_equal(seen.puts, 1);
    assert_int_equal(seen.ups, 1);
    assert_int_equal(seen.ends, 0);
    assert_int_equal(etcd_watch_lag(w), 0);
}

/* 300 keys change in three revisions, each complete. */
UNIT_TEST(test_events_come_as_whole_revisions)
{
    struct seen seen = {.ups = 0};
    int64_t before = etcd_watch_put("/other");
    CLEANUP(etcd_watch_stop_of)
    struct etcd_watch *w = start_seen_watch(&seen, "/w3/", "/w30", before + 1);
    wait_ups(&seen, 1);
    int64_t last = sync_put_many(f.loop, f.writer, "/w3/", 300, slice_str("v"));
    wait_revision(&seen, last);
    assert_int_equal(last, before + 3);
    assert_int_equal(seen.events, 300);
    assert_in_range(seen.batches, 1, 3);
    assert_false(seen.is_out_of_order);
}

/* Revisions of 1 MB in the values of one key; the last one. */
static int64_t put_megabytes(const char *key, int revisions)
{
    enum { VALUE = 1000000 };
    CLEANUP_FREE char *value = xmalloc(VALUE);
    int64_t last = 0;
    memset(value, 'x', VALUE);
    for (int i = 0; i < revisions; i++) {
        last = sync_put(f.loop, f.writer, key, slice_of(value, VALUE));
    }
    return last;
}

/* 20 MB that the server has ready at once: one message in more than one window, since making
 * fragments costs etcd 3.7 the square of their events. */
UNIT_TEST(test_a_long_message_is_whole)
{
    struct seen seen = {.ups = 0};
    int64_t before = etcd_watch_put("/other");
    int64_t last = put_megabytes("/w4/large", 20);
    CLEANUP(etcd_watch_stop_of)
    struct etcd_watch *w = start_seen_watch(&seen, "/w4/", "/w40", before + 1);
    wait_revision(&seen, last);
    assert_int_equal(seen.events, 20);
    assert_int_equal(seen.batches, 1);
    assert_int_equal(seen.last_value_len, 1000000);
    assert_false(seen.is_out_of_order);
}

/* The next watch from there would get the same message: the error says to read instead. */
UNIT_TEST(test_a_message_beyond_the_limit)
{
    struct seen seen = {.ups = 0};
    int64_t before = etcd_watch_put("/other");
    put_megabytes("/w5/large", GRPC_RECEIVE_MAX / 1000000 + 1);
    CLEANUP(etcd_watch_stop_of)
    struct etcd_watch *w = start_seen_watch(&seen, "/w5/", "/w50", before + 1);
    loop_until(f.loop, has_ended, &seen);
    assert_int_equal(seen.end.code, ERR_TOO_LARGE);
    assert_int_equal(seen.events, 0);
}

/* The server sends an old history in batches of 1,000 revisions, 0.1 s apart, whose headers are
 * ahead of their events. A connection lost between two batches must lose no event. */
UNIT_TEST(test_killed_while_catching_up)
{
    enum { REVISIONS = 2500 };
    struct seen seen = {.ups = 0};
    int64_t before = etcd_watch_put("/other");
    int64_t last = 0;
    for (int i = 0; i < REVISIONS; i++) {
        last = etcd_watch_put("/w6/counter");
    }
    struct etcd_watch *w = start_seen_watch(&seen, "/w6/", "/w60", before + 1);
    seen.kill_in_events = true;
    loop_until(f.loop, has_ended, &seen);
    assert_int_equal(etcd_watch_lag(w), last - seen.revision);
    assert_true(etcd_watch_lag(w) > 0);
    assert_int_equal(etcd_watch_reached(w), seen.revision);
    etcd_watch_stop(w);
    etcd_proc_restart(f.proc);
    w = start_seen_watch(&seen, "/w6/", "/w60", seen.revision + 1);
    wait_revision(&seen, last);
    assert_int_equal(etcd_watch_lag(w), 0);
    assert_int_equal(seen.events, REVISIONS);
    assert_false(seen.is_out_of_order);
    etcd_watch_stop(w);
}

UNIT_TEST(test_goes_on_after_kill)
{
    struct seen seen = {.ups = 0};
    int64_t before = etcd_watch_put("/other");
    struct etcd_watch *w = start_seen_watch(&seen, "/w7/", "/w70", before + 1);
    wait_revision(&seen, etcd_watch_put("/w7/before"));

    etcd_proc_kill(f.proc);
    loop_until(f.loop, has_ended, &seen);
    assert_int_equal(seen.end.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(seen.end.msg, etcd_proc_url(f.proc)));
    etcd_watch_stop(w);
    etcd_proc_restart(f.proc);
    w = start_seen_watch(&seen, "/w7/", "/w70", seen.revision + 1);
    wait_ups(&seen, 2);
    wait_revision(&seen, etcd_watch_put("/w7/after"));
    assert_string_equal(seen.last_key, "/w7/after");
    assert_int_equal(seen.events, 2); /* no duplicates */
    assert_int_equal(seen.ends, 1);
    etcd_watch_stop(w);
}

UNIT_TEST(test_terminated_gracefully)
{
    struct seen seen = {.ups = 0};
    CLEANUP(etcd_watch_stop_of)
    struct etcd_watch *w = start_seen_watch(&seen, "/w8/", "/w80", etcd_watch_put("/other") + 1);
    wait_ups(&seen, 1);
    etcd_proc_terminate(f.proc);
    loop_until(f.loop, has_ended, &seen);
    assert_int_equal(seen.end.code, ERR_UNAVAILABLE);
    etcd_proc_restart(f.proc);
}

UNIT_TEST(test_compacted)
{
    struct seen seen = {.ups = 0};
    int64_t before = etcd_watch_put("/other");
    etcd_watch_put("/w9/a");
    int64_t last = etcd_watch_put("/w9/b");
    etcd_proc_compact(f.proc, last);
    CLEANUP(etcd_watch_stop_of)
    struct etcd_watch *w = start_seen_watch(&seen, "/w9/", "/w90", before + 1);
    loop_until(f.loop, has_ended, &seen);
    assert_int_equal(seen.end.code, ERR_COMPACTED);
    assert_int_equal(seen.events, 0);
    /* Stopped: later events are not reported. */
    etcd_watch_put("/w9/c");
    assert_int_equal(seen.events, 0);
}

UNIT_TEST(test_stop_inside_a_callback)
{
    struct seen seen = {.ups = 0};
    struct etcd_watch *w = start_seen_watch(&seen, "/wa/", "/wa0", etcd_watch_put("/other") + 1);
    wait_ups(&seen, 1);
    seen.stop_in_events = w;
    wait_revision(&seen, etcd_watch_put("/wa/a"));
    etcd_watch_put("/wa/b");
    assert_int_equal(seen.events, 1);
}

/* A stopped server still acknowledges TCP; only the unanswered PING gives it away, within 6 + 3
 * s. */
UNIT_TEST(test_hung_server_is_noticed)
{
    struct seen seen = {.ups = 0};
    CLEANUP(etcd_watch_stop_of)
    struct etcd_watch *w = start_seen_watch(&seen, "/wb/", "/wb0", etcd_watch_put("/other") + 1);
    wait_ups(&seen, 1);
    etcd_proc_pause(f.proc);
    loop_until(f.loop, has_ended, &seen);
    etcd_proc_resume(f.proc);
    assert_non_null(strstr(seen.end.msg, "no answer to a PING within 3 s"));
}

UNIT_TEST(test_nobody_there)
{
    struct seen seen = {.ups = 0};
    int64_t before = etcd_watch_put("/wc/a");
    etcd_proc_kill(f.proc);
    struct etcd_watch *w = start_seen_watch(&seen, "/wc/", "/wc0", before);
    loop_until(f.loop, has_ended, &seen);
    assert_int_equal(seen.end.code, ERR_UNAVAILABLE);
    assert_int_equal(seen.ups, 0);
    etcd_watch_stop(w);
    etcd_proc_restart(f.proc);
}

/* Without a connection it fails instead of waiting for one. */
UNIT_TEST(test_only_now)
{
    struct seen seen = {.ups = 0};
    const struct etcd_watch_config config = {
        .key = slice_str("/wd"),
        .start_revision = 1,
        .only_now = true,
        .on_events = on_events,
        .on_up = count_watch_up,
        .on_end = count_watch_end,
        .data = &seen,
    };
    CLEANUP(etcd_watch_stop_of) struct etcd_watch *w = etcd_watch_start(f.etcd, &config);
    assert_int_equal(seen.ends, 0); /* never from inside the call */
    loop_until(f.loop, has_ended, &seen);
    assert_int_equal(seen.end.code, ERR_UNAVAILABLE);
    assert_int_equal(seen.ups, 0);
}
