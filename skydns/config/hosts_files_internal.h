/* Reads the files of -hosts at the start, and reloads one that changes. While one cannot be read,
 * its last content counts. Logs bad lines, a few of each file. Main thread. */
#ifndef SKYDNS_CONFIG_HOSTS_FILES_INTERNAL_H
#define SKYDNS_CONFIG_HOSTS_FILES_INTERNAL_H

#include <ev.h>
#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/flags.h"
#include "skydns/external/hosts_table.h"

struct hosts_files;

struct hosts_files_config {
    struct ev_loop *loop;
    const struct flag_strings *paths; /* borrowed */
    size_t table_bytes_max;           /* of the memory for names */
    void (*changed)(void *data);      /* there is another table */
    void *data;
};

/* Reads all files; fails if one cannot be read. */
int hosts_files_new(const struct hosts_files_config *config, struct hosts_files **ret_files,
                    struct err *err) MUST_CHECK;
void hosts_files_free(struct hosts_files *files); /* NULL is fine */

/* Reads all files again, whether or not they changed; `changed` is not called. */
void hosts_files_reload(struct hosts_files *files);

/* Returns the files' content; borrowed. NULL: there are no files. */
struct hosts_table *hosts_files_table(const struct hosts_files *files);

/* Returns whether a changed file cannot be read: its last content counts. */
bool hosts_files_is_refused(const struct hosts_files *files);

#endif
