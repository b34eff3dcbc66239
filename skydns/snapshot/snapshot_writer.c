#include "skydns/snapshot/snapshot_writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/privileges.h"
#include "common/base/threads.h"
#include "common/base/xalloc.h"
#include "skydns/publish/publisher.h"
#include "skydns/snapshot/snapshot_writer_internal.h"

enum {
    LOW_PRIORITY = 5, /* a quarter of a busy processor: the version must not stay pinned for long */
    RECLAIM_MS = 10,  /* between parts of what a pin held */
    LAST_WAIT_MS = 1000, /* for a cancelled thread that has no processor, not for a disk */
};

enum stage { STAGE_ENCODING, STAGE_DISK, STAGE_ENDED };

/* Write under way. Its fields are the thread's, but for those marked otherwise; at its end, the
 * writer's again. */
struct job {
    snapshot_write_fn write;
    char *path;
    struct snapshot_image image;
    size_t bytes;
    struct err err; /* code 0: written */

    pthread_mutex_t lock; /* of the next four */
    pthread_cond_t ended;
    enum stage stage;
    struct ev_loop *loop;
    ev_async *progress; /* the writer's; NULL: it has left the job to the thread */

    atomic_bool is_cancelled;

    /* Fields of the writer. */
    pthread_t thread;
    bool has_thread;
    bool is_pinned;
};

struct snapshot_writer {
    struct snapshot_writer_config config;
    snapshot_write_fn write;
    char *path;
    struct job *job; /* NULL: idle */
    bool is_given_up;
    ev_async progress;
    ev_timer reclaim;
};

static void job_free(struct job *job)
{
    snapshot_image_fini(&job->image);
    (void)pthread_cond_destroy(&job->ended); /* nobody waits */
    (void)pthread_mutex_destroy(&job->lock); /* nobody holds it */
    free(job->path);
    free(job);
}

/* ---- The thread ---- */

/* Returns whether the job is still the writer's. */
static bool snapshot_writer_reach(struct job *job, enum stage stage)
{
    (void)pthread_mutex_lock(&job->lock); /* cannot fail: a plain mutex, not held */
    bool is_awaited = job->progress != NULL;
    job->stage = stage;
    if (is_awaited) {
        ev_async_send(job->loop, job->progress);
        (void)pthread_cond_signal(&job->ended); /* cannot fail */
    }
    (void)pthread_mutex_unlock(&job->lock);
    return is_awaited;
}

static void on_encoded(void *data)
{
    (void)snapshot_writer_reach(data, STAGE_DISK);
}

static void *snapshot_writer_run(void *data)
{
    struct job *job = data;
    const struct snapshot_file_write write = {.path = job->path,
                                              .image = &job->image,
                                              .encoded = on_encoded,
                                              .data = job,
                                              .is_cancelled = &job->is_cancelled};
    low_priority_thread(LOW_PRIORITY);
    privileges_drop_thread();
    (void)pthread_setname_np(pthread_self(), "snapshot"); /* for top and gdb only */
    int r = job->write(&write, &job->bytes, &job->err);
    job->err.code = r; /* success leaves it untouched */
    if (!snapshot_writer_reach(job, STAGE_ENDED)) {
        job_free(job);
    }
    return NULL;
}

/* ---- The main thread ---- */

static enum stage snapshot_writer_stage_of(struct job *job)
{
    (void)pthread_mutex_lock(&job->lock);
    enum stage stage = job->stage;
    (void)pthread_mutex_unlock(&job->lock);
    return stage;
}

static void snapshot_writer_unpin(struct snapshot_writer *w, struct job *job)
{
    if (job->is_pinned) {
        job->is_pinned = false;
        publisher_unpin(w->config.publisher, job->image.store);
        if (publisher_reclaim(w->config.publisher)) {
            ev_timer_again(w->config.loop, &w->reclaim);
        }
    }
}

static void snapshot_writer_on_reclaim(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    const struct snapshot_writer *w = timer->data;
    if (!publisher_reclaim(w->config.publisher)) {
        ev_timer_stop(loop, timer);
    }
}

/* Ends the job; the writer is idle when `written` is called. */
static void end_job(struct snapshot_writer *w)
{
    struct job *job = STEAL(w->job);
    if (job->has_thread) {
        (void)pthread_join(job->thread, NULL); /* cannot fail for a thread of ours */
    }
    bool is_written = job->err.code == 0;
    w->config.written(w->config.data, &job->image.header, is_written ? job->bytes : 0,
                      is_written ? NULL : &job->err);
    job_free(job);
}

static void snapshot_writer_advance(struct snapshot_writer *w)
{
    enum stage stage = w->job ? snapshot_writer_stage_of(w->job) : STAGE_ENCODING;
    if (stage != STAGE_ENCODING) {
        snapshot_writer_unpin(w, w->job);
    }
    if (stage == STAGE_ENDED) {
        end_job(w);
    }
}

static void on_progress(struct ev_loop *loop UNUSED, ev_async *progress, int revents UNUSED)
{
    snapshot_writer_advance(progress->data);
}

struct snapshot_writer *snapshot_writer_new_on(const struct snapshot_writer_config *config,
                                               snapshot_write_fn write)
{
    struct snapshot_writer *w = xcalloc(1, sizeof(*w));
    w->config = *config;
    w->write = write;
    w->path = xstrdup(config->path);
    ev_async_init(&w->progress, on_progress);
    ev_init(&w->reclaim, snapshot_writer_on_reclaim);
    w->reclaim.repeat = RECLAIM_MS / 1000.0;
    w->progress.data = w->reclaim.data = w;
    ev_async_start(config->loop, &w->progress);
    return w;
}

struct snapshot_writer *snapshot_writer_new(const struct snapshot_writer_config *config)
{
    return snapshot_writer_new_on(config, snapshot_file_write);
}

static struct job *job_new(struct snapshot_writer *w, struct snapshot_image *image)
{
    struct job *job = xcalloc(1, sizeof(*job));
    pthread_condattr_t attributes;
    *job = (struct job){.write = w->write,
                        .path = xstrdup(w->path), /* the thread may outlive the writer */
                        .image = *image,
                        .is_pinned = image->store != NULL,
                        .loop = w->config.loop,
                        .progress = &w->progress};
    snapshot_image_init(image);
    atomic_init(&job->is_cancelled, false);
    /* Cannot fail with such arguments. */
    (void)pthread_mutex_init(&job->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&job->ended, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return job;
}

bool snapshot_writer_write(struct snapshot_writer *writer, struct snapshot_image *image)
{
    if (writer->job) {
        return false;
    }
    struct job *job = writer->job = job_new(writer, image);
    writer->is_given_up = false;
    int r = thread_start(&job->thread, NULL, snapshot_writer_run, job);
    job->has_thread = r == 0;
    if (r < 0) {
        err_set(&job->err, r, "start a thread for `%s`: %s", job->path, err_code_text(r));
        (void)snapshot_writer_reach(job, STAGE_ENDED); /* told from the loop, like any other end */
    }
    return true;
}

bool snapshot_writer_is_busy(const struct snapshot_writer *writer)
{
    return writer->job != NULL;
}

/* Returns whether the job ends within this time. */
static bool snapshot_writer_wait_for(struct job *job, int64_t timeout_ms)
{
    struct timespec end;
    int r = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &end); /* cannot fail */
    int64_t ns = end.tv_nsec + timeout_ms % 1000 * 1000000;
    end.tv_sec += timeout_ms / 1000 + ns / 1000000000;
    end.tv_nsec = ns % 1000000000;
    (void)pthread_mutex_lock(&job->lock);
    while (job->stage != STAGE_ENDED && r == 0) {
        r = pthread_cond_timedwait(&job->ended, &job->lock, &end); /* or ETIMEDOUT */
    }
    bool is_ended = job->stage == STAGE_ENDED;
    (void)pthread_mutex_unlock(&job->lock);
    return is_ended;
}

bool snapshot_writer_wait(struct snapshot_writer *writer, int64_t timeout_ms)
{
    writer->is_given_up = writer->job && !snapshot_writer_wait_for(writer->job, timeout_ms);
    snapshot_writer_advance(writer);
    return !writer->is_given_up;
}

/* Cancels the job unless only the disk is awaited: then the snapshot will be good. Returns whether
 * it was cancelled. */
static bool snapshot_writer_cancel(struct job *job)
{
    (void)pthread_mutex_lock(&job->lock);
    bool is_encoding = job->stage == STAGE_ENCODING;
    if (is_encoding) {
        atomic_store(&job->is_cancelled, true);
    }
    (void)pthread_mutex_unlock(&job->lock);
    return is_encoding;
}

/* Leaves the job to the thread, which frees it. Returns false if that has just ended. */
static bool leave_to_thread(struct job *job)
{
    (void)pthread_mutex_lock(&job->lock);
    bool is_left = job->stage != STAGE_ENDED;
    if (is_left) {
        job->progress = NULL;
        (void)pthread_detach(job->thread); /* cannot fail for a thread of ours */
    }
    (void)pthread_mutex_unlock(&job->lock);
    return is_left;
}

/* Frees the job without a callback. If no thread is left behind, unpins the version. */
static void end_quietly(struct snapshot_writer *w, struct job *job)
{
    bool ends_soon = snapshot_writer_cancel(job);
    bool is_given_up =
        w->is_given_up && !(ends_soon && snapshot_writer_wait_for(job, LAST_WAIT_MS));
    if (is_given_up && leave_to_thread(job)) {
        return;
    }
    if (job->has_thread) {
        (void)pthread_join(job->thread, NULL); /* cannot fail for a thread of ours */
    }
    snapshot_writer_unpin(w, job);
    job_free(job);
}

void snapshot_writer_free(struct snapshot_writer *writer)
{
    if (!writer) {
        return;
    }
    if (writer->job) {
        end_quietly(writer, STEAL(writer->job));
    }
    ev_timer_stop(writer->config.loop, &writer->reclaim);
    ev_async_stop(writer->config.loop, &writer->progress);
    free(writer->path);
    free(writer);
}
