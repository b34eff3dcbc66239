/* The ConfigMap's way from the feed to the reconciler: reads each state of it (config_map.h), tells
 * in the log what has no effect, and keeps the last good one when a state is refused, which shows
 * in the log, in /readiness?strict and as a metric. Created and freed by main(); on the main loop.
 */
#ifndef KUBE2SKY_CONFIG_SOURCE_H
#define KUBE2SKY_CONFIG_SOURCE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "kube2sky/api/kube_object.h"

struct config_source;
struct override_zones;
struct reconciler;

struct config_source_config {
    struct ev_loop *loop;
    struct reconciler *reconciler; /* outlives the source */
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for good */
    uint32_t ttl_s;
    const struct override_zones *zones; /* outlives the source; NULL: no external names */
};

/* The reconciler waits for a state of the map, for at most two seconds. */
struct config_source *config_source_new(const struct config_source_config *config);
void config_source_free(struct config_source *source); /* NULL is fine */

/* The map's state; takes ownership. NULL: there is no such ConfigMap. */
void config_source_take(struct config_source *source, struct kube_object *map);

/* It cannot be read now. */
void config_source_lack(struct config_source *source);

/* The latest state is refused. */
bool kube2sky_config_source_is_refused(const struct config_source *source);

/* Appends why, as one line without newline; false, appending nothing: it is not. */
bool config_source_explain(const struct config_source *source, struct buf *out);

#endif
