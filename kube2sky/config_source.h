/* Passes the ConfigMap from its reflector to the reconciler. It reads each state of the map
 * (config_map.h) and logs settings that have no effect. When a state is refused, the last good one
 * stays in force; the refusal shows in the log, in /readiness?strict and as a metric. Created and
 * freed by main(); on the main loop. */
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
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for its lifetime */
    uint32_t ttl_s;
    const struct override_zones *zones; /* outlives the source; NULL: no external names */
};

/* Creates the source. The reconciler waits for a state of the map, for at most two seconds. */
struct config_source *config_source_new(const struct config_source_config *config);
void config_source_free(struct config_source *source); /* NULL is fine */

/* Notes the map's state, which it owns from now on. NULL: there is no such ConfigMap. */
void config_source_take(struct config_source *source, struct kube_object *map);

/* Notes that the map cannot be read now. */
void config_source_lack(struct config_source *source);

/* Returns whether the latest state is refused. */
bool kube2sky_config_source_is_refused(const struct config_source *source);

/* Appends the reason for a refusal, as one line without newline. Returns false, appending nothing,
 * if there is none. */
bool config_source_explain(const struct config_source *source, struct buf *out);

#endif
