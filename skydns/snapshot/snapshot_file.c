#include "skydns/snapshot/snapshot_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "skydns/snapshot/snapshot_decode_internal.h"
#include "skydns/snapshot/snapshot_encode_internal.h"

/* Opens nothing as our terminal, and never waits for a FIFO's other end. */
enum { OPEN_FLAGS = O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

static int snapshot_file_fail(struct err *err, int code)
{
    return err_set(err, code, "%s", err_code_text(code));
}

/* ---- Reading ---- */

static int64_t read_bytes(void *data, void *bytes, size_t len)
{
    const int *fd = data;
    ssize_t n;
    do {
        n = read(*fd, bytes, len);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static int read_open(int fd, struct snapshot_content *ret_content, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return snapshot_file_fail(err, -errno);
    }
    if (!S_ISREG(st.st_mode)) {
        return err_set(err, ERR_SYNTAX, "not a regular file");
    }
    if (st.st_size > SNAPSHOT_BYTES_MAX) {
        return err_set(err, ERR_SYNTAX, "larger than %" PRId64 " bytes", SNAPSHOT_BYTES_MAX);
    }
    const struct snapshot_source source = {
        .read = read_bytes, .data = &fd, .bytes = (size_t)st.st_size};
    const struct snapshot_now now = {.monotonic_s = (uint32_t)(clock_monotonic_ms() / 1000),
                                     .unix_ms = clock_wall_ms()};
    return snapshot_decode(&source, &now, ret_content, err);
}

int snapshot_file_read(const char *path, struct snapshot_content *ret_content, struct err *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | OPEN_FLAGS);
    if (fd < 0 && errno == ENOENT) {
        return 1;
    }
    return fd < 0 ? snapshot_file_fail(err, -errno) : read_open(fd, ret_content, err);
}

/* ---- Where it is written ---- */

struct place {
    int folder;       /* owned */
    const char *name; /* of FILE in it, borrowed */
    char *temporary;  /* of FILE.tmp, owned */
};

/* Opens the folder once: FILE.tmp and FILE are in the same one, whatever is renamed meanwhile. Call
 * place_close in any case. */
static int place_open(struct place *place, const char *path)
{
    const char *slash = strrchr(path, '/');
    CLEANUP_FREE char *folder =
        slash ? xstrndup(path, slash == path ? 1 : (size_t)(slash - path)) : xstrdup(".");
    place->name = slash ? slash + 1 : path;
    place->temporary = xasprintf("%s.tmp", place->name);
    place->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return place->folder < 0 ? -errno : 0;
}

static void place_close(struct place *place)
{
    cleanup_close_fd(&place->folder);
    free(place->temporary);
}

/* Returns whether FILE.tmp is still the file that is open. */
static bool is_in_place(const struct place *place, int fd)
{
    struct stat mine, there;
    return fstat(fd, &mine) == 0 &&
           fstatat(place->folder, place->temporary, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

/* ---- FILE.tmp, locked ---- */

/* Locks FILE.tmp and empties it. Returns 0, -errno, or -EAGAIN while another process has it, or has
 * just renamed the one that was opened here. */
static int snapshot_file_take_over(const struct place *place, int fd)
{
    enum { PRIVATE = S_IRUSR | S_IWUSR };
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return -errno;
    }
    if (!is_in_place(place, fd)) {
        return -EAGAIN;
    }
    if (fstat(fd, &st) != 0) {
        return -errno;
    }
    if (!S_ISREG(st.st_mode) || st.st_nlink > 1) {
        return -EPERM;
    }
    bool is_private = (st.st_mode & ALLPERMS) == PRIVATE || fchmod(fd, PRIVATE) == 0;
    return is_private && ftruncate(fd, 0) == 0 ? 0 : -errno;
}

/* Opens the temporary file. Removes whatever is no file of ours: a link, a FIFO, another user's
 * file, or one with a second name, under which it would be emptied. */
static int try_open(const struct place *place, int *ret_fd)
{
    CLEANUP_CLOSE int fd = openat(place->folder, place->temporary,
                                  O_WRONLY | O_CREAT | O_NOFOLLOW | OPEN_FLAGS, S_IRUSR | S_IWUSR);
    int r = fd < 0 ? -errno : snapshot_file_take_over(place, fd);
    bool is_external = r == -ELOOP || r == -ENXIO || r == -EACCES || r == -EPERM;
    if (is_external && unlinkat(place->folder, place->temporary, 0) == 0) {
        return -EAGAIN;
    }
    *ret_fd = r == 0 ? STEAL_FD(fd) : -1;
    return r;
}

static bool is_cancelled(const struct snapshot_file_write *write)
{
    return write->is_cancelled && atomic_load_explicit(write->is_cancelled, memory_order_relaxed);
}

/* Returns the open file, or an error. */
static int open_temporary(const struct snapshot_file_write *write, const struct place *place,
                          struct err *err)
{
    enum { PAUSE_MS = 20 };
    int64_t wait_ms = write->lock_wait_ms ? write->lock_wait_ms : SNAPSHOT_LOCK_WAIT_MS;
    int64_t until_ms = clock_monotonic_ms() + wait_ms;
    for (;;) {
        int fd;
        int r = try_open(place, &fd);
        if (r == 0) {
            return fd;
        }
        if (r != -EAGAIN && r != -EINTR) {
            return snapshot_file_fail(err, r);
        }
        if (is_cancelled(write)) {
            return snapshot_file_fail(err, ERR_CANCELED);
        }
        if (clock_monotonic_ms() >= until_ms) {
            return err_set(err, -EBUSY, "another process is writing it");
        }
        (void)poll(NULL, 0, PAUSE_MS); /* a signal only shortens the pause */
    }
}

/* ---- Writing ---- */

struct output {
    const struct snapshot_file_write *write;
    int fd;
    size_t bytes;
};

static int write_piece(void *data, struct slice piece)
{
    struct output *output = data;
    while (piece.len > 0 && !is_cancelled(output->write)) {
        ssize_t n = write(output->fd, piece.ptr, piece.len);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n > 0) {
            piece = slice_of(piece.ptr + n, piece.len - (size_t)n);
            output->bytes += (size_t)n;
        }
    }
    /* Checks after the last piece, too: a cancel while the disk hangs frees the version. */
    return is_cancelled(output->write) ? ERR_CANCELED : 0;
}

/* Returns whether FILE is a device: `-snapshot=/dev/null` must not cost the host that. */
static bool would_replace_device(const struct place *place)
{
    struct stat st;
    return fstatat(place->folder, place->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode));
}

/* Renames FILE.tmp if it is still ours: somebody may have removed it, and another process may be
 * writing a new one. */
static int put_in_place(const struct place *place, int fd)
{
    if (fdatasync(fd) != 0) {
        return -errno;
    }
    if (!is_in_place(place, fd)) {
        return -ENOENT;
    }
    return renameat(place->folder, place->temporary, place->folder, place->name) == 0 ? 0 : -errno;
}

/* Removes FILE.tmp; empties it first, in case the folder does not permit the removal. */
static void snapshot_file_discard(const struct place *place, int fd)
{
    (void)!ftruncate(fd, 0); /* nothing is left to do if that fails too */
    if (is_in_place(place, fd)) {
        (void)unlinkat(place->folder, place->temporary, 0); /* the next writer takes it over */
    }
}

/* Returns when etcd was last heard from, by clock_monotonic_ms in seconds: reading adds the time
 * since then. */
static uint32_t heard_s(const struct snapshot_header *header)
{
    int64_t since_ms = clock_wall_ms() - header->heard_ms;
    int64_t heard_ms = clock_monotonic_ms() - (since_ms > 0 ? since_ms : 0);
    return heard_ms > 0 ? (uint32_t)(heard_ms / 1000) : 0;
}

static int write_temporary(struct output *output, const struct place *place)
{
    const struct snapshot_file_write *write = output->write;
    uint32_t now_s = heard_s(&write->image->header);
    int r = snapshot_encode(write->image, now_s, write_piece, output);
    if (r == 0 && write->encoded) {
        write->encoded(write->data);
    }
    r = r ? r : put_in_place(place, output->fd);
    if (r != 0) {
        snapshot_file_discard(place, output->fd);
    }
    return r;
}

static int write_in(const struct snapshot_file_write *write, const struct place *place,
                    size_t *ret_bytes, struct err *err)
{
    CLEANUP_CLOSE int fd = open_temporary(write, place, err);
    struct output output = {.write = write, .fd = fd};
    if (fd < 0) {
        return err_wrap(err, fd, "%s", place->temporary);
    }
    int r = write_temporary(&output, place);
    if (r != 0) {
        return snapshot_file_fail(err, r);
    }
    /* Not an error: some file systems sync no folders. */
    if (fsync(place->folder) != 0 && errno != EINVAL) {
        r = snapshot_file_fail(err, -errno);
        return err_wrap(err, r, "its folder");
    }
    *ret_bytes = output.bytes;
    return 0;
}

int snapshot_file_write(const struct snapshot_file_write *write, size_t *ret_bytes, struct err *err)
{
    struct place place;
    int r = place_open(&place, write->path);
    if (r != 0) {
        (void)snapshot_file_fail(err, r);
        r = err_wrap(err, r, "its folder");
    } else if (would_replace_device(&place)) {
        r = err_set(err, -EEXIST, "it is a device");
    } else {
        r = write_in(write, &place, ret_bytes, err);
    }
    place_close(&place);
    return r;
}
