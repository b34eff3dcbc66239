/* When a snapshot is written, and what is told of it: on a clock of the test's, with the records'
 * side and the writer replaced by counters. */
#include "skydns/snapshot_keeper.h"

#include <errno.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "skydns/publish/publisher.h"
#include "skydns/snapshot/snapshot.h"
#include "skydns/snapshot/snapshot_writer.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"

enum { INTERVAL_MS = 60000, MAX_MS = 24 * 3600 * 1000, QUARTER_MS = MAX_MS / 4 };
enum { WALL_MS = 1700000000 }; /* when the test's clock says 0 */

/* ---- What stands for the others ---- */

static struct {
    int64_t now_ms;
    uint64_t changes;
    bool is_whole, is_too_large, has_documents, is_followed, is_from_snapshot, can_pin;
    unsigned pins, saves, begun, waits, reads;
    int64_t waited_ms;   /* the last time given to a wait */
    bool is_slow;        /* a wait does not end the write */
    const char *failure; /* of the write that ends next; NULL: none */
    bool is_busy;
    struct snapshot_image image;
    struct snapshot_writer_config writer;
    unsigned caught_up;
} world;

int64_t clock_monotonic_ms(void)
{
    return world.now_ms;
}

int64_t clock_monotonic_us(void)
{
    return world.now_ms * 1000;
}

int64_t clock_wall_s(void)
{
    return clock_wall_ms() / 1000;
}

int64_t clock_wall_ms(void)
{
    return WALL_MS + world.now_ms;
}

uint64_t store_sync_changes(const struct store_sync *sync)
{
    assert_null(sync);
    return world.changes;
}

bool store_sync_save(const struct store_sync *sync, struct snapshot_image *image)
{
    assert_null(sync);
    image->header.revision = (int64_t)world.changes;
    image->header.heard_ms = clock_wall_ms();
    buf_append_str(&image->sections[SNAPSHOT_MIRROR], "mirror");
    image->sections[SNAPSHOT_LEASES].failed = world.is_too_large;
    world.saves++;
    return world.is_whole && !world.is_too_large;
}

bool store_sync_is_from_snapshot(const struct store_sync *sync, int64_t *ret_heard_ms)
{
    assert_null(sync);
    *ret_heard_ms = 0;
    return world.is_from_snapshot;
}

struct store_sync_counts store_sync_counts(const struct store_sync *sync)
{
    assert_null(sync);
    return (struct store_sync_counts){.mirror.is_following = world.is_followed,
                                      .reads = world.reads};
}

bool writer_documents_save(const struct writer_documents *documents, struct buf *out)
{
    assert_null(documents);
    buf_append_str(out, "documents");
    return world.has_documents;
}

static const char pinned[] = "a version";

const struct store *publisher_pin(struct publisher *publisher)
{
    assert_null(publisher);
    world.pins += world.can_pin;
    return world.can_pin ? (const struct store *)pinned : NULL;
}

void publisher_unpin(struct publisher *publisher, const struct store *store)
{
    assert_null(publisher);
    assert_ptr_equal(store, pinned);
    assert_true(world.pins > 0);
    world.pins--;
}

struct snapshot_writer *snapshot_writer_new(const struct snapshot_writer_config *config)
{
    world.writer = *config;
    return NULL;
}

bool snapshot_writer_write(struct snapshot_writer *writer, struct snapshot_image *image)
{
    assert_null(writer);
    assert_false(world.is_busy);
    assert_ptr_equal(image->store, pinned);
    world.image = *image;
    world.is_busy = true;
    world.begun++;
    return true;
}

bool snapshot_writer_is_busy(const struct snapshot_writer *writer)
{
    assert_null(writer);
    return world.is_busy;
}

/* The write under way ends. */
static void end_write(void)
{
    struct err err;
    struct snapshot_header header = world.image.header;
    assert_true(world.is_busy);
    publisher_unpin(NULL, world.image.store);
    snapshot_image_fini(&world.image);
    world.is_busy = false;
    if (world.failure) {
        (void)err_set(&err, -ENOSPC, "%s", world.failure); /* only its text is wanted */
    }
    world.writer.written(world.writer.data, &header, 1000 * world.begun,
                         world.failure ? &err : NULL);
}

bool snapshot_writer_wait(struct snapshot_writer *writer, int64_t timeout_ms)
{
    assert_null(writer);
    world.waits++;
    world.waited_ms = timeout_ms;
    if (world.is_busy && !world.is_slow) {
        end_write();
    }
    return !world.is_busy;
}

void snapshot_writer_free(struct snapshot_writer *writer)
{
    assert_null(writer);
    if (world.is_busy) { /* cancelled: told to nobody */
        publisher_unpin(NULL, world.image.store);
        snapshot_image_fini(&world.image);
        world.is_busy = false;
    }
}

/* ---- The bed ---- */

struct bed {
    struct ev_loop *loop;
    struct snapshot_keeper *keeper;
};

static void snapshot_keeper_on_caught_up(void *data)
{
    assert_non_null(data);
    world.caught_up++;
}

static void snapshot_keeper_start(struct bed *bed, const struct snapshot_content *content)
{
    bed->loop = ev_loop_new(0);
    bed->keeper = snapshot_keeper_new(&(struct snapshot_keeper_config){
        .loop = bed->loop,
        .path = "/var/lib/skydns/snapshot",
        .schema = ENGINE_SCHEMA_KUBERNETES,
        .interval_ms = INTERVAL_MS,
        .max_ms = MAX_MS,
        .start = content,
        .caught_up = snapshot_keeper_on_caught_up,
        .data = bed,
    });
}

static int snapshot_keeper_set_up(void **state)
{
    static struct bed bed;
    memset(&world, 0, sizeof(world));
    world.is_whole = world.has_documents = world.is_followed = world.can_pin = true;
    snapshot_keeper_start(&bed, NULL);
    *state = &bed;
    return 0;
}

static int snapshot_keeper_tear_down(void **state)
{
    struct bed *bed = *state;
    snapshot_keeper_free(bed->keeper);
    ev_loop_destroy(bed->loop);
    assert_int_equal(world.pins, 0);
    return 0;
}

/* Time passes, then the loop turns; returns how many writes have begun. */
static unsigned snapshot_keeper_after(struct bed *bed, int64_t ms)
{
    world.now_ms += ms;
    ev_run(bed->loop, EVRUN_NOWAIT);
    return world.begun;
}

static struct metrics_snapshot skydns_snapshot_keeper_counts(const struct bed *bed)
{
    return snapshot_keeper_counts(bed->keeper);
}

/* ---- When ---- */

/* The first one at once, then with changes, an interval after the last one began. */
UNIT_TEST_IN(test_changes, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    assert_int_equal(snapshot_keeper_after(bed, 10 * INTERVAL_MS), 1); /* still being written */
    end_write();
    assert_int_equal(snapshot_keeper_after(bed, 0), 1); /* nothing changed */
    world.changes++;
    assert_int_equal(snapshot_keeper_after(bed, 0), 2); /* the interval has long passed */
    end_write();
    world.changes++;
    assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS - 1), 2);
    world.changes++; /* during the interval: both in one */
    assert_int_equal(snapshot_keeper_after(bed, 1), 3);
    world.changes++; /* while it is written: not in it */
    end_write();
    assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS - 1), 3);
    assert_int_equal(snapshot_keeper_after(bed, 1), 4);
    end_write();
    assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS), 4);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).writes, 4);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).bytes, 4000);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).failures, 0);
}

/* However fast changes come. */
UNIT_TEST_IN(test_no_more_often_than_the_interval, snapshot_keeper_set_up,
             snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    for (int64_t ms = 0; ms < 10 * INTERVAL_MS; ms += 100) {
        world.changes++;
        (void)snapshot_keeper_after(bed, 100);
        if (world.is_busy) {
            end_write();
        }
    }
    assert_int_equal(world.begun, 10);
}

UNIT_TEST_IN(test_documents_are_changes, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    end_write();
    snapshot_keeper_note(bed->keeper);
    assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS), 2);
    end_write();
    assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS), 2);
}

/* Nothing changes, but the file grows old. */
UNIT_TEST_IN(test_refreshing, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    end_write();
    assert_int_equal(snapshot_keeper_after(bed, QUARTER_MS - 1), 1);
    assert_int_equal(snapshot_keeper_after(bed, 1), 2);
    end_write();
    world.is_followed = false; /* nothing newer is known */
    assert_int_equal(snapshot_keeper_after(bed, 3 * (int64_t)QUARTER_MS), 2);
    world.is_followed = true;
    assert_int_equal(snapshot_keeper_after(bed, 0), 3);
    end_write();
    snapshot_keeper_set(bed->keeper, INTERVAL_MS, 0); /* of any age */
    assert_int_equal(snapshot_keeper_after(bed, 100 * (int64_t)MAX_MS), 3);
    snapshot_keeper_set(bed->keeper, INTERVAL_MS, 4 * 5000); /* shorter than the interval */
    assert_int_equal(snapshot_keeper_after(bed, 0), 4);
    end_write();
    assert_int_equal(snapshot_keeper_after(bed, 4999), 4);
    assert_int_equal(snapshot_keeper_after(bed, 1), 5);
    end_write();
}

UNIT_TEST_IN(test_another_interval, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    end_write();
    world.changes++;
    assert_int_equal(snapshot_keeper_after(bed, 500), 1);
    snapshot_keeper_set(bed->keeper, 500, MAX_MS);
    assert_int_equal(snapshot_keeper_after(bed, 0), 2);
    end_write();
}

/* Each of what an image needs, for itself. */
UNIT_TEST_IN(test_nothing_whole_to_save, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    bool *const needs[] = {&world.is_whole, &world.has_documents, &world.can_pin};
    for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
        world.changes++;
        *needs[i] = false;
        assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS), i);
        *needs[i] = true;
        assert_int_equal(snapshot_keeper_after(bed, 0), i); /* not at each turn */
        assert_int_equal(snapshot_keeper_after(bed, 1000), i + 1);
        end_write();
    }
    assert_int_equal(skydns_snapshot_keeper_counts(bed).failures, 0);
}

/* The loop wakes up by itself when a write is due, and not before. */
static void skydns_snapshot_keeper_on_wake(struct ev_loop *loop, ev_timer *timer, int events)
{
    ev_timer_stop(loop, timer);
    fail_msg("the loop slept for too long");
}

UNIT_TEST_IN(test_waking_up, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    ev_timer timeout;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    end_write();
    snapshot_keeper_set(bed->keeper, 20, MAX_MS);
    world.changes++;
    ev_timer_init(&timeout, skydns_snapshot_keeper_on_wake, 60., 0.);
    ev_timer_start(bed->loop, &timeout);
    ev_run(bed->loop, EVRUN_ONCE); /* until a timer of 20 ms */
    world.now_ms += 20;
    ev_run(bed->loop, EVRUN_NOWAIT);
    ev_timer_stop(bed->loop, &timeout);
    assert_int_equal(world.begun, 2);
    end_write();
}

/* ---- What is in it ---- */

UNIT_TEST_IN(test_the_image, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    world.changes = 42;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    const struct snapshot_header *header = &world.image.header;
    assert_string_equal(header->version, version_string);
    assert_int_equal(header->schema, ENGINE_SCHEMA_KUBERNETES);
    assert_int_equal(header->revision, 42);
    assert_string_equal(buf_cstr(&world.image.sections[SNAPSHOT_MIRROR]), "mirror");
    assert_string_equal(buf_cstr(&world.image.sections[SNAPSHOT_WRITERS]), "documents");
    end_write();
    assert_int_equal(skydns_snapshot_keeper_counts(bed).heard_ms, WALL_MS);
    assert_string_equal(world.writer.path, "/var/lib/skydns/snapshot");
}

/* ---- Failures ---- */

/* One warning per interval, one line when it works again. */
UNIT_TEST_IN(test_failures, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    struct log_capture capture;
    world.failure = "no space left";
    log_capture_begin(&capture);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(snapshot_keeper_after(bed, i == 0 ? 0 : INTERVAL_MS - 1), i == 0 ? 1 : i);
        assert_int_equal(snapshot_keeper_after(bed, i == 0 ? 0 : 1), i + 1);
        end_write();
    }
    const char *text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "cannot write the snapshot"), 3);
    assert_int_equal(log_occurrences(text, "file=/var/lib/skydns/snapshot"), 3);
    assert_int_equal(log_occurrences(text, "no space left"), 3);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).failures, 3);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).bytes, 0);
    world.failure = NULL;
    log_capture_begin(&capture);
    for (unsigned i = 0; i < 2; i++) {
        world.changes++;
        assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS), 4 + i);
        end_write();
    }
    text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "the snapshot can be written again"), 1);
    assert_int_equal(log_occurrences(text, "warn "), 0);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).writes, 2);
}

/* A refresh that fails is tried again after the interval, not after another quarter. */
UNIT_TEST_IN(test_a_refresh_fails, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    struct log_capture capture;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    end_write();
    world.failure = "read-only";
    assert_int_equal(snapshot_keeper_after(bed, QUARTER_MS), 2);
    log_capture_begin(&capture);
    end_write();
    (void)log_capture_end(&capture);
    assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS - 1), 2);
    assert_int_equal(snapshot_keeper_after(bed, 1), 3);
    world.failure = NULL;
    end_write();
    assert_int_equal(skydns_snapshot_keeper_counts(bed).bytes, 3000);
}

/* With a greatest age so short that files are tried more often than the interval. */
UNIT_TEST_IN(test_warnings_are_no_more_often, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    struct log_capture capture;
    world.failure = "no space left";
    snapshot_keeper_set(bed->keeper, INTERVAL_MS, 4 * INTERVAL_MS / 10);
    log_capture_begin(&capture);
    for (int64_t ms = 0; ms < 2 * INTERVAL_MS; ms += INTERVAL_MS / 100) {
        (void)snapshot_keeper_after(bed, INTERVAL_MS / 100);
        if (world.is_busy) {
            end_write();
        }
    }
    const char *text = log_capture_end(&capture);
    assert_int_equal(world.begun, 20);
    assert_int_equal(log_occurrences(text, "cannot write the snapshot"), 2);
}

/* Nor if every other one succeeds. */
UNIT_TEST_IN(test_warnings_of_failures_in_turns, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    struct log_capture capture;
    snapshot_keeper_set(bed->keeper, INTERVAL_MS, 4 * INTERVAL_MS / 10);
    log_capture_begin(&capture);
    for (unsigned i = 0; i < 20; i++) {
        world.failure = i % 2 == 0 ? "no space left" : NULL;
        assert_int_equal(snapshot_keeper_after(bed, i == 0 ? 0 : INTERVAL_MS / 10), i + 1);
        end_write();
    }
    const char *text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "cannot write the snapshot"), 2);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).failures, 10);
}

/* A disk that hangs: a warning an interval after the write began, again each interval, and a line
 * when the disk goes on. Nothing but the end is a write or a failure. */
UNIT_TEST_IN(test_a_disk_that_hangs, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    struct log_capture capture;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    log_capture_begin(&capture);
    (void)snapshot_keeper_after(bed, INTERVAL_MS - 1);
    const char *text = log_capture_end(&capture);
    assert_string_equal(text, "");
    log_capture_begin(&capture);
    (void)snapshot_keeper_after(bed, 1);
    for (unsigned i = 0; i < 30; i++) {
        world.changes++;
        (void)snapshot_keeper_after(bed, INTERVAL_MS / 10);
    }
    text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "cannot write the snapshot"), 4);
    assert_int_equal(log_occurrences(text, "the disk takes too long"), 4);
    assert_int_equal(world.begun, 1);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).failures, 0);
    log_capture_begin(&capture);
    end_write();
    text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "the snapshot can be written again"), 1);
    assert_int_equal(snapshot_keeper_after(bed, 0), 2);
    end_write();
}

/* Records that do not fit into a snapshot cost no work but once per interval, and are told. */
UNIT_TEST_IN(test_too_large, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    struct log_capture capture;
    world.is_too_large = true;
    log_capture_begin(&capture);
    for (unsigned i = 0; i < 21; i++) {
        world.changes++;
        assert_int_equal(snapshot_keeper_after(bed, i == 0 ? 0 : INTERVAL_MS / 10), 0);
    }
    const char *text = log_capture_end(&capture);
    assert_int_equal(world.saves, 3);
    assert_int_equal(log_occurrences(text, "take more than 64 MB"), 3);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).failures, 3);
    world.is_too_large = false;
    assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS), 1);
    log_capture_begin(&capture);
    end_write();
    (void)log_capture_end(&capture);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).writes, 1);
}

/* However short the interval, a slow disk is none that hangs. */
UNIT_TEST_IN(test_a_slow_disk, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    enum { SHORT_MS = 1000, SLOW_MS = 15000 };
    struct bed *bed = *state;
    struct log_capture capture;
    snapshot_keeper_set(bed->keeper, SHORT_MS, MAX_MS);
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    log_capture_begin(&capture);
    (void)snapshot_keeper_after(bed, SLOW_MS - 1);
    const char *text = log_capture_end(&capture);
    assert_string_equal(text, "");
    log_capture_begin(&capture);
    (void)snapshot_keeper_after(bed, 1);
    text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "the disk takes too long"), 1);
    end_write();
}

/* ---- From a snapshot ---- */

UNIT_TEST_IN(test_started_from_one, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    const struct snapshot_content content = {.header.heard_ms = WALL_MS - 12000, .bytes = 77};
    snapshot_keeper_free(bed->keeper);
    ev_loop_destroy(bed->loop);
    world.is_from_snapshot = true;
    world.is_whole = false;
    snapshot_keeper_start(bed, &content);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).bytes, 77);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).heard_ms, WALL_MS - 12000);
    assert_int_equal(snapshot_keeper_after(bed, 5000), 0);
    assert_int_equal(world.caught_up, 0);
    world.is_from_snapshot = false;
    world.is_whole = true;
    assert_int_equal(snapshot_keeper_after(bed, 1000), 1);
    assert_int_equal(world.caught_up, 1);
    end_write();
    (void)snapshot_keeper_after(bed, 0);
    assert_int_equal(world.caught_up, 1);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).heard_ms, WALL_MS + 6000);
}

/* ---- The end ---- */

UNIT_TEST_IN(test_the_last_one, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    end_write();
    snapshot_keeper_finish(bed->keeper, 5000); /* nothing changed, but it is newer */
    assert_int_equal(skydns_snapshot_keeper_counts(bed).writes, 2);
    world.changes++;
    assert_int_equal(snapshot_keeper_after(bed, INTERVAL_MS), 3);
    snapshot_keeper_finish(bed->keeper, 5000); /* one is under way */
    assert_int_equal(skydns_snapshot_keeper_counts(bed).writes, 4);
    assert_int_equal(world.image.header.revision, 1);
    assert_false(world.is_busy);
}

UNIT_TEST_IN(test_a_disk_that_hangs_at_the_end, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    struct log_capture capture;
    world.is_slow = true;
    assert_int_equal(snapshot_keeper_after(bed, 0), 1);
    log_capture_begin(&capture);
    snapshot_keeper_finish(bed->keeper, 5000);
    const char *text = log_capture_end(&capture);
    assert_int_equal(log_occurrences(text, "the last snapshot is not written"), 1);
    assert_int_equal(world.begun, 1);
    assert_int_equal(world.waits, 1);
    assert_int_equal(world.waited_ms, 5000);
}

static void snapshot_keeper_on_told(struct ev_loop *loop, ev_timer *timer, int events)
{
    world.has_documents = true;
}

/* A process that ends before etcd has told kube2sky's documents. */
UNIT_TEST_IN(test_the_last_one_waits_for_documents, snapshot_keeper_set_up,
             snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    ev_timer told;
    world.has_documents = world.is_followed = false; /* the watch is being started */
    world.reads = 1;
    ev_timer_init(&told, snapshot_keeper_on_told, 0.001, 0.);
    ev_timer_start(bed->loop, &told);
    snapshot_keeper_finish(bed->keeper, 5000);
    assert_int_equal(skydns_snapshot_keeper_counts(bed).writes, 1);
    assert_int_equal(world.pins, 0);
}

UNIT_TEST_IN(test_nothing_to_save_at_the_end, snapshot_keeper_set_up, snapshot_keeper_tear_down)
{
    struct bed *bed = *state;
    struct log_capture capture;
    world.is_whole = world.is_followed = false;
    log_capture_begin(&capture);
    snapshot_keeper_finish(bed->keeper, 5000);
    assert_string_equal(log_capture_end(&capture), "");
    assert_int_equal(world.begun, 0);
}

UNIT_TEST(test_without_a_keeper)
{
    const struct metrics_snapshot none = snapshot_keeper_counts(NULL);
    assert_int_equal(none.heard_ms, 0);
    assert_int_equal(none.writes + none.failures + none.bytes, 0);
    snapshot_keeper_free(NULL);
}

/* A larger file has more time, within what a pod is given to end. */
UNIT_TEST(test_the_end_waits_longer_for_a_larger_file)
{
    assert_int_equal(snapshot_keeper_end_ms(0), 5000);
    assert_in_range(snapshot_keeper_end_ms(160 << 20), 14900, 15100);
    assert_int_equal(snapshot_keeper_end_ms((size_t)8 << 30), 20000);
    assert_int_equal(snapshot_keeper_end_ms(SIZE_MAX), 20000);
}
