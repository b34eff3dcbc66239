#include "skydns/config/watched_file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/file_stamp.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"

/* Delays. Writing in place takes a moment; events of one second may look the same to libev, hence a
 * second look; and links of links have no events. */
static const double settle_s = 0.05, again_s = 1.1, usual_look_s = 5.0;

struct watched_file {
    struct watched_file_config config;
    char *folder;
    struct file_stamp read;    /* what was read last, or could not be */
    struct file_stamp pending; /* seen since */
    ev_stat on_file, on_folder;
    ev_timer settle, again, look;
};

/* Checks the file: a new content counts when it has been seen twice. */
static void watched_file_check(struct watched_file *file)
{
    const struct file_stamp now = file_stamp_at(file->config.path);
    if (file_stamp_is_same(&now, &file->read)) {
        return;
    }
    if (file_stamp_is_same(&now, &file->pending)) {
        file->read = now;
        file->config.changed(file->config.data);
        return;
    }
    file->pending = now;
    timer_arm(file->config.loop, &file->settle, settle_s);
}

static void watched_file_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    watched_file_check(timer->data);
}

static void watched_file_on_event(struct ev_loop *loop, ev_stat *stat, int events UNUSED)
{
    struct watched_file *file = stat->data;
    timer_arm(loop, &file->again, again_s);
    watched_file_check(file);
}

static void watched_file_watch(struct watched_file *file, ev_stat *stat, const char *path)
{
    ev_stat_init(stat, watched_file_on_event, path, 0.);
    stat->data = file;
    ev_stat_start(file->config.loop, stat);
}

struct watched_file *watched_file_new(const struct watched_file_config *config)
{
    struct watched_file *file = xcalloc(1, sizeof(*file));
    CLEANUP_FREE char *copy = xstrdup(config->path);
    file->config = *config;
    file->folder = xstrdup(dirname(copy));
    file->read = file->pending = file_stamp_at(config->path);
    watched_file_watch(file, &file->on_file, config->path);
    watched_file_watch(file, &file->on_folder, file->folder);
    ev_timer_init(&file->settle, watched_file_on_timer, settle_s, 0.);
    ev_timer_init(&file->again, watched_file_on_timer, again_s, 0.);
    double look_s = config->look_s > 0 ? config->look_s : usual_look_s;
    ev_timer_init(&file->look, watched_file_on_timer, look_s, look_s);
    file->settle.data = file->again.data = file->look.data = file;
    ev_timer_start(config->loop, &file->look);
    return file;
}

void watched_file_free(struct watched_file *file)
{
    if (file) {
        ev_stat_stop(file->config.loop, &file->on_file);
        ev_stat_stop(file->config.loop, &file->on_folder);
        ev_timer_stop(file->config.loop, &file->settle);
        ev_timer_stop(file->config.loop, &file->again);
        ev_timer_stop(file->config.loop, &file->look);
        free(file->folder);
        free(file);
    }
}

const char *watched_file_path(const struct watched_file *file)
{
    return file->config.path;
}

static int read_chunks(const struct watched_file *file, int fd, char *chunk, size_t chunk_len,
                       struct buf *text, struct err *err)
{
    buf_clear(text);
    for (;;) {
        ssize_t n = read(fd, chunk, chunk_len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_set(err, -errno, "read `%s`: %s", file->config.path, err_code_text(-errno));
        }
        if (n == 0) {
            return 0;
        }
        if (text->len + (size_t)n > file->config.bytes_max) {
            return err_set(err, ERR_TOO_LARGE, "`%s`: expected at most %zu bytes",
                           file->config.path, file->config.bytes_max);
        }
        buf_append(text, chunk, (size_t)n);
    }
}

/* Reads the file. Some are secrets: nothing of them stays on the stack. */
static int watched_file_read_all(const struct watched_file *file, int fd, struct buf *text,
                                 struct err *err)
{
    char chunk[16 * 1024];
    int r = read_chunks(file, fd, chunk, sizeof(chunk), text, err);
    explicit_bzero(chunk, sizeof(chunk));
    return r;
}

/* Takes the file's identity before reading, so that a change during the read is noticed
 * afterwards. */
int watched_file_read(struct watched_file *file, struct buf *text, struct err *err)
{
    struct stat st;
    CLEANUP_CLOSE int fd = open(file->config.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int code = -errno;
        return err_set(err, code, "read `%s`: %s", file->config.path, err_code_text(code));
    }
    file->read = file->pending = file_stamp_of(&st);
    if (!S_ISREG(st.st_mode)) {
        return err_set(err, -EINVAL, "read `%s`: expected a plain file", file->config.path);
    }
    return watched_file_read_all(file, fd, text, err);
}
