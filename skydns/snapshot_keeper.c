#include "skydns/snapshot_keeper.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/version.h"
#include "common/base/xalloc.h"
#include "skydns/publish/publisher.h"
#include "skydns/snapshot/snapshot.h"
#include "skydns/snapshot/snapshot_writer.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"

/* Backoff while there is nothing whole to write: a full read is under way, or etcd is away since
 * the start. Short, since a process that is killed before the next write starts from the file as it
 * was, perhaps of an etcd data set that is gone. */
enum { UNREADY_RETRY_MS = 100 };

/* Limits a write: one that takes longer than this, and than the interval, waits for a disk that
 * hangs. Longer than the wait for another process, SNAPSHOT_LOCK_WAIT_MS. */
enum { SLOW_MS = 15000 };

/* Limits refreshes however short the greatest age is: a snapshot a second old is of use. */
enum { REFRESH_MIN_MS = 100 };

/* Time when no write is due. */
static const int64_t never_ms = INT64_MAX;

struct snapshot_keeper {
    struct snapshot_keeper_config config;
    struct snapshot_writer *writer;
    ev_prepare look; /* at each turn of the loop */
    ev_timer wake;   /* active while a write is due later */
    int64_t wake_ms; /* when; never_ms: it is not active */

    bool has_begun;        /* a write */
    int64_t begun_ms;      /* the last one; monotonic */
    int64_t not_before_ms; /* there was nothing to save */
    uint64_t notes;        /* changes told by snapshot_keeper_note */
    bool has_written;
    uint64_t begun_changes;   /* as of the last image */
    uint64_t written_changes; /* as of the file */

    bool awaits_etcd; /* started from a snapshot, and etcd has not confirmed it */
    bool is_failing;
    bool has_told;
    int64_t told_ms; /* the last warning: when its write began, or had taken too long */
    struct metrics_snapshot counts;
};

/* ---- Writing ---- */

/* Logs a warning, unless there was one in the interval before: also if writes fail in turns. */
static void tell_failing(struct snapshot_keeper *keeper, int64_t at_ms, const char *reason)
{
    keeper->is_failing = true;
    if (keeper->has_told && at_ms - keeper->told_ms < keeper->config.interval_ms) {
        return;
    }
    keeper->has_told = true;
    keeper->told_ms = at_ms;
    log_warn("cannot write the snapshot", LOG_STR("file", keeper->config.path),
             LOG_STR("reason", reason));
}

static uint64_t changes_now(const struct snapshot_keeper *keeper)
{
    return store_sync_changes(keeper->config.sync) + keeper->notes;
}

/* Takes an image. Returns false if there is nothing whole to write. */
static bool take_image(const struct snapshot_keeper *keeper, struct snapshot_image *image)
{
    const struct snapshot_keeper_config *config = &keeper->config;
    if (!store_sync_save(config->sync, image) ||
        !writer_documents_save(config->documents, &image->sections[SNAPSHOT_WRITERS])) {
        return false;
    }
    (void)snprintf(image->header.version, sizeof(image->header.version), "%s",
                   version_string); /* cut: only for the log */
    image->header.schema = (uint8_t)config->schema;
    image->store = publisher_pin(config->publisher);
    return image->store != NULL;
}

/* Returns whether a section has no room for, say, all leases: that is a failed write, not one to
 * try every second. */
static bool is_too_large(const struct snapshot_image *image)
{
    bool is_cut = false;
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        is_cut = is_cut || image->sections[i].failed;
    }
    return is_cut;
}

/* Begins a write. Returns false if none has begun. */
static bool snapshot_keeper_begin(struct snapshot_keeper *keeper, int64_t now_ms)
{
    struct snapshot_image image;
    snapshot_image_init(&image);
    bool is_begun = take_image(keeper, &image);
    if (is_begun && !snapshot_writer_write(keeper->writer, &image)) {
        publisher_unpin(keeper->config.publisher, image.store);
        is_begun = false;
    }
    if (is_begun) {
        keeper->has_begun = true;
        keeper->begun_ms = now_ms;
        keeper->begun_changes = changes_now(keeper);
    } else if (is_too_large(&image)) {
        keeper->has_begun = true;
        keeper->begun_ms = now_ms;
        keeper->counts.failures++;
        tell_failing(keeper, now_ms, "leases, documents or unusable keys take more than 64 MB");
    } else {
        keeper->not_before_ms = now_ms + UNREADY_RETRY_MS;
    }
    if (!is_begun) {
        snapshot_image_fini(&image);
    }
    return is_begun;
}

static void snapshot_keeper_on_written(void *data, const struct snapshot_header *header,
                                       size_t bytes, const struct err *err)
{
    struct snapshot_keeper *keeper = data;
    if (err) {
        keeper->counts.failures++;
        tell_failing(keeper, keeper->begun_ms, err->msg);
        return;
    }
    keeper->has_written = true;
    keeper->written_changes = keeper->begun_changes;
    keeper->counts.writes++;
    keeper->counts.bytes = bytes;
    keeper->counts.heard_ms = header->heard_ms;
    if (keeper->is_failing) {
        log_info("the snapshot can be written again", LOG_STR("file", keeper->config.path));
    }
    keeper->is_failing = false;
    log_debug("snapshot written", LOG_STR("file", keeper->config.path),
              LOG_INT("revision", header->revision), LOG_INT("bytes", (int64_t)bytes));
}

/* ---- When ---- */

/* Returns when to write again a file that says what etcd does, since its age counts. */
static int64_t refresh_due(const struct snapshot_keeper *keeper, int64_t now_ms)
{
    int64_t quarter_ms = keeper->config.max_ms / 4;
    if (keeper->config.max_ms == 0) {
        return never_ms;
    }
    int64_t due_ms = keeper->begun_ms + (quarter_ms > REFRESH_MIN_MS ? quarter_ms : REFRESH_MIN_MS);
    bool is_in_vain =
        due_ms <= now_ms && !store_sync_counts(keeper->config.sync).mirror.is_following;
    return is_in_vain ? never_ms : due_ms; /* etcd's return turns the loop */
}

/* Returns when to log that the write under way hangs. */
static int64_t slow_due(const struct snapshot_keeper *keeper)
{
    int64_t interval_ms = keeper->config.interval_ms;
    int64_t slow_ms = keeper->begun_ms + (interval_ms > SLOW_MS ? interval_ms : SLOW_MS);
    int64_t again_ms = keeper->has_told ? keeper->told_ms + interval_ms : 0;
    return slow_ms > again_ms ? slow_ms : again_ms;
}

static int64_t snapshot_keeper_is_due(const struct snapshot_keeper *keeper, int64_t now_ms)
{
    int64_t due_ms = now_ms;
    if (snapshot_writer_is_busy(keeper->writer)) {
        return slow_due(keeper); /* its end turns the loop */
    }
    if (keeper->has_begun) {
        bool is_changed = keeper->is_failing || !keeper->has_written ||
                          keeper->written_changes != changes_now(keeper);
        int64_t refresh_ms = refresh_due(keeper, now_ms);
        due_ms = keeper->begun_ms + keeper->config.interval_ms;
        due_ms = is_changed && due_ms < refresh_ms ? due_ms : refresh_ms;
    }
    return due_ms > keeper->not_before_ms ? due_ms : keeper->not_before_ms;
}

static void set_wake(struct snapshot_keeper *keeper, int64_t at_ms, int64_t now_ms)
{
    if (at_ms == keeper->wake_ms) {
        return;
    }
    keeper->wake_ms = at_ms;
    ev_timer_stop(keeper->config.loop, &keeper->wake);
    if (at_ms != never_ms) {
        ev_now_update(keeper->config.loop); /* the timer counts from there */
        timer_arm_ms(keeper->config.loop, &keeper->wake, at_ms - now_ms);
    }
}

static void look_after_start(struct snapshot_keeper *keeper)
{
    int64_t heard_ms;
    if (keeper->awaits_etcd && !store_sync_is_from_snapshot(keeper->config.sync, &heard_ms)) {
        keeper->awaits_etcd = false;
        keeper->config.caught_up(keeper->config.data);
    }
}

static void snapshot_keeper_on_turn(struct ev_loop *loop UNUSED, ev_prepare *prepare,
                                    int events UNUSED)
{
    struct snapshot_keeper *keeper = prepare->data;
    int64_t now_ms = clock_monotonic_ms();
    look_after_start(keeper);
    int64_t due_ms = snapshot_keeper_is_due(keeper, now_ms);
    if (due_ms <= now_ms && snapshot_writer_is_busy(keeper->writer)) {
        tell_failing(keeper, now_ms, "the disk takes too long");
        due_ms = snapshot_keeper_is_due(keeper, now_ms);
    } else if (due_ms <= now_ms) {
        (void)snapshot_keeper_begin(keeper, now_ms); /* if not, later */
        due_ms = snapshot_keeper_is_due(keeper, now_ms);
    }
    set_wake(keeper, due_ms, now_ms);
}

/* Does nothing: the turn of the loop begins the write. */
static void snapshot_keeper_on_wake(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    struct snapshot_keeper *keeper = timer->data;
    keeper->wake_ms = never_ms;
}

/* ---- Life ---- */

struct snapshot_keeper *snapshot_keeper_new(const struct snapshot_keeper_config *config)
{
    struct snapshot_keeper *keeper = xcalloc(1, sizeof(*keeper));
    keeper->config = *config;
    keeper->config.start = NULL;
    keeper->wake_ms = never_ms;
    if (config->start) {
        keeper->awaits_etcd = true;
        keeper->counts.bytes = config->start->bytes;
        keeper->counts.heard_ms = config->start->header.heard_ms;
    }
    keeper->writer = snapshot_writer_new(&(struct snapshot_writer_config){
        .loop = config->loop,
        .publisher = config->publisher,
        .path = config->path,
        .written = snapshot_keeper_on_written,
        .data = keeper,
    });
    ev_prepare_init(&keeper->look, snapshot_keeper_on_turn);
    keeper->look.data = keeper;
    ev_prepare_start(config->loop, &keeper->look);
    timer_init(&keeper->wake, snapshot_keeper_on_wake, keeper);
    return keeper;
}

void snapshot_keeper_free(struct snapshot_keeper *keeper)
{
    if (keeper) {
        ev_prepare_stop(keeper->config.loop, &keeper->look);
        ev_timer_stop(keeper->config.loop, &keeper->wake);
        snapshot_writer_free(keeper->writer);
        free(keeper);
    }
}

void snapshot_keeper_set(struct snapshot_keeper *keeper, int64_t interval_ms, int64_t max_ms)
{
    keeper->config.interval_ms = interval_ms;
    keeper->config.max_ms = max_ms;
}

void snapshot_keeper_note(struct snapshot_keeper *keeper)
{
    keeper->notes++;
}

/* Limits how long the last write may wait for what etcd is about to tell. */
static const double complete_s = 1.0;

static void on_over(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    *(bool *)timer->data = true;
}

/* Returns whether the missing part is under way: etcd answers, or did a moment ago. */
static bool may_become_whole(const struct snapshot_keeper *keeper)
{
    struct store_sync_counts counts = store_sync_counts(keeper->config.sync);
    return counts.mirror.is_following || counts.reads > 0;
}

/* Begins the last snapshot. Waits for what etcd is about to tell: a process that ends just after
 * its start may still lack the watch or kube2sky's documents. */
static bool begin_soon(struct snapshot_keeper *keeper)
{
    struct ev_loop *loop = keeper->config.loop;
    bool is_over = false, is_begun = snapshot_keeper_begin(keeper, clock_monotonic_ms());
    ev_timer over;
    ev_timer_init(&over, on_over, complete_s, 0.);
    over.data = &is_over;
    ev_now_update(loop);
    ev_timer_start(loop, &over);
    ev_prepare_stop(loop, &keeper->look); /* which would begin it, too */
    while (!is_begun && !is_over && may_become_whole(keeper)) {
        ev_run(loop, EVRUN_ONCE);
        is_begun = snapshot_keeper_begin(keeper, clock_monotonic_ms());
    }
    ev_prepare_start(loop, &keeper->look);
    ev_timer_stop(loop, &over);
    return is_begun;
}

int64_t snapshot_keeper_end_ms(size_t bytes)
{
    enum { LEAST_MS = 5000, MOST_MS = 20000, BYTES_PER_MS = (16 << 20) / 1000 };
    size_t more_ms = bytes / BYTES_PER_MS;
    return more_ms < MOST_MS - LEAST_MS ? LEAST_MS + (int64_t)more_ms : MOST_MS;
}

void snapshot_keeper_finish(struct snapshot_keeper *keeper, int64_t timeout_ms)
{
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;
    bool is_done = snapshot_writer_wait(keeper->writer, timeout_ms);
    if (is_done && begin_soon(keeper)) {
        int64_t left_ms = end_ms - clock_monotonic_ms();
        is_done = snapshot_writer_wait(keeper->writer, left_ms > 0 ? left_ms : 0);
    }
    if (!is_done) {
        log_warn("the last snapshot is not written, the disk takes too long",
                 LOG_STR("file", keeper->config.path), LOG_INT("timeout_ms", timeout_ms));
    }
}

struct metrics_snapshot snapshot_keeper_counts(const void *keeper)
{
    const struct snapshot_keeper *k = keeper;
    return k ? k->counts : (struct metrics_snapshot){0};
}
