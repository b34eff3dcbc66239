/* One document of settings, wherever it comes from: the text seen last, and the one in force, which
 * is older while the newest cannot be used. Main thread. */
#ifndef SKYDNS_SETTINGS_CONFIG_SOURCE_INTERNAL_H
#define SKYDNS_SETTINGS_CONFIG_SOURCE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/slice.h"

struct config_source {
    char *name; /* a key or a path, for the log; owned; NULL: not in use */
    struct buf seen, used;
    bool has_seen, has_used;
};

/* Takes the name. Texts that are longer are cut to one byte more, so that this shows. */
void config_source_init(struct config_source *source, char *name, size_t bytes_max);
void config_source_fini(struct config_source *source); /* zeroed or initialized; zeroes it */

/* A new text, ptr NULL: none. False: it is the one seen last. */
bool config_source_see(struct config_source *source, struct slice text);

/* The text seen last can be used: it is the one in force. */
void config_source_use(struct config_source *source);

/* The text seen last cannot be used: an older one is in force. */
bool config_source_is_refused(const struct config_source *source);

/* ptr NULL: none. Borrowed. */
struct slice config_source_seen(struct config_source *source);
struct slice config_source_used(struct config_source *source);

#endif
