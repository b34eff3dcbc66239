/* The file of -cookie-secret: read at the start, and again when it changes. While it cannot be
 * used, what it said last counts, and the log says why. Main thread. */
#ifndef SKYDNS_COOKIE_FILE_H
#define SKYDNS_COOKIE_FILE_H

#include <ev.h>
#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/store/cookie_secrets.h"

struct cookie_file;

struct cookie_file_config {
    struct ev_loop *loop;
    const char *path; /* borrowed */
    /* There are other secrets; borrowed for the call. */
    void (*changed)(void *data, const struct cookie_secrets *secrets);
    void *data;
};

/* Reads it, and calls `changed`; fails if it cannot be used. */
int cookie_file_new(const struct cookie_file_config *config, struct cookie_file **ret_file,
                    struct err *err) MUST_CHECK;
void cookie_file_free(struct cookie_file *file); /* NULL is fine */

/* Reads it again, whether or not it changed. */
void cookie_file_reload(struct cookie_file *file);

/* It has changed and cannot be used. False for NULL. */
bool cookie_file_is_refused(const struct cookie_file *file);

#endif
