/* Prepares the configuration's part about external names for the threads that answer: the table of
 * zones, the hosts files, the response cache and its limits, and which clients may query. Passes on
 * what did not change from one publication to the next: the cache, and the serials of zones. Main
 * thread. */
#ifndef SKYDNS_CONFIG_FORWARD_SETTINGS_INTERNAL_H
#define SKYDNS_CONFIG_FORWARD_SETTINGS_INTERNAL_H

#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/settings/options.h"

struct forward_settings;

struct forward_settings *forward_settings_new(struct cache_tally *tally); /* borrowed; or NULL */
void forward_settings_free(struct forward_settings *external);            /* NULL is fine */

/* Gives all zones new serials at the next fill: all cache entries are void. */
void forward_settings_renew(struct forward_settings *external);

/* Sets the stub zones that etcd's keys name; copied. They count from the next fill on. */
void forward_settings_set_keys(struct forward_settings *external, const struct forward_zone *zones,
                               size_t count);

/* Sets the content of hosts files; NULL: there are none. Counts from the next fill on. */
void forward_settings_set_hosts(struct forward_settings *external, struct hosts_table *hosts);

/* Adds what these options say to a configuration that is to be published: references of its own. */
void forward_settings_fill(struct forward_settings *external, const struct options *options,
                           struct engine_config *config);

/* Reads the host's own upstreams, used when none are configured. Main thread. */

/* Adds the upstreams of a resolv.conf, port 53. A missing file is not an error and adds none. */
int resolv_conf_read(struct options *options, const char *path, struct err *err) MUST_CHECK;

#endif
