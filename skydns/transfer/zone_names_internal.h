/* Lists all names that may have records in a zone, in one version of the record store: the names of
 * records in it, those between them and the apex, and the names that answers make up without
 * records. Some have none after all: zone_answers.h finds out.
 *
 * Resumable and small however large the zone: a whole-zone transfer keeps one between its messages.
 * Plain data; any thread with the version. */
#ifndef SKYDNS_TRANSFER_ZONE_NAMES_INTERNAL_H
#define SKYDNS_TRANSFER_ZONE_NAMES_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"

struct zone_names {
    struct dname apex;
    struct dname record; /* the last one reached; at first the apex */
    unsigned apex_labels;
    unsigned made_up;       /* of those that need no records, this many were given */
    unsigned labels;        /* of the next name, which is the record's or one above it; */
    unsigned record_labels; /* above this: the next record is to be found */
};

/* Begins at a lower-cased apex. */
void zone_names_begin(struct zone_names *names, const struct dname *apex);

/* Returns the next name, each once, the apex first. Returns false at the end. The record store and
 * configuration must be the same each time. */
bool zone_names_next(struct zone_names *names, const struct engine_config *config,
                     const struct store *store, struct dname *ret_name) MUST_CHECK;

#endif
