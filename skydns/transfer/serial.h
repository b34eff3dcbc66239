/* Computes serials of zones: RFC 1982, with 32 bits. Pure.
 *
 * A serial stands for one zone content, whichever reader gives it:
 *
 *     base + revision of the zone's last change + settings' part (+ whole turns)
 *
 * Base and revision are etcd's, the same for all readers (transfer_source.h). The settings' part is
 * a multiple of SERIAL_STEP below SERIAL_TURN, by a hash of all settings that contents depend on.
 * So readers with the same settings agree. Others never give one serial for two contents, while
 * their revisions are less than SERIAL_STEP apart.
 *
 * Some changes of contents do not lead to a later serial: settings with a smaller part, records
 * that came or went without etcd, an etcd data set whose revisions went back below its base. These
 * take the serial to a later turn.
 *
 * So the turn depends on what a reader has seen: one that finds restored data before kube2sky
 * writes its base is a turn ahead of one that finds both together. Neither could know. They agree
 * again through their secondaries. Whenever a reader notifies one, it asks which serial that has,
 * until it is the reader's own. A serial of its settings in a later turn is from another reader
 * that went ahead, and takes it there (serial_join). Turns that are joined exist already, so
 * readers never drive each other on.
 *
 * It holds:
 *  - A reader's serials only grow, and change whenever contents do.
 *  - Readers with the same settings, at one revision, agree but for turns, and about turns once a
 *    secondary that they notify has the later serial.
 *  - A reader that starts or gets other settings goes above what its secondaries have then,
 *    whoever gave it (serial_above): the last one that was configured is followed.
 *
 * It cannot hold, since readers write nothing down and know nothing of each other:
 *  - A reader that starts with other settings may have a smaller part than before, and no secondary
 *    to ask. Secondaries that come by themselves take its zone after kube2sky's next base, if
 *    SERIAL_TURN ticks of its clock (three days) have passed by then.
 *  - Two settings have the same part once in SERIAL_PARTS. Within a process they are told apart.
 *  - Readers whose settings differ for long each give their contents; secondaries follow the one
 *    with the later serial.
 *  - More revisions than SERIAL_STEP lie between two readers with different settings, or in an etcd
 *    that was restored while kube2sky is away, made by others. */
#ifndef SKYDNS_TRANSFER_SERIAL_H
#define SKYDNS_TRANSFER_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/dns/dname.h"

/* Origin of a zone's serial. */
struct serial_origin {
    bool is_known; /* etcd has said what the base is */
    bool has_key;
    uint32_t base;
    struct dname domain; /* whose key it is */
    int64_t revision;    /* of the last change; */
    bool is_of_base;     /* which was that of the base */
    uint32_t settings_part;
};

#define SERIAL_STEP  UINT32_C(1024)
#define SERIAL_PARTS UINT32_C(4096)
#define SERIAL_TURN  (SERIAL_STEP * SERIAL_PARTS)

/* Returns whether a comes after b. For two that are 2^31 apart, the RFC defines no order: neither
 * does. */
static inline bool serial_is_after(uint32_t a, uint32_t b)
{
    uint32_t ahead = a - b;
    return ahead != 0 && ahead < UINT32_C(1) << 31;
}

/* Returns the settings' part, by their hash. */
static inline uint32_t serial_settings_part(uint64_t hash)
{
    return (uint32_t)(hash % SERIAL_PARTS) * SERIAL_STEP;
}

/* Returns the next serial of a zone that has shown one, for other contents. Without turns it is
 * `plain`. */
static inline uint32_t serial_after(uint32_t plain, uint32_t shown)
{
    return serial_is_after(plain, shown)
               ? plain
               : plain + ((shown - plain) / SERIAL_TURN + 1) * SERIAL_TURN;
}

/* Returns the serial to go on with after the first word of a secondary with `theirs`. The reader
 * shows `own` since its start, or since it has these settings. A serial less than SERIAL_STEP
 * ahead, but for turns, is of a reader with these settings that is a little ahead. A serial half a
 * circle ahead (2^30) is none of ours. */
static inline uint32_t serial_above(uint32_t own, uint32_t theirs)
{
    const uint32_t ahead = theirs - own;
    if (!serial_is_after(theirs, own) || ahead >= UINT32_C(1) << 30) {
        return own;
    }
    return own + (ahead / SERIAL_TURN + (ahead % SERIAL_TURN >= SERIAL_STEP)) * SERIAL_TURN;
}

/* Returns the serial to go on with after a later word. It is `own` in their turn if that is a later
 * one and they have its settings, so that their revisions are less than half a SERIAL_STEP apart,
 * either way; else `own`. Readers with other settings may go on beside it: whoever went above them
 * would be passed in turn. */
static inline uint32_t serial_join(uint32_t own, uint32_t theirs)
{
    const uint32_t ahead = theirs - own + SERIAL_STEP / 2;
    if (ahead >= UINT32_C(1) << 30 || ahead % SERIAL_TURN >= SERIAL_STEP) {
        return own;
    }
    return own + ahead / SERIAL_TURN * SERIAL_TURN;
}

#endif
