/* The nameservers that the host itself uses, when the command line names none. Main thread. */
#ifndef SKYDNS_RESOLV_CONF_H
#define SKYDNS_RESOLV_CONF_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/options.h"

/* Adds the nameservers of a resolv.conf, port 53. A file that does not exist is no error and names
 * none. */
int resolv_conf_read(struct options *options, const char *path, struct err *err) MUST_CHECK;

#endif
