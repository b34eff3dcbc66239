/* Implements skydns -explain: asks a running skydns over HTTP and prints its response. main() calls
 * it instead of everything else; blocks. */
#ifndef SKYDNS_PAGES_EXPLAIN_CLIENT_H
#define SKYDNS_PAGES_EXPLAIN_CLIENT_H

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

struct explain_query;

/* Stands between two moments: 5..6. */
#define EXPLAIN_CLIENT_RANGE ".."

/* Prints the explanation to stdout, or of two moments what differs. Fails with a message if the
 * server cannot be reached or rejects the question. Type, client and moment may be "". */
int pages_explain_client(const struct addr *server, const struct explain_query *query,
                         struct err *err) MUST_CHECK;

#endif
