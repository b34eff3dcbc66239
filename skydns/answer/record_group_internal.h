/* Which of SkyDNS's groups a name's records give: part of a lookup (lookup.h). Pure. */
#ifndef SKYDNS_ANSWER_RECORD_GROUP_INTERNAL_H
#define SKYDNS_ANSWER_RECORD_GROUP_INTERNAL_H

#include <stddef.h>

#include "common/base/slice.h"
#include "skydns/records/store.h"

/* The group of the records closest to the root; empty: none, or they disagree. The scan is in key
 * order and ends at a record closer to the root that has no group. There is at least one record;
 * the result is borrowed from one. */
struct slice record_group_choose(const struct store_record *const *records, size_t count);

#endif
