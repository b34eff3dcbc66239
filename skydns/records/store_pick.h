/* Picks addresses at and below a node, beginning anywhere: an answer that holds 70 of 4,000
 * addresses visits 70. Any thread with the version. */
#ifndef SKYDNS_RECORDS_STORE_PICK_H
#define SKYDNS_RECORDS_STORE_PICK_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/records/store.h"

typedef bool (*store_pick_fn)(void *data, const struct store_record *record);

/* Calls fn for each visible record whose host is an address of this family (4 or 16 bytes), until
 * it returns false. The order stays the same as long as the version. It begins at the record with
 * number `first`, from 0 to one less than their count (store_tally.h), and wraps around. Finding
 * the first reads at most 64 counts for each six bits of the labels' hashes. */
void store_pick_addresses(const struct store_node *node, unsigned family_bytes, uint32_t first,
                          store_pick_fn fn, void *data);

#endif
