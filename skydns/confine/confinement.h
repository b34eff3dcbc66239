/* What skydns gives up (privileges.h, sandbox_internal.h), for these flags. Main thread.
 *
 *     confine_files       at the start, before any thread
 *     confine_privileges  once the sockets are open, before the threads that answer start
 *     confine_calls       after that */
#ifndef SKYDNS_CONFINE_CONFINEMENT_H
#define SKYDNS_CONFINE_CONFINEMENT_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/settings/options.h"

/* From now on only the files that flags name, and those beside them, can be read: resolv_conf, too,
 * and where OpenSSL looks for the system's CAs. Beside that of -snapshot, files can be written. */
void confine_files(const struct options *flags, const char *resolv_conf);

/* Becomes the user of -user, and drops all capabilities. */
int confine_privileges(const struct options *flags, struct err *err) MUST_CHECK;

void confine_calls(void);

#endif
