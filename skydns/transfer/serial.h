/* Serials of zones: RFC 1982, with 32 bits. Pure.
 *
 * A serial stands for one contents, whichever reader gives it:
 *
 *     base + revision of the zone's last change + settings' part (+ whole turns)
 *
 * Base and revision are etcd's, the same for all readers (transfer_feed.h). The settings' part is a
 * multiple of SERIAL_STEP below SERIAL_TURN, by a hash of all settings that contents depend on: so
 * readers with the same settings agree, and others never give one serial for two contents, while
 * their revisions are less than SERIAL_STEP apart. What changes contents and yet does not lead to a
 * later serial (settings with a smaller part, records that came or went without etcd) takes it to a
 * later turn.
 *
 * It holds:
 *  - A reader's serials only grow, and change whenever contents do.
 *  - Readers that have had the same settings one after the other, and see the same revision, agree.
 *  - A reader that starts, which knows nothing of turns, asks the secondaries that it notifies
 * which serial they have, and goes to its turn, or above it (serial_above).
 *
 * It cannot hold, since readers keep nothing and know nothing of each other:
 *  - A reader that starts with other settings may have a smaller part than before, and no secondary
 *    to ask: those that come by themselves take its zone after kube2sky's next base, if SERIAL_TURN
 *    ticks of its clock (three days) have passed by then.
 *  - Two settings have the same part once in SERIAL_PARTS. Within a process they are told apart.
 *  - Readers whose settings differ for long each give their contents; secondaries follow the one
 *    with the later serial.
 *  - More revisions than SERIAL_STEP between two readers with different settings, or in an etcd
 *    that was restored while kube2sky is away, by others. */
#ifndef SKYDNS_TRANSFER_SERIAL_H
#define SKYDNS_TRANSFER_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

#define SERIAL_STEP  UINT32_C(1024)
#define SERIAL_PARTS UINT32_C(4096)
#define SERIAL_TURN  (SERIAL_STEP * SERIAL_PARTS)

/* Whether a comes after b. Of two that are 2^31 apart, for which the RFC defines no order, neither
 * does. */
static inline bool serial_is_after(uint32_t a, uint32_t b)
{
    uint32_t ahead = a - b;
    return ahead != 0 && ahead < UINT32_C(1) << 31;
}

/* The settings' part, by their hash. */
static inline uint32_t serial_settings_part(uint64_t hash)
{
    return (uint32_t)(hash % SERIAL_PARTS) * SERIAL_STEP;
}

/* Of a zone that has shown a serial: the next one for other contents, which without turns is
 * `plain`. */
static inline uint32_t serial_after(uint32_t plain, uint32_t shown)
{
    return serial_is_after(plain, shown)
               ? plain
               : plain + ((shown - plain) / SERIAL_TURN + 1) * SERIAL_TURN;
}

/* A reader that shows `own` at its start hears of a secondary with `theirs`: the serial to go on
 * with. One less than SERIAL_STEP ahead, but for turns, is of a reader with these settings that is
 * a little ahead. A serial half a circle ahead (2^30) is none of ours. */
static inline uint32_t serial_above(uint32_t own, uint32_t theirs)
{
    const uint32_t ahead = theirs - own;
    if (!serial_is_after(theirs, own) || ahead >= UINT32_C(1) << 30) {
        return own;
    }
    return own + (ahead / SERIAL_TURN + (ahead % SERIAL_TURN >= SERIAL_STEP)) * SERIAL_TURN;
}

#endif
