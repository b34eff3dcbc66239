/* Gives up what skydns does not need besides its rights (privileges.h), as far as the kernel can:
 * sandbox_internal.h. Main thread.
 *
 *     confine_files    at the start, before any thread
 *     privileges_drop  once the sockets are open, before the threads that answer start
 *     confine_calls    after that */
#ifndef SKYDNS_CONFINE_CONFINEMENT_H
#define SKYDNS_CONFINE_CONFINEMENT_H

#include <stddef.h>

/* Restricts reading to these files, those beside them, resolv_conf, and the folders where OpenSSL
 * looks for the system's CAs. Files can be written, and Unix sockets made, only beside those
 * `written`. "" is none. */
void confine_files(const char *const *files, size_t count, const char *resolv_conf,
                   const char *const *written, size_t written_count);

void confine_calls(void);

#endif
