/* Reads a file of secrets, -cookie-secret's or -tsig-keys', at the start, and reloads it when it
 * changes. While it cannot be used, its last content counts, and the log says why. Wipes its text
 * once it is taken. Main thread. */
#ifndef SKYDNS_CONFIG_SECRET_FILE_INTERNAL_H
#define SKYDNS_CONFIG_SECRET_FILE_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

struct secret_file;

struct secret_file_config {
    struct ev_loop *loop;
    const char *path;    /* borrowed, like the next three */
    const char *flag;    /* "-cookie-secret" */
    const char *refused; /* log lines for a file that cannot be used, and for new content */
    const char *changed;
    size_t bytes_max; /* a larger file cannot be used */
    /* Takes the text, borrowed for the call, or says why it cannot be used. */
    int (*take)(void *data, struct slice text, struct err *err);
    void *data;
};

/* Reads the file and calls `take`; fails if it cannot be used. */
int secret_file_new(const struct secret_file_config *config, struct secret_file **ret_file,
                    struct err *err) MUST_CHECK;
void secret_file_free(struct secret_file *file); /* NULL is fine */

/* Reads the file again, whether or not it changed. NULL is fine. */
void secret_file_reload(struct secret_file *file);

/* Returns whether it has changed and cannot be used. False for NULL. */
bool secret_file_is_refused(const struct secret_file *file);

#endif
