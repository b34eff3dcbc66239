/* Decides whether to start from the file of -snapshot: reads it, and compares it with the settings,
 * those of its own document included. Main thread; blocks for the file, 0.1 s for 300,000 keys. */
#ifndef SKYDNS_SNAPSHOT_START_H
#define SKYDNS_SNAPSHOT_START_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/settings/options.h"
#include "skydns/snapshot/snapshot.h"

struct live_config;

/* Limits how far ahead the clock of the writing host may have been: an hour is a forgotten time
 * zone. */
enum { SNAPSHOT_AHEAD_MAX_MS = 60 * 60 * 1000 };

/* Returns true, and what snapshot_content_fini frees, if there is a snapshot to use. Logs a warning
 * if one is refused, none if there is none. After live_config_open_files. */
bool snapshot_start_read(struct live_config *live, const char *path,
                         struct snapshot_content *ret_content);

/* Logs the same warning later, for one that looked right at first. */
void snapshot_start_refused(const char *path, const char *reason);

/* Returns its document; ptr NULL: there is none. Borrowed. */
struct slice snapshot_start_document(struct snapshot_content *content);

/* Checks the header: returns 0, or the reason not to use it. now_ms: Unix time. */
int snapshot_start_check(const struct snapshot_header *header, const struct options *settings,
                         int64_t now_ms, struct err *err) MUST_CHECK;

#endif
