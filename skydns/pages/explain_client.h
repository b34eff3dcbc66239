/* skydns -explain: asks the skydns that runs at an HTTP address, and prints what it says. Called by
 * main() instead of everything else; blocks. */
#ifndef SKYDNS_PAGES_EXPLAIN_CLIENT_H
#define SKYDNS_PAGES_EXPLAIN_CLIENT_H

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

/* Prints the explanation to stdout. A server that cannot be reached, or that does not understand
 * the question, is an error with a message. type may be "". */
int explain_client(const struct addr *server, const char *name, const char *type,
                   struct err *err) MUST_CHECK;

#endif
