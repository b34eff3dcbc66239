/* A full disk and folders that nothing can be written into: FILE stays as it was, and nothing takes
 * room beside it. Small file systems in a mount namespace; skipped where that is not allowed. */
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skydns/records/store.h"
#include "skydns/snapshot/snapshot_file.h"
#include "tests/support/skydns/services.h"
#include "tests/support/skydns/snapshots.h"
#include "tests/support/unit_test.h"

enum { PATH_BYTES = 64, EXIT_NOT_ALLOWED = 77 };

struct bed {
    char folder[PATH_BYTES], file[PATH_BYTES + 8];
    struct services services[2];
    struct snapshot_image small, large; /* 20 KB, 1 MB */
};

static void snapshot_disk_make_image(struct services *services, unsigned count, int64_t revision,
                                     struct snapshot_image *ret)
{
    struct store_garbage *garbage;
    services_init(services, count);
    snapshots_random_image(ret, 1, services_fill(services, &garbage));
    ret->header.revision = revision;
    store_garbage_free(garbage);
}

static void snapshot_disk_set_up(struct bed *bed)
{
    (void)snprintf(bed->folder, sizeof(bed->folder), "/tmp/snapshot.XXXXXX");
    assert_non_null(mkdtemp(bed->folder));
    (void)snprintf(bed->file, sizeof(bed->file), "%s/file", bed->folder);
    snapshot_disk_make_image(&bed->services[0], 10, 1, &bed->small);
    snapshot_disk_make_image(&bed->services[1], 6000, 2, &bed->large);
}

static void snapshot_disk_tear_down(struct bed *bed)
{
    assert_int_equal(rmdir(bed->folder), 0); /* what was in it went with the namespace */
    snapshot_image_fini(&bed->small);
    snapshot_image_fini(&bed->large);
    services_fini(&bed->services[0]);
    services_fini(&bed->services[1]);
}

UNIT_FIXTURE(struct bed, snapshot_disk_set_up, snapshot_disk_tear_down)

/* For a process of its own: the line that does not hold ends it. */
#define REQUIRE(holds)                                                          \
    do {                                                                        \
        if (!(holds)) {                                                         \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (#holds)); \
            _exit(1);                                                           \
        }                                                                       \
    } while (0)

static int snapshot_disk_write_image(const struct bed *bed, const struct snapshot_image *image,
                                     struct err *err)
{
    size_t bytes;
    const struct snapshot_file_write write = {.path = bed->file, .image = image};
    return snapshot_file_write(&write, &bytes, err);
}

static bool snapshot_disk_has_revision(const struct bed *bed, int64_t revision)
{
    struct snapshot_content content;
    int r = snapshot_file_read(bed->file, &content, NULL);
    bool is_right = r == 0 && content.header.revision == revision;
    if (r == 0) {
        snapshot_content_fini(&content);
    }
    return is_right;
}

static uint64_t free_blocks(const struct bed *bed)
{
    struct statvfs fs;
    REQUIRE(statvfs(bed->folder, &fs) == 0);
    return fs.f_bfree;
}

/* A namespace whose folder is a file system of half a megabyte. */
static void snapshot_disk_enter(const struct bed *bed)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", bed->folder, "tmpfs", 0, "size=512k") != 0) {
        _exit(EXIT_NOT_ALLOWED);
    }
}

static void run_inside(const struct bed *bed, void (*run)(const struct bed *bed))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        snapshot_disk_enter(bed);
        run(bed);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_ALLOWED) {
        skip();
    }
    assert_int_equal(status, 0);
}

static void fill_disk(const struct bed *bed)
{
    struct err err = {0};
    REQUIRE(snapshot_disk_write_image(bed, &bed->large, &err) == -ENOSPC); /* nothing there yet */
    REQUIRE(snapshot_file_read(bed->file, NULL, NULL) == 1);
    REQUIRE(snapshot_disk_write_image(bed, &bed->small, &err) == 0);
    uint64_t before = free_blocks(bed);
    for (unsigned i = 0; i < 3; i++) {
        REQUIRE(snapshot_disk_write_image(bed, &bed->large, &err) == -ENOSPC);
        REQUIRE(strcmp(err.msg, "No space left on device") == 0);
        REQUIRE(free_blocks(bed) == before);
        REQUIRE(snapshot_disk_has_revision(bed, 1));
    }
    char other[PATH_BYTES + 8];
    (void)snprintf(other, sizeof(other), "%s/other", bed->folder);
    FILE *f = fopen(other, "w");
    REQUIRE(f);
    while (fwrite(bed->folder, 1, sizeof(bed->folder), f) == sizeof(bed->folder)) {
    }
    (void)fclose(f); /* fails: the disk is full */
    REQUIRE(snapshot_disk_write_image(bed, &bed->small, &err) == -ENOSPC);
    REQUIRE(snapshot_disk_has_revision(bed, 1));
    REQUIRE(unlink(other) == 0);
    REQUIRE(snapshot_disk_write_image(bed, &bed->small, &err) == 0);
    REQUIRE(free_blocks(bed) == before);
}

UNIT_TEST_ON(test_full_disk, struct bed *bed)
{
    run_inside(bed, fill_disk);
}

static void close_folder(const struct bed *bed)
{
    enum { NOBODY = 65534 };
    struct err err = {0};
    REQUIRE(snapshot_disk_write_image(bed, &bed->small, &err) == 0);
    REQUIRE(mount(NULL, bed->folder, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
    REQUIRE(snapshot_disk_write_image(bed, &bed->large, &err) == -EROFS);
    REQUIRE(strcmp(err.msg, "file.tmp: Read-only file system") == 0);
    REQUIRE(snapshot_disk_has_revision(bed, 1));
    REQUIRE(mount(NULL, bed->folder, NULL, MS_REMOUNT, NULL) == 0);

    REQUIRE(chmod(bed->folder, 0755) == 0 && chown(bed->file, NOBODY, NOBODY) == 0);
    REQUIRE(seteuid(NOBODY) == 0);
    REQUIRE(snapshot_disk_write_image(bed, &bed->large, &err) == -EACCES);
    REQUIRE(strcmp(err.msg, "file.tmp: Permission denied") == 0);
    REQUIRE(snapshot_disk_has_revision(bed, 1));

    /* Its folder is open to us now, but FILE.tmp is another user's. */
    char temporary[PATH_BYTES + 16];
    (void)snprintf(temporary, sizeof(temporary), "%s.tmp", bed->file);
    REQUIRE(seteuid(0) == 0 && chmod(bed->folder, 0777) == 0);
    FILE *f = fopen(temporary, "w");
    REQUIRE(f && fclose(f) == 0 && chmod(temporary, 0600) == 0 && seteuid(NOBODY) == 0);
    REQUIRE(snapshot_disk_write_image(bed, &bed->small, &err) == 0);
    REQUIRE(snapshot_disk_has_revision(bed, 1) && access(temporary, F_OK) != 0);
}

UNIT_TEST_ON(test_closed_folder, struct bed *bed)
{
    run_inside(bed, close_folder);
}
