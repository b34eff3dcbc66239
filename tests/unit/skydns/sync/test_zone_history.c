/* zone_history.h, of a real etcd. Each test has keys below a prefix of its own. */
#include "skydns/sync/zone_history.h"

#include "common/etcd/etcd_watch.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 5000, ZONES = 3 };

/* Less than the etcd client gives a connection. */
enum { TIMEOUT_MS = 100 };

/* In lower case, as everywhere. */
static const char *const zone_names[ZONES] = {"a.test.", "sub.a.test.", "10.in-addr.arpa."};

struct history_bed {
    struct ev_loop *loop;
    struct etcd *etcd;
    struct zone_history *history;
    unsigned done_count;
    size_t count;
    int64_t revisions[ZONES];
};

static struct etcd_proc *proc;

static void history_bed_begin(struct history_bed *b)
{
    *b = (struct history_bed){.loop = ev_loop_new(0)};
    b->etcd = sync_client(b->loop, etcd_proc_url(proc), CALL_TIMEOUT_MS);
}

static void history_bed_end(struct history_bed *b)
{
    test_clock_run();
    etcd_proc_resume(proc); /* of a test that failed */
    zone_history_free(b->history);
    etcd_free(b->etcd);
    ev_loop_destroy(b->loop);
}

static int history_etcd_begin(void **state)
{
    proc = etcd_proc_start();
    return 0;
}

static int history_etcd_end(void **state)
{
    etcd_proc_free(proc);
    return 0;
}

UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(history_etcd_begin, history_etcd_end)
UNIT_FIXTURE(struct history_bed, history_bed_begin, history_bed_end)

static int64_t history_put(struct history_bed *b, const char *key)
{
    return sync_put(b->loop, b->etcd, key, slice_str("{\"host\":\"10.0.0.1\"}"));
}

/* Frees the history from inside, as the caller does. */
static void zone_history_on_done(void *data, const struct dname *apexes, const int64_t *revisions,
                                 size_t count)
{
    struct history_bed *b = data;
    assert_in_range(count, 1, ZONES);
    for (size_t i = 0; i < count; i++) {
        const struct dname zone = dname_from(zone_names[i]);
        assert_true(dname_equal(&apexes[i], &zone));
        b->revisions[i] = revisions[i];
    }
    b->count = count;
    b->done_count++;
    zone_history_free(b->history);
    b->history = NULL;
}

static void history_start(struct history_bed *b, const char *prefix, int64_t revision,
                          uint32_t timeout_ms)
{
    struct dname zones[ZONES];
    for (size_t i = 0; i < ZONES; i++) {
        zones[i] = dname_from(zone_names[i]);
    }
    ev_now_update(b->loop);
    b->history = zone_history_start(&(struct zone_history_config){.loop = b->loop,
                                                                  .etcd = b->etcd,
                                                                  .prefix = slice_str(prefix),
                                                                  .revision = revision,
                                                                  .apexes = zones,
                                                                  .count = ZONES,
                                                                  .timeout_ms = timeout_ms,
                                                                  .done = zone_history_on_done,
                                                                  .data = b});
    assert_int_equal(b->done_count, 0); /* from the loop */
}

static bool is_zone_history_done(const void *data)
{
    return ((const struct history_bed *)data)->done_count > 0;
}

static void history_expect(const struct history_bed *b, int64_t first, int64_t second,
                           int64_t third)
{
    assert_int_equal(b->done_count, 1);
    assert_int_equal(b->count, ZONES);
    assert_int_equal(b->revisions[0], first);
    assert_int_equal(b->revisions[1], second);
    assert_int_equal(b->revisions[2], third);
}

static void history_ask(struct history_bed *b, const char *prefix, int64_t revision)
{
    history_start(b, prefix, revision, CALL_TIMEOUT_MS);
    loop_until(b->loop, is_zone_history_done, b);
}

/* The last event of each zone, that of a removed key too; the longest zone has it. */
UNIT_TEST_ON(test_the_last_event_of_each_zone, struct history_bed *b)
{
    (void)history_put(b, "/last/test/a/www");
    (void)history_put(b, "/last/test/a/sub/www");
    const int64_t reverse = history_put(b, "/last/arpa/in-addr/10/1/2/3");
    const int64_t www = sync_del(b->loop, b->etcd, "/last/test/a/www");
    (void)history_put(b, "/last/test/b/www"); /* in none of them */
    const int64_t sub = history_put(b, "/last/test/a/sub/www");
    (void)history_put(b, "/lasu/test/a/www"); /* behind the prefix' last key */
    history_ask(b, "/last/", sub);
    history_expect(b, www, sub, reverse);
}

/* Later events are left to the caller, who watches them. */
UNIT_TEST_ON(test_later_events_do_not_count, struct history_bed *b)
{
    const int64_t www = history_put(b, "/later/test/a/www");
    const int64_t sub = history_put(b, "/later/test/a/sub/www");
    (void)history_put(b, "/later/test/a/www");
    (void)history_put(b, "/later/test/a/sub/www");
    history_ask(b, "/later/", sub);
    history_expect(b, www, sub, 0);
}

UNIT_TEST_ON(test_the_document_of_settings_changes_all_zones, struct history_bed *b)
{
    (void)history_put(b, "/all/test/a/www");
    const int64_t config = history_put(b, "/all/config");
    const int64_t sub = history_put(b, "/all/test/a/sub/www");
    (void)history_put(b, "/all/configs");
    history_ask(b, "/all/", sub + 1);
    history_expect(b, config, sub, config);
}

/* Looks at the last nine revisions, or the last one, once the earlier ones are compacted. A zone
 * without an event in them changed just before. */
UNIT_TEST_ON(test_compacted_revisions, struct history_bed *b)
{
    int64_t sub = 0;
    (void)history_put(b, "/nearer/test/a/www");
    for (int i = 0; i < 100; i++) { /* more than 5000 / 8 / 8 */
        sub = history_put(b, "/nearer/test/a/sub/www");
    }
    etcd_proc_compact(proc, sub - 20);
    history_ask(b, "/nearer/", sub);
    history_expect(b, sub - 10, sub, sub - 10);
    etcd_proc_compact(proc, sub - 1);
    b->done_count = 0;
    history_ask(b, "/nearer/", sub);
    history_expect(b, sub - 2, sub, sub - 2);
}

/* Nothing is known when no span is short enough. */
UNIT_TEST_ON(test_all_revisions_compacted, struct history_bed *b)
{
    const int64_t www = history_put(b, "/none/test/a/www");
    etcd_proc_compact(proc, www);
    history_ask(b, "/none/", www);
    history_expect(b, 0, 0, 0);
}

static void history_on_up(void *data)
{
    *(bool *)data = true;
}

static void history_on_events(void *data, const struct etcd_event *events, size_t count,
                              int64_t revision)
{
    fail_msg("nothing changes");
}

static void history_on_end(void *data, const struct err *err)
{
    fail_msg("%s", err->msg);
}

static bool is_history_up(const void *data)
{
    return *(const bool *)data;
}

static void history_pass_ms(struct history_bed *b, int64_t ms)
{
    (void)ev_run(b->loop, EVRUN_NOWAIT);
    test_clock_advance_ms(ms);
    (void)ev_run(b->loop, EVRUN_NOWAIT);
}

/* Returns whether the history ended within TIMEOUT_MS of the second watch's confirmation. */
static bool ends_in_time(struct history_bed *b, int64_t revision)
{
    bool is_up = false;
    history_start(b, "/quiet/", revision, TIMEOUT_MS);
    struct etcd_watch *after =
        etcd_watch_start(b->etcd, &(struct etcd_watch_config){.key = slice_str("/quiet/after"),
                                                              .start_revision = revision,
                                                              .on_events = history_on_events,
                                                              .on_up = history_on_up,
                                                              .on_end = history_on_end,
                                                              .data = &is_up});
    loop_until(b->loop, is_history_up, &is_up);
    etcd_watch_stop(after);
    history_pass_ms(b, TIMEOUT_MS - 10);
    assert_int_equal(b->done_count, 0);
    history_pass_ms(b, 11);
    const bool is_in_time = b->done_count > 0;
    history_pass_ms(b, 5 * TIMEOUT_MS);
    history_expect(b, 0, 0, 0);
    b->done_count = 0;
    return is_in_time;
}

/* An etcd that has confirmed the watch and sends no event has TIMEOUT_MS, not five times as long.
 * It confirms a second watch mostly after the first. */
UNIT_TEST_ON(test_no_event_in_time, struct history_bed *b)
{
    bool is_in_time = false;
    const int64_t revision = history_put(b, "/other/test/a/www");
    test_clock_stop();
    for (int i = 0; i < 20 && !is_in_time; i++) {
        is_in_time = ends_in_time(b, revision);
    }
    assert_true(is_in_time);
}

/* One that says nothing has five times as long, and what comes then no longer counts. */
UNIT_TEST_ON(test_etcd_is_silent, struct history_bed *b)
{
    const int64_t www = history_put(b, "/silent/test/a/www");
    etcd_proc_pause(proc);
    test_clock_stop();
    history_start(b, "/silent/", www, TIMEOUT_MS);
    history_pass_ms(b, 4 * TIMEOUT_MS);
    assert_int_equal(b->done_count, 0);
    history_pass_ms(b, TIMEOUT_MS + 1);
    history_expect(b, 0, 0, 0);
    etcd_proc_resume(proc);
    test_clock_run();
    (void)history_put(b, "/silent/test/a/www");
    assert_int_equal(b->done_count, 1);
}

UNIT_TEST_ON(test_freed_before_its_end, struct history_bed *b)
{
    const int64_t www = history_put(b, "/free/test/a/www");
    history_start(b, "/free/", www, CALL_TIMEOUT_MS);
    zone_history_free(b->history);
    b->history = NULL;
    (void)history_put(b, "/free/test/a/www"); /* the loop runs meanwhile */
    assert_int_equal(b->done_count, 0);
    zone_history_free(NULL);
}
