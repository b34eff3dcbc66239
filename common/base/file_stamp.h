/* Tells whether a file is still the one that was read: a mounted Secret becomes another file behind
 * a symbolic link at each change, an overwritten file has other times. Any thread. */
#ifndef COMMON_BASE_FILE_STAMP_H
#define COMMON_BASE_FILE_STAMP_H

#include <stdbool.h>
#include <sys/stat.h>

/* All zero: there is no file. */
struct file_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
};

static inline struct file_stamp file_stamp_of(const struct stat *st)
{
    return (struct file_stamp){.device = st->st_dev,
                               .inode = st->st_ino,
                               .size = st->st_size,
                               .modified = st->st_mtim,
                               .changed = st->st_ctim};
}

static inline struct file_stamp file_stamp_at(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? file_stamp_of(&st) : (struct file_stamp){.device = 0};
}

static inline bool file_stamp_is_same(const struct file_stamp *a, const struct file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

#endif
