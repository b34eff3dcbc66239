/* Processes that write one file in turn or are killed meanwhile, as a reader sees them: always one
 * whole version. */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "skydns/records/store.h"
#include "skydns/snapshot/snapshot_file.h"
#include "tests/support/skydns/services.h"
#include "tests/support/skydns/snapshots.h"
#include "tests/support/unit_test.h"

enum { VERSIONS = 5, WRITERS = 3, WRITES = 40, PATH_BYTES = 128 };

/* However slow the machine, a writer waits for its turn. */
enum { LOCK_WAIT_MS = 600 * 1000 };

/* A sanitizer takes a tenth of a second to fork, and looks at the reader. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { KILLS = 50 };
#else
enum { KILLS = 500 };
#endif

/* Versions of different sizes, each recognized by its revision and its number of records. */
struct bed {
    char folder[PATH_BYTES], file[PATH_BYTES], temporary[PATH_BYTES];
    struct services services[VERSIONS];
    struct snapshot_image images[VERSIONS];
};

static unsigned services_of(unsigned version)
{
    enum { STEP = 350 }; /* 70 KB: the largest takes two pieces */
    return 1 + version * STEP;
}

/* In memory if possible: what is killed is the process, not the disk. */
static const char *fast_folder(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static void snapshot_processes_set_up(struct bed *bed)
{
    (void)snprintf(bed->folder, sizeof(bed->folder), "%s/snapshot.XXXXXX", fast_folder());
    assert_non_null(mkdtemp(bed->folder));
    (void)snprintf(bed->file, sizeof(bed->file), "%.100s/file", bed->folder);
    (void)snprintf(bed->temporary, sizeof(bed->temporary), "%.100s/file.tmp", bed->folder);
    for (unsigned i = 0; i < VERSIONS; i++) {
        struct store_garbage *garbage;
        services_init(&bed->services[i], services_of(i));
        const struct store *store = services_fill(&bed->services[i], &garbage);
        snapshots_random_image(&bed->images[i], i, store);
        bed->images[i].header.revision = 1 + i;
        store_garbage_free(garbage);
    }
}

static void snapshot_processes_tear_down(struct bed *bed)
{
    (void)unlink(bed->temporary); /* may be there */
    assert_int_equal(unlink(bed->file), 0);
    assert_int_equal(rmdir(bed->folder), 0);
    for (unsigned i = 0; i < VERSIONS; i++) {
        snapshot_image_fini(&bed->images[i]);
        services_fini(&bed->services[i]);
    }
}

UNIT_FIXTURE(struct bed, snapshot_processes_set_up, snapshot_processes_tear_down)

static int write_version(const struct bed *bed, unsigned version)
{
    size_t bytes;
    struct err err = {0};
    const struct snapshot_file_write write = {
        .path = bed->file,
        .image = &bed->images[version],
        .lock_wait_ms = LOCK_WAIT_MS,
    };
    int r = snapshot_file_write(&write, &bytes, &err);
    if (r != 0) {
        (void)fprintf(stderr, "%s\n", err.msg);
    }
    return r;
}

static void snapshot_processes_check_file(const struct bed *bed)
{
    CLEANUP(snapshot_content_fini) struct snapshot_content content;
    struct err err = {0};
    assert_that(snapshot_file_read(bed->file, &content, &err) == 0, "%s", err.msg);
    int64_t version = content.header.revision - 1;
    assert_in_range(version, 0, VERSIONS - 1);
    assert_int_equal(content.records, services_of((unsigned)version) * KEYS_PER_SERVICE);
    assert_int_equal(store_writer_count(content.writer), content.records);
}

/* Besides FILE at most FILE.tmp: whether that is there. */
static bool has_temporary(const struct bed *bed)
{
    bool is_there = false;
    DIR *dir = opendir(bed->folder);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, "file.tmp") == 0) {
            is_there = true;
        } else if (entry->d_name[0] != '.') {
            assert_string_equal(entry->d_name, "file");
        }
    }
    (void)closedir(dir); /* read side only */
    return is_there;
}

/* ---- Killed ---- */

/* Writes versions until it is killed. */
static pid_t snapshot_processes_start_writer(const struct bed *bed, unsigned first)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (unsigned i = first; write_version(bed, i % VERSIONS) == 0; i++) {
        }
        _exit(1);
    }
    return child;
}

static void wait_us(unsigned us)
{
    const struct timespec time = {.tv_nsec = 1000L * us};
    (void)ppoll(NULL, 0, &time, NULL); /* a moment at random: sooner will do as well */
}

UNIT_TEST_ON(test_kills, struct bed *bed)
{
    enum { LATEST_US = 4000 }; /* a few versions */
    unsigned in_the_middle = 0;
    assert_int_equal(write_version(bed, 0), 0);
    srandom(1);
    for (unsigned i = 0; i < KILLS || in_the_middle == 0; i++) {
        int status;
        pid_t child = snapshot_processes_start_writer(bed, i);
        wait_us((unsigned)random() % LATEST_US);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        in_the_middle += has_temporary(bed);
        snapshot_processes_check_file(bed);
    }
    assert_int_equal(write_version(bed, 1), 0);
    assert_false(has_temporary(bed));
}

/* ---- Several ---- */

UNIT_TEST_ON(test_writers, struct bed *bed)
{
    unsigned running = WRITERS;
    assert_int_equal(write_version(bed, 0), 0);
    for (unsigned i = 0; i < WRITERS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            int r = 0;
            for (unsigned n = 0; n < WRITES && r == 0; n++) {
                r = write_version(bed, (i + n) % VERSIONS);
            }
            _exit(r != 0);
        }
    }
    while (running > 0) {
        int status;
        snapshot_processes_check_file(bed);
        if (waitpid(-1, &status, WNOHANG) > 0) {
            assert_int_equal(status, 0);
            running--;
        }
    }
    snapshot_processes_check_file(bed);
    assert_false(has_temporary(bed));
}
