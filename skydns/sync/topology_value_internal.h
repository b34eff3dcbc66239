/* Reads and writes the value of a topology key, as kube2sky writes it:
 *
 *     {"10.1.0.5":"eu-1a","fd00::7":"eu-1b"}
 *
 * Bytes from outside. Spaces may stand between the parts; escapes may not be in them, since no
 * address or zone needs one. Pure. */
#ifndef SKYDNS_SYNC_TOPOLOGY_VALUE_INTERNAL_H
#define SKYDNS_SYNC_TOPOLOGY_VALUE_INTERNAL_H

#include "common/base/attributes.h"
#include "common/base/slice.h"

struct buf;
struct topology_service;

/* Limits a value: 9,000 IPv4 addresses. It is what kube2sky writes at most. */
enum { TOPOLOGY_VALUE_MAX = 256 * 1024 };

/* Makes the block of the Service with this name, in wire form and lower case. Returns NULL, or why
 * the value is unusable. */
const char *topology_value_read(struct slice value, struct slice name,
                                struct topology_service **ret_service) MUST_CHECK;

/* Appends a value that reads as the block. */
void topology_value_write(const struct topology_service *service, struct buf *out);

#endif
