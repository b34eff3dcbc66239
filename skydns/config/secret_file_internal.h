/* A file of secrets, -cookie-secret's or -tsig-keys': read at the start, and again when it changes.
 * While it cannot be used, what it said last counts, and the log says why. Its text is wiped once
 * it is taken. Main thread. */
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
    const char *refused; /* the log's line of a file that cannot be used, and of another one */
    const char *changed;
    size_t bytes_max; /* a larger file cannot be used */
    /* Takes the text, borrowed for the call, or says why it cannot be used. */
    int (*take)(void *data, struct slice text, struct err *err);
    void *data;
};

/* Reads it, and calls `take`; fails if it cannot be used. */
int secret_file_new(const struct secret_file_config *config, struct secret_file **ret_file,
                    struct err *err) MUST_CHECK;
void secret_file_free(struct secret_file *file); /* NULL is fine */

/* Reads it again, whether or not it changed. NULL is fine. */
void secret_file_reload(struct secret_file *file);

/* It has changed and cannot be used. False for NULL. */
bool secret_file_is_refused(const struct secret_file *file);

#endif
