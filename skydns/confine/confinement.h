/* Gives up what skydns does not need besides its rights (privileges.h): sandbox_internal.h, as far
 * as the kernel can. Main thread.
 *
 *     confine_files    at the start, before any thread
 *     privileges_drop  once the sockets are open, before the threads that answer start
 *     confine_calls    after that */
#ifndef SKYDNS_CONFINE_CONFINEMENT_H
#define SKYDNS_CONFINE_CONFINEMENT_H

#include <stddef.h>

/* From now on only these files, and those beside them, can be read: resolv_conf, too, and where
 * OpenSSL looks for the system's CAs. Beside `written`, files can be written. "" is none. */
void confine_files(const char *const *files, size_t count, const char *resolv_conf,
                   const char *written);

void confine_calls(void);

#endif
