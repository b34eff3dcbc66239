/* The serials that SOA records show while zones can be transferred. The transfers' thread sets one
 * once a transfer gives what it stands for; any thread reads it. Until then, a question for the SOA
 * is SERVFAIL, and negative answers show the hour at which the entry was made: no secondary takes a
 * serial from those. The table belongs to the main
 * thread, and an entry stays where it is until the table is freed, after the threads. */
#ifndef SKYDNS_PUBLISH_ZONE_SERIALS_H
#define SKYDNS_PUBLISH_ZONE_SERIALS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/dns/dname.h"

/* Serials count from it without a base of kube2sky's (keys.md): after the hours that SOA records
 * have had so far, and before any base. */
#define ZONE_SERIAL_LOWEST UINT32_C(2000000000)

/* Zones of one life of the process; domains change by hand. Further ones have the hour. */
enum { ZONE_SERIALS_MAX = 512 };

struct zone_serial {
    struct dname apex;
    _Atomic uint32_t value;
    _Atomic bool is_known; /* it was set */
    uint32_t plain;        /* it, but for turns (serial.h): the transfers' thread's */
};

struct zone_serials;

struct zone_serials *zone_serials_new(void);
void zone_serials_free(struct zone_serials *serials); /* NULL is fine */

/* Main thread: the zone's, not known when new; NULL: there are too many. */
struct zone_serial *zone_serials_of(struct zone_serials *serials, const struct dname *apex);

static inline uint32_t zone_serial_get(const struct zone_serial *serial)
{
    return atomic_load_explicit(&serial->value, memory_order_relaxed);
}

static inline void zone_serial_set(struct zone_serial *serial, uint32_t value)
{
    atomic_store_explicit(&serial->value, value, memory_order_relaxed);
    atomic_store_explicit(&serial->is_known, true, memory_order_release);
}

static inline bool zone_serial_is_known(const struct zone_serial *serial)
{
    return atomic_load_explicit(&serial->is_known, memory_order_acquire);
}

#endif
