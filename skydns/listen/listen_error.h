/* The error message for an address that cannot be opened. Main thread, at start. */
#ifndef SKYDNS_LISTEN_LISTEN_ERROR_H
#define SKYDNS_LISTEN_LISTEN_ERROR_H

#include "common/base/addr.h"
#include "common/base/err.h"

/* Sets `listen on udp://127.0.0.1:53: address already in use; stop ...` and returns the code
 * (-errno). */
int listen_error(const char *transport, const struct addr *address, int code, struct err *err);

#endif
