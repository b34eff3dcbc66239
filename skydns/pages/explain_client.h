/* Implements skydns -explain: asks a running skydns over HTTP and prints its response. main() calls
 * it instead of everything else; blocks. */
#ifndef SKYDNS_PAGES_EXPLAIN_CLIENT_H
#define SKYDNS_PAGES_EXPLAIN_CLIENT_H

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

struct buf;
struct explain_query;

/* Stands between two moments: 5..6. */
#define EXPLAIN_CLIENT_RANGE ".."

/* Prints the explanation to stdout, or of two moments what differs. Fails with a message if the
 * server cannot be reached or rejects the question. Type, client and moment may be "". */
int pages_explain_client(const struct addr *server, const struct explain_query *query,
                         struct err *err) MUST_CHECK;

/* Appends what only one of two explanations has, or a line that says that nothing differs;
 * pure.
 *
 *     < web.default.svc.cluster.local. A: NXDOMAIN; etcd revision 5
 *     < past       the answer as of 5: revision 5; settings are those of today
 *     > web.default.svc.cluster.local. A: NOERROR, answers: 1; etcd revision 6
 *     > past       the answer as of 6: revision 6; settings are those of today
 *     > answer     web.default.svc.cluster.local. 30 A 10.96.0.12
 *
 * A line is compared with the label of its section, and a key with the line below it that belongs
 * to it; their order does not matter. The first two lines, which name the moments, are always
 * there. */
void explain_compare_texts(const char *before, const char *after, struct buf *out);

#endif
