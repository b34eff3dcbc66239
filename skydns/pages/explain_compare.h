/* Compares two explanations as text: skydns -explain with two moments prints what only one of them
 * has.
 *
 *     < web.default.svc.cluster.local. A: NXDOMAIN; etcd revision 5
 *     < past       the answer as of 5: revision 5; settings are those of today
 *     > web.default.svc.cluster.local. A: NOERROR, answers: 1; etcd revision 6
 *     > past       the answer as of 6: revision 6; settings are those of today
 *     > answer     web.default.svc.cluster.local. 30 A 10.96.0.12
 *
 * A line is compared with the label of its section, and a key with the line below it that belongs
 * to it; their order does not matter. The first two lines, which name the moments, are always
 * there. Pure; any thread. */
#ifndef SKYDNS_PAGES_EXPLAIN_COMPARE_H
#define SKYDNS_PAGES_EXPLAIN_COMPARE_H

#include "common/base/buf.h"

/* Appends what differs, or a line that says that nothing does. */
void explain_compare_texts(const char *before, const char *after, struct buf *out);

#endif
