/* The thread that writes snapshots, on disks of the test's own: one that waits at each step until
 * the test lets it go on. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>

#include "skydns/publish/publisher.h"
#include "skydns/snapshot/snapshot_writer_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/records.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { BYTES = 1234, TIMEOUT_MS = 60000 };

static const char path[] = "/nowhere/snapshot";

/* ---- The disk ---- */

/* Static: a thread that was left to itself may still use it. */
static struct disk {
    sem_t began, may_encode, may_sync, ended;
    int result;
    bool is_cancelled, had_signals;
    int priority, policy;
    char path[64];
    int64_t revision; /* of the version */
    uint8_t section;
} disk;

static void disk_init(void)
{
    disk = (struct disk){.result = 0};
    assert_int_equal(sem_init(&disk.began, 0, 0), 0);
    assert_int_equal(sem_init(&disk.may_encode, 0, 0), 0);
    assert_int_equal(sem_init(&disk.may_sync, 0, 0), 0);
    assert_int_equal(sem_init(&disk.ended, 0, 0), 0);
}

static void note_thread(void)
{
    sigset_t blocked;
    sigset_t term;
    sigemptyset(&term);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    disk.had_signals = sigismember(&blocked, SIGTERM) != 1 || sigismember(&blocked, SIGHUP) != 1;
    disk.priority = getpriority(PRIO_PROCESS, 0);
    disk.policy = sched_getscheduler(0);
}

static int snapshot_writer_fail_with(struct err *err, int code)
{
    return err_set(err, code, "write snapshot: %s", err_code_text(code));
}

static int write_slowly(const struct snapshot_file_write *write, size_t *ret_bytes, struct err *err)
{
    note_thread();
    memcpy(disk.path, write->path, strlen(write->path) + 1);
    (void)sem_post(&disk.began);
    (void)sem_wait(&disk.may_encode);
    if (atomic_load(write->is_cancelled)) {
        disk.is_cancelled = true;
        (void)sem_post(&disk.ended);
        return snapshot_writer_fail_with(err, ERR_CANCELED);
    }
    disk.revision = store_revision(write->image->store);
    disk.section = write->image->sections[SNAPSHOT_LEASES].data[0];
    write->encoded(write->data);
    (void)sem_wait(&disk.may_sync);
    disk.is_cancelled = atomic_load(write->is_cancelled);
    *ret_bytes = BYTES;
    int r = disk.result ? snapshot_writer_fail_with(err, disk.result) : 0;
    (void)sem_post(&disk.ended);
    return r;
}

/* Encodes until it is cancelled. */
static int write_endlessly(const struct snapshot_file_write *write, size_t *ret_bytes,
                           struct err *err)
{
    (void)sem_post(&disk.began);
    while (!atomic_load(write->is_cancelled)) {
        disk.revision = store_revision(write->image->store);
        (void)sched_yield(); /* cannot fail */
    }
    *ret_bytes = BYTES;
    disk.is_cancelled = true;
    return snapshot_writer_fail_with(err, ERR_CANCELED);
}

static void at_once(void)
{
    (void)sem_post(&disk.may_encode);
    (void)sem_post(&disk.may_sync);
}

/* ---- The main thread ---- */

struct fixture {
    struct ev_loop *loop;
    struct store_writer *store;
    struct publisher *publisher;
    struct snapshot_writer *writer;
    int64_t revision;
    unsigned written, failed;
    size_t bytes;
    int64_t header_revision;
    char error[128];
    bool wants_next;
};

static void snapshot_writer_begin(struct fixture *f);

static void snapshot_writer_on_written(void *data, const struct snapshot_header *header,
                                       size_t bytes, const struct err *err)
{
    struct fixture *f = data;
    f->written++;
    f->failed += err != NULL;
    f->bytes = bytes;
    f->header_revision = header->revision;
    if (err) {
        memcpy(f->error, err->msg, sizeof(f->error));
    }
    assert_false(snapshot_writer_is_busy(f->writer));
    if (f->wants_next) {
        f->wants_next = false;
        snapshot_writer_begin(f);
    }
}

static void snapshot_writer_publish(struct fixture *f)
{
    struct record record;
    struct store_garbage *garbage;
    struct dname name = dname_from("a.test");
    record = (struct record){.ttl_s = 0};
    (void)records_put(f->store, &name, &record, ++f->revision);
    const struct store *store = store_writer_commit(f->store, f->revision, &garbage);
    publisher_publish(f->publisher, store, garbage);
}

static struct snapshot_image image_of(struct fixture *f)
{
    struct snapshot_image image;
    snapshot_image_init(&image);
    image.header.revision = f->revision;
    buf_append_u8(&image.sections[SNAPSHOT_LEASES], 7);
    image.store = publisher_pin(f->publisher);
    assert_non_null(image.store);
    return image;
}

static void snapshot_writer_begin(struct fixture *f)
{
    struct snapshot_image image = image_of(f);
    assert_true(snapshot_writer_write(f->writer, &image));
    assert_null(image.sections[SNAPSHOT_LEASES].data); /* taken over */
    assert_true(snapshot_writer_is_busy(f->writer));
}

static void fixture_init(struct fixture *f, snapshot_write_fn write)
{
    disk_init();
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO),
                          .store = store_writer_new(),
                          .publisher = publisher_new()};
    const struct snapshot_writer_config config = {.loop = f->loop,
                                                  .publisher = f->publisher,
                                                  .path = path,
                                                  .written = snapshot_writer_on_written,
                                                  .data = f};
    f->writer = snapshot_writer_new_on(&config, write);
    snapshot_writer_publish(f);
}

static void snapshot_writer_fixture_free(struct fixture *f)
{
    snapshot_writer_free(f->writer);
    publisher_free(f->publisher);
    store_writer_free(f->store);
    ev_loop_destroy(f->loop);
}

static void snapshot_writer_set_up(struct fixture *f)
{
    fixture_init(f, write_slowly);
}

UNIT_FIXTURE(struct fixture, snapshot_writer_set_up, snapshot_writer_fixture_free)

static void run_until_written(struct fixture *f, unsigned count)
{
    while (f->written < count) {
        ev_run(f->loop, EVRUN_ONCE);
    }
}

UNIT_TEST_ON(test_writes, struct fixture *f)
{
    assert_false(snapshot_writer_is_busy(f->writer));
    snapshot_writer_begin(f);
    snapshot_writer_publish(f); /* the version that is written is the one before */
    at_once();
    run_until_written(f, 1);
    assert_int_equal(f->failed, 0);
    assert_int_equal(f->bytes, BYTES);
    assert_int_equal(f->header_revision, 1);
    assert_int_equal(disk.revision, 1);
    assert_int_equal(disk.section, 7);
    assert_string_equal(disk.path, path);
    assert_false(disk.is_cancelled);
}

/* A worker's share of the processor, and signals, are not for this thread. */
UNIT_TEST_ON(test_thread_stays_behind, struct fixture *f)
{
    int before = getpriority(PRIO_PROCESS, 0);
    snapshot_writer_begin(f);
    at_once();
    run_until_written(f, 1);
    assert_int_equal(disk.priority, 5);
    assert_int_equal(disk.policy, SCHED_BATCH);
    assert_false(disk.had_signals);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), before);
}

UNIT_TEST_ON(test_failure_is_told, struct fixture *f)
{
    disk.result = -ENOSPC;
    snapshot_writer_begin(f);
    at_once();
    run_until_written(f, 1);
    assert_int_equal(f->failed, 1);
    assert_int_equal(f->bytes, 0);
    assert_string_equal(f->error, "write snapshot: No space left on device");
    disk.result = 0;
    snapshot_writer_begin(f);
    at_once();
    run_until_written(f, 2);
    assert_int_equal(f->failed, 1);
}

UNIT_TEST_ON(test_one_at_a_time, struct fixture *f)
{
    snapshot_writer_begin(f);
    struct snapshot_image image = image_of(f);
    assert_false(snapshot_writer_write(f->writer, &image));
    assert_non_null(image.sections[SNAPSHOT_LEASES].data);
    publisher_unpin(f->publisher, image.store);
    snapshot_image_fini(&image);
    f->wants_next = true; /* from `written` itself */
    at_once();
    at_once();
    run_until_written(f, 2);
    assert_int_equal(f->failed, 0);
}

/* All places are taken, but for the one of the image. */
static void take_other_pins(struct fixture *f, const struct store *pinned[PUBLISHER_PINS_MAX])
{
    for (int i = 1; i < PUBLISHER_PINS_MAX; i++) {
        snapshot_writer_publish(f);
        pinned[i] = publisher_pin(f->publisher);
        assert_non_null(pinned[i]);
    }
    snapshot_writer_publish(f);
    assert_null(publisher_pin(f->publisher));
}

/* The version is needed until it is encoded, not until the disk has it. */
UNIT_TEST_ON(test_unpins_before_the_disk_is_done, struct fixture *f)
{
    const struct store *pinned[PUBLISHER_PINS_MAX];
    snapshot_writer_begin(f);
    take_other_pins(f, pinned);
    (void)sem_post(&disk.may_encode);
    while (!(pinned[0] = publisher_pin(f->publisher))) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_true(snapshot_writer_is_busy(f->writer));
    assert_int_equal(f->written, 0);
    assert_int_equal(disk.revision, 1);
    (void)sem_post(&disk.may_sync);
    run_until_written(f, 1);
    for (int i = 0; i < PUBLISHER_PINS_MAX; i++) {
        publisher_unpin(f->publisher, pinned[i]);
    }
}

/* Memory that the pin held is freed although nobody publishes any more. */
UNIT_TEST_ON(test_reclaims_what_was_pinned, struct fixture *f)
{
    struct publisher_reader *reader = publisher_reader_new(f->publisher);
    snapshot_writer_begin(f);
    assert_non_null(publisher_enter(reader));
    snapshot_writer_publish(f);
    at_once();
    run_until_written(f, 1);
    assert_true(publisher_reclaim(f->publisher)); /* waits for the reader */
    publisher_leave(reader);
    ev_run(f->loop, EVRUN_ONCE); /* the writer's timer */
    assert_false(publisher_reclaim(f->publisher));
}

UNIT_TEST(test_free_cancels)
{
    struct fixture f;
    fixture_init(&f, write_endlessly);
    snapshot_writer_begin(&f);
    (void)sem_wait(&disk.began);
    snapshot_writer_publish(&f);
    snapshot_writer_fixture_free(&f);
    assert_true(disk.is_cancelled);
    assert_int_equal(f.written, 0);
}

/* Then the snapshot is as good as written. */
UNIT_TEST(test_free_waits_for_the_disk)
{
    struct fixture f;
    const struct store *pinned[PUBLISHER_PINS_MAX];
    fixture_init(&f, write_slowly);
    snapshot_writer_begin(&f);
    take_other_pins(&f, pinned);
    (void)sem_post(&disk.may_encode);
    while (!publisher_pin(f.publisher)) {
        ev_run(f.loop, EVRUN_ONCE);
    }
    (void)sem_post(&disk.may_sync);
    snapshot_writer_fixture_free(&f);
    assert_int_equal(sem_trywait(&disk.ended), 0);
    assert_false(disk.is_cancelled);
}

UNIT_TEST_ON(test_wait, struct fixture *f)
{
    assert_true(snapshot_writer_wait(f->writer, 0)); /* for nothing */
    snapshot_writer_begin(f);
    assert_false(snapshot_writer_wait(f->writer, 1));
    assert_int_equal(f->written, 0);
    at_once();
    assert_true(snapshot_writer_wait(f->writer, TIMEOUT_MS));
    assert_int_equal(f->written, 1);
    assert_int_equal(f->failed, 0);
    assert_int_equal(f->bytes, BYTES);
    ev_run(f->loop, EVRUN_NOWAIT); /* nothing is reported twice */
    assert_int_equal(f->written, 1);
}

/* The end of the program does not wait for it any longer; the thread ends by itself. */
UNIT_TEST(test_disk_that_hangs)
{
    struct fixture f;
    fixture_init(&f, write_slowly);
    snapshot_writer_begin(&f);
    (void)sem_post(&disk.may_encode);
    ev_run(f.loop, EVRUN_ONCE);
    assert_false(snapshot_writer_wait(f.writer, 1));
    snapshot_writer_fixture_free(&f);
    assert_int_equal(f.written, 0);
    (void)sem_post(&disk.may_sync);
    (void)sem_wait(&disk.ended);
}

/* Likewise before the version is encoded, which is gone when the disk lets the thread go on. */
UNIT_TEST(test_disk_that_hangs_early)
{
    struct fixture f;
    fixture_init(&f, write_slowly);
    snapshot_writer_begin(&f);
    (void)sem_wait(&disk.began);
    snapshot_writer_publish(&f);
    assert_false(snapshot_writer_wait(f.writer, 1));
    snapshot_writer_fixture_free(&f);
    assert_int_equal(f.written, 0);
    (void)sem_post(&disk.may_encode);
    (void)sem_wait(&disk.ended);
    assert_true(disk.is_cancelled);
}
