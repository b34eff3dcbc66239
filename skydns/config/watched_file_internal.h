/* Watches a file and tells when it changes, however that happens: written in place, replaced by
 * renaming, or reached through a link that leads elsewhere from now on, as in the volumes of
 * ConfigMaps. Notices events of the file and its folder at once. A look every few seconds finds
 * changes that raise none, such as that of the second link of two. Main thread. */
#ifndef SKYDNS_CONFIG_WATCHED_FILE_INTERNAL_H
#define SKYDNS_CONFIG_WATCHED_FILE_INTERNAL_H

#include <ev.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"

struct watched_file;

struct watched_file_config {
    struct ev_loop *loop;
    const char *path; /* borrowed */
    size_t bytes_max; /* a larger file cannot be read */
    double look_s;    /* between two looks; 0: 5 s */

    /* Called when the file is not the one that was read last, and has not changed for a moment:
     * read it. Not called again for a file that still cannot be read. */
    void (*changed)(void *data);
    void *data;
};

/* Starts watching. */
struct watched_file *watched_file_new(const struct watched_file_config *config);
void watched_file_free(struct watched_file *file); /* NULL is fine */

/* Replaces the content of `text` by the file's; its limit is at least bytes_max. Fails if it is no
 * plain file, cannot be read, or is too large; the message names it. */
int watched_file_read(struct watched_file *file, struct buf *text, struct err *err) MUST_CHECK;

const char *watched_file_path(const struct watched_file *file);

#endif
