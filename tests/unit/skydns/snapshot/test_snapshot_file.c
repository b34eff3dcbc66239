/* The file: whole at every moment, whatever lies in its place, and whatever fails. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "skydns/records/store.h"
#include "skydns/records/store_loader.h"
#include "skydns/snapshot/snapshot_file.h"
#include "skydns/snapshot/snapshot_format_internal.h"
#include "tests/support/skydns/snapshots.h"
#include "tests/support/unit_test.h"

enum { PATH_BYTES = 128 };

/* A folder of its own, and two images: one of a few records, one of several pieces. */
struct bed {
    char folder[PATH_BYTES], file[PATH_BYTES], temporary[PATH_BYTES], other[PATH_BYTES];
    struct store_writer *writers[2];
    struct snapshot_image small, large;
};

static void snapshot_file_make_image(struct bed *bed, unsigned i, size_t count, int64_t revision,
                                     struct snapshot_image *ret)
{
    bed->writers[i] = store_writer_new();
    snapshots_random_image(ret, i, snapshots_random_store(bed->writers[i], i, count, revision));
    ret->header.revision = revision;
}

static void snapshot_file_set_up(struct bed *bed)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(bed->folder, sizeof(bed->folder), "%s/snapshot.XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(bed->folder));
    (void)snprintf(bed->file, sizeof(bed->file), "%.100s/file", bed->folder);
    (void)snprintf(bed->temporary, sizeof(bed->temporary), "%.100s/file.tmp", bed->folder);
    (void)snprintf(bed->other, sizeof(bed->other), "%.100s/other", bed->folder);
    snapshot_file_make_image(bed, 0, 20, 1, &bed->small);
    snapshot_file_make_image(bed, 1, 8000, 2, &bed->large);
}

static void snapshot_file_tear_down(struct bed *bed)
{
    const char *const files[] = {bed->file, bed->temporary, bed->other};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        (void)!(unlink(files[i]) && rmdir(files[i])); /* not all of them are there */
    }
    assert_int_equal(rmdir(bed->folder), 0); /* nothing else was left */
    snapshot_image_fini(&bed->small);
    snapshot_image_fini(&bed->large);
    store_writer_free(bed->writers[0]);
    store_writer_free(bed->writers[1]);
}

UNIT_FIXTURE(struct bed, snapshot_file_set_up, snapshot_file_tear_down)

static int snapshot_file_write_image(const struct bed *bed, const struct snapshot_image *image,
                                     struct err *err)
{
    size_t bytes;
    const struct snapshot_file_write write = {.path = bed->file, .image = image, .lock_wait_ms = 1};
    return snapshot_file_write(&write, &bytes, err);
}

/* The revision of what is there. */
static int64_t revision_at(const char *path)
{
    struct snapshot_content content;
    struct err err = {0};
    int r = snapshot_file_read(path, &content, &err);
    assert_that(r == 0, "%d %s", r, err.msg);
    int64_t revision = content.header.revision;
    snapshot_content_fini(&content);
    return revision;
}

static bool snapshot_file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static off_t snapshot_file_size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void snapshot_file_put_file(const char *path, const char *text, mode_t mode)
{
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
}

/* ---- Writing and reading ---- */

UNIT_TEST_ON(test_write_and_read, struct bed *bed)
{
    const struct snapshot_image *const images[] = {&bed->small, &bed->large, &bed->small};
    for (size_t i = 0; i < ARRAY_LEN(images); i++) {
        size_t bytes = 0;
        struct err err;
        struct stat st;
        const struct snapshot_file_write write = {.path = bed->file, .image = images[i]};
        assert_int_equal(snapshot_file_write(&write, &bytes, &err), 0);
        assert_int_equal(stat(bed->file, &st), 0);
        assert_int_equal(st.st_size, bytes);
        assert_int_equal(st.st_mode, S_IFREG | 0600);
        assert_false(snapshot_file_exists(bed->temporary));

        CLEANUP(snapshot_content_fini) struct snapshot_content content;
        assert_int_equal(snapshot_file_read(bed->file, &content, &err), 0);
        assert_int_equal(content.bytes, bytes);
        assert_int_equal(content.header.revision, images[i]->header.revision);
        CLEANUP_BUF struct buf written = buf_of(SNAPSHOTS_MAX);
        CLEANUP_BUF struct buf read = buf_of(SNAPSHOTS_MAX);
        content.header.heard_ms = images[i]->header.heard_ms;
        snapshots_encode(images[i], 0, &written);
        struct snapshot_image again = {.header = content.header};
        memcpy(again.sections, content.sections, sizeof(again.sections)); /* borrowed */
        struct store_garbage *garbage;
        again.store = store_writer_commit(content.writer, content.header.revision, &garbage);
        snapshots_encode(&again, 0, &read); /* at second 0 no record has an age */
        assert_true(slice_equal(buf_slice(&written), buf_slice(&read)));
    }
}

static bool take_known_s(void *data, const struct store_record *record)
{
    *(uint32_t *)data = record->known_s;
    return true;
}

/* The time that etcd is away counts once, however often it is written meanwhile. */
UNIT_TEST_ON(test_ages, struct bed *bed)
{
    enum { AWAY_S = 10, TRUNCATED_S = 2 };
    struct store_garbage *garbage;
    struct snapshot_content content;
    struct err err;
    uint32_t first_s = (uint32_t)(clock_monotonic_ms() / 1000) - AWAY_S, known_s = 0;
    const struct dname name = {.wire = "\1a", .len = 3};
    const struct store_saved saved = {.mod_revision = 1, .known_s = first_s};
    struct store_loader *loader = store_loader_new();
    assert_true(store_loader_put(loader, &name, 1, &saved));
    struct store_writer *writer = store_loader_end(loader);
    struct snapshot_image image = bed->small;
    image.store = store_writer_commit(writer, 1, &garbage);
    image.header.heard_ms = clock_wall_ms() - AWAY_S * 1000;
    assert_int_equal(snapshot_file_write_image(bed, &image, &err), 0);
    assert_int_equal(snapshot_file_read(bed->file, &content, &err), 0);
    const struct store *store = store_writer_commit(content.writer, 1, &garbage);
    assert_true(store_each_record(store, take_known_s, &known_s));
    assert_in_range(known_s, first_s - TRUNCATED_S, first_s + TRUNCATED_S);
    snapshot_content_fini(&content);
    store_writer_free(writer);
}

UNIT_TEST_ON(test_relative_path, struct bed *bed)
{
    size_t bytes;
    const struct snapshot_file_write write = {.path = "file", .image = &bed->small};
    CLEANUP_CLOSE int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir(bed->folder), 0);
    assert_int_equal(snapshot_file_write(&write, &bytes, NULL), 0);
    assert_int_equal(revision_at("file"), 1);
    assert_int_equal(fchdir(before), 0);
    assert_int_equal(revision_at(bed->file), 1);
}

/* ---- What lies at FILE ---- */

static void check_refused(const char *path, const char *reason)
{
    struct snapshot_content content = {.records = 0};
    struct err err = {0};
    assert_true(snapshot_file_read(path, &content, &err) < 0);
    assert_string_equal(err.msg, reason);
    assert_null(content.writer);
}

UNIT_TEST_ON(test_unreadable, struct bed *bed)
{
    struct snapshot_content content;
    struct err err;
    assert_int_equal(snapshot_file_read(bed->file, &content, &err), 1);
    check_refused(bed->folder, "not a regular file");
    assert_int_equal(mkfifo(bed->other, 0600), 0);
    check_refused(bed->other, "not a regular file");
    check_refused("/dev/zero", "not a regular file");

    snapshot_file_put_file(bed->file, "", 0600);
    check_refused(bed->file, "empty");
    assert_int_equal(truncate(bed->file, (off_t)SNAPSHOT_BYTES_MAX), 0);
    check_refused(bed->file, "not a snapshot");
    assert_int_equal(truncate(bed->file, (off_t)SNAPSHOT_BYTES_MAX + 1), 0);
    check_refused(bed->file, "larger than 8589934592 bytes");

    char below[PATH_BYTES + 8];
    (void)snprintf(below, sizeof(below), "%s/file", bed->file);
    check_refused(below, "Not a directory");
}

/* Read through, and replaced: what it leads to is not ours. */
UNIT_TEST_ON(test_link, struct bed *bed)
{
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, NULL), 0);
    assert_int_equal(rename(bed->file, bed->other), 0);
    assert_int_equal(symlink(bed->other, bed->file), 0);
    assert_int_equal(revision_at(bed->file), 1);
    assert_int_equal(snapshot_file_write_image(bed, &bed->large, NULL), 0);
    assert_int_equal(revision_at(bed->file), 2);
    assert_int_equal(revision_at(bed->other), 1);
}

/* ---- What lies at FILE.tmp ---- */

UNIT_TEST_ON(test_left_temporary, struct bed *bed)
{
    snapshot_file_put_file(bed->temporary, "what a killed writer left", 0644);
    assert_int_equal(truncate(bed->temporary, 64 << 20), 0);
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, NULL), 0);
    struct stat st;
    assert_int_equal(stat(bed->file, &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    assert_int_equal(revision_at(bed->file), 1);
    assert_false(snapshot_file_exists(bed->temporary));
}

static int make_link(const struct bed *bed)
{
    return symlink(bed->other, bed->temporary);
}

static int make_second_name(const struct bed *bed)
{
    return link(bed->other, bed->temporary);
}

static int make_fifo(const struct bed *bed)
{
    return mkfifo(bed->temporary, 0600);
}

static int fifo_reader = -1;

/* With a reader, it can be opened. */
static int make_read_fifo(const struct bed *bed)
{
    int r = make_fifo(bed);
    fifo_reader = open(bed->temporary, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return fifo_reader >= 0 ? r : -1;
}

UNIT_TEST_ON(test_odd_temporary, struct bed *bed)
{
    int (*const makers[])(const struct bed *bed) = {make_link, make_second_name, make_fifo,
                                                    make_read_fifo};
    snapshot_file_put_file(bed->other, "another one's", 0644);
    for (unsigned i = 0; i < ARRAY_LEN(makers); i++) {
        size_t bytes;
        struct err err = {0};
        const struct snapshot_file_write write = {.path = bed->file, .image = &bed->small};
        struct stat st;
        assert_int_equal(makers[i](bed), 0);
        assert_that(snapshot_file_write(&write, &bytes, &err) == 0, "%u: %s", i, err.msg);
        assert_int_equal(revision_at(bed->file), 1);
        assert_int_equal(stat(bed->other, &st), 0);
        assert_int_equal(st.st_mode, S_IFREG | 0644);
        assert_int_equal(st.st_size, strlen("another one's"));
        assert_int_equal(unlink(bed->file), 0);
    }
    assert_int_equal(close(fifo_reader), 0);
}

UNIT_TEST_ON(test_folder_as_temporary, struct bed *bed)
{
    struct err err = {0};
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, NULL), 0);
    assert_int_equal(mkdir(bed->temporary, 0700), 0);
    assert_int_equal(snapshot_file_write_image(bed, &bed->large, &err), -EISDIR);
    assert_string_equal(err.msg, "file.tmp: Is a directory");
    assert_int_equal(rmdir(bed->temporary), 0);
    assert_int_equal(revision_at(bed->file), 1);
}

/* A device is refused, by a text that says who says so. A device of nothing, 0:0, needs root, and a
 * file system that has devices. */
UNIT_TEST_ON(test_device, struct bed *bed)
{
    struct err err = {0};
    struct stat st;
    if (mknod(bed->file, S_IFCHR | 0600, 0) != 0) {
        skip();
    }
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, &err), -EEXIST);
    assert_string_equal(err.msg, "it is a device");
    assert_int_equal(stat(bed->file, &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(stat(bed->temporary, &st), -1);
    assert_int_equal(unlink(bed->file), 0);
}

/* ---- Taking turns ---- */

UNIT_TEST_ON(test_locked, struct bed *bed)
{
    struct err err = {0};
    atomic_bool is_cancelled = true;
    size_t bytes;
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, NULL), 0);
    snapshot_file_put_file(bed->temporary, "half of another", 0600);
    CLEANUP_CLOSE int fd = open(bed->temporary, O_WRONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);

    assert_int_equal(snapshot_file_write_image(bed, &bed->large, &err), -EBUSY);
    assert_string_equal(err.msg, "file.tmp: another process is writing it");
    const struct snapshot_file_write write = {
        .path = bed->file, .image = &bed->large, .is_cancelled = &is_cancelled};
    assert_int_equal(snapshot_file_write(&write, &bytes, &err), ERR_CANCELED);
    assert_int_equal(snapshot_file_size_of(bed->temporary), strlen("half of another"));

    assert_int_equal(flock(fd, LOCK_UN), 0);
    assert_int_equal(snapshot_file_write_image(bed, &bed->large, &err), 0);
    assert_int_equal(revision_at(bed->file), 2);
}

/* Done once, between opening FILE.tmp and locking it. */
static const struct bed *ends_turn;

int flock(int fd, int operation)
{
    if (ends_turn) {
        assert_int_equal(rename(ends_turn->temporary, ends_turn->file), 0);
        ends_turn = NULL;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

/* The other process renames what was opened here as FILE.tmp: it is FILE now, and not emptied. */
UNIT_TEST_ON(test_turns, struct bed *bed)
{
    size_t bytes;
    struct err err = {0};
    struct stat st;
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, NULL), 0);
    off_t size = snapshot_file_size_of(bed->file);
    assert_int_equal(rename(bed->file, bed->temporary), 0);
    CLEANUP_CLOSE int fd = open(bed->temporary, O_RDONLY | O_CLOEXEC);
    ends_turn = bed;
    const struct snapshot_file_write write = {.path = bed->file, .image = &bed->large};
    assert_int_equal(snapshot_file_write(&write, &bytes, &err), 0);
    assert_null(ends_turn);
    assert_int_equal(revision_at(bed->file), 2);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, size);
}

/* ---- In the middle ---- */

struct moment {
    struct bed *bed;
    unsigned calls;
    off_t bytes;
    atomic_bool is_cancelled;
};

static void snapshot_file_on_encoded(void *data)
{
    struct moment *moment = data;
    moment->calls++;
    moment->bytes = snapshot_file_size_of(moment->bed->temporary);
    assert_int_equal(revision_at(moment->bed->file), 1);
    atomic_store(&moment->is_cancelled, true); /* too late */
}

UNIT_TEST_ON(test_encoded, struct bed *bed)
{
    struct moment moment = {.bed = bed};
    size_t bytes;
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, NULL), 0);
    const struct snapshot_file_write write = {.path = bed->file,
                                              .image = &bed->large,
                                              .encoded = snapshot_file_on_encoded,
                                              .data = &moment,
                                              .is_cancelled = &moment.is_cancelled};
    assert_int_equal(snapshot_file_write(&write, &bytes, NULL), 0);
    assert_int_equal(moment.calls, 1);
    assert_int_equal(moment.bytes, bytes);
    assert_int_equal(revision_at(bed->file), 2);
}

UNIT_TEST_ON(test_cancelled, struct bed *bed)
{
    struct moment moment = {.bed = bed, .is_cancelled = true};
    struct err err = {0};
    size_t bytes;
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, NULL), 0);
    const struct snapshot_file_write write = {.path = bed->file,
                                              .image = &bed->large,
                                              .encoded = snapshot_file_on_encoded,
                                              .data = &moment,
                                              .is_cancelled = &moment.is_cancelled};
    assert_int_equal(snapshot_file_write(&write, &bytes, &err), ERR_CANCELED);
    assert_int_equal(moment.calls, 0);
    assert_int_equal(revision_at(bed->file), 1);
    assert_false(snapshot_file_exists(bed->temporary));
}

/* Somebody removes FILE.tmp, and another process begins one. */
static void replace_temporary(void *data)
{
    const struct bed *bed = data;
    assert_int_equal(unlink(bed->temporary), 0);
    snapshot_file_put_file(bed->temporary, "half of another", 0600);
}

UNIT_TEST_ON(test_replaced, struct bed *bed)
{
    struct err err = {0};
    size_t bytes;
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, NULL), 0);
    const struct snapshot_file_write write = {
        .path = bed->file, .image = &bed->large, .encoded = replace_temporary, .data = bed};
    assert_int_equal(snapshot_file_write(&write, &bytes, &err), -ENOENT);
    assert_int_equal(revision_at(bed->file), 1);
    assert_int_equal(snapshot_file_size_of(bed->temporary), strlen("half of another"));
}

/* ---- Failures ---- */

/* Acts as a full disk would, but for every user: limits the size of files. */
UNIT_TEST_ON(test_no_room, struct bed *bed)
{
    struct err err = {0};
    struct rlimit before, limit;
    assert_int_equal(snapshot_file_write_image(bed, &bed->small, NULL), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = SNAPSHOT_PIECE_MAX + 1000; /* in the middle of a piece */
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int r = snapshot_file_write_image(bed, &bed->large, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(r, -EFBIG);
    assert_string_equal(err.msg, "File too large");
    assert_false(snapshot_file_exists(bed->temporary));
    assert_int_equal(revision_at(bed->file), 1);
    assert_int_equal(snapshot_file_write_image(bed, &bed->large, &err), 0);
    assert_int_equal(revision_at(bed->file), 2);
}

UNIT_TEST_ON(test_no_folder, struct bed *bed)
{
    size_t bytes;
    struct err err = {0};
    const struct snapshot_file_write none = {.path = "/nonexistent/folder/file",
                                             .image = &bed->small};
    assert_int_equal(snapshot_file_write(&none, &bytes, &err), -ENOENT);
    assert_string_equal(err.msg, "its folder: No such file or directory");
    const struct snapshot_file_write folder = {.path = bed->folder, .image = &bed->small};
    assert_int_equal(snapshot_file_write(&folder, &bytes, &err), -EISDIR);
    char slash[PATH_BYTES + 8];
    (void)snprintf(slash, sizeof(slash), "%s/", bed->folder);
    const struct snapshot_file_write nameless = {.path = slash, .image = &bed->small};
    assert_true(snapshot_file_write(&nameless, &bytes, &err) < 0);
    char long_name[PATH_BYTES + 300];
    (void)snprintf(long_name, sizeof(long_name), "%s/%0252d", bed->folder, 0);
    const struct snapshot_file_write long_one = {.path = long_name, .image = &bed->small};
    assert_int_equal(snapshot_file_write(&long_one, &bytes, &err), -ENAMETOOLONG);
}
