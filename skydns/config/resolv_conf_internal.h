/* The host's own nameservers, used when none are configured. Main thread. */
#ifndef SKYDNS_CONFIG_RESOLV_CONF_INTERNAL_H
#define SKYDNS_CONFIG_RESOLV_CONF_INTERNAL_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/settings/options.h"

/* Adds the nameservers of a resolv.conf, port 53. A missing file is not an error and adds none. */
int resolv_conf_read(struct options *options, const char *path, struct err *err) MUST_CHECK;

#endif
