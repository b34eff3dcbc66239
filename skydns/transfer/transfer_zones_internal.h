/* Holds the zones that can be transferred: the version that they are read from, and their journals.
 * A step compares the newest version with the next, zone by zone. The transfers' thread. */
#ifndef SKYDNS_TRANSFER_TRANSFER_ZONES_INTERNAL_H
#define SKYDNS_TRANSFER_TRANSFER_ZONES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/zone_answers.h"
#include "skydns/transfer/journal_internal.h"
#include "skydns/transfer/transfers.h"

/* Zones that one configuration makes. */
struct transfer_setup {
    unsigned references;
    struct engine_config *config;
    struct zone_answers *answers;
};

/* Version of the record store, and each zone's serial in it. */
struct transfer_version {
    TAILQ_ENTRY(transfer_version) entry;
    unsigned references; /* the newest has one of the zones', too */
    struct transfer_zones *zones;
    const struct store *store;
    struct transfer_setup *setup;
    size_t zone_count;
    struct {
        struct dname apex;
        uint32_t serial;
        bool is_whole; /* else the version lacks records of it */
    } of[TRANSFER_ZONES_MAX];
};

struct transfer_zone {
    struct dname apex;
    struct zone_serial *serial;
    struct journal journal;
    size_t whole_bytes; /* of the last transfer of the whole zone; 0: not known */
};

struct transfer_zones {
    struct journal_bytes account;
    size_t count;
    struct transfer_zone items[TRANSFER_ZONES_MAX];
    struct transfer_setup *setup;            /* the newest; NULL: none */
    uint64_t settings;                       /* of the last one, as a hash */
    struct transfer_version *newest;         /* NULL: there was no step */
    TAILQ_HEAD(, transfer_version) versions; /* held, newest first */
    struct transfers *owner;
};

/* Passes on to transfers.c that no reader uses this store any more. */
void transfers_release(struct transfers *transfers, const struct store *store);

void transfer_zones_init(struct transfer_zones *zones, struct transfers *owner);
void transfer_zones_fini(struct transfer_zones *zones); /* no version is held by others */

/* Takes a step and its configuration over. Returns true if a serial has moved. */
bool transfer_zones_step(struct transfer_zones *zones, struct transfer_step *step);

/* Hears that a secondary has this serial of the zone; `is_first`: as the first thing that it says
 * since the start, or since other settings. Returns true if the zone goes on with a later one,
 * above it (serial_above) or in its turn (serial_join). */
bool transfer_zones_hear(struct transfer_zones *zones, const struct dname *apex, uint32_t theirs,
                         bool is_first, uint32_t *ret_serial);

/* Returns the index of the zone with this lower-cased apex; -1: none. */
int transfer_zones_find(const struct transfer_zones *zones, const struct dname *apex);

/* Returns the version that a new transfer of a whole zone reads, held for the caller; NULL: none
 * has it whole. */
struct transfer_version *transfer_zones_hold(struct transfer_zones *zones,
                                             const struct dname *apex);
void transfer_version_release(struct transfer_version *version); /* NULL is fine */

/* Returns the serial of a zone that the version has. */
uint32_t transfer_version_serial(const struct transfer_version *version, const struct dname *apex);

struct transfer_setup *transfer_setup_hold(struct transfer_setup *setup);
void transfer_setup_release(struct transfer_setup *setup); /* NULL is fine */

#endif
