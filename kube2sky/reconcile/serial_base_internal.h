/* The number above which readers count the serials of zones in one store (skydns -transfer-to): a
 * serial is this and etcd's revision of the zone's last change, modulo 2^32. Pure. */
#ifndef KUBE2SKY_RECONCILE_SERIAL_BASE_INTERNAL_H
#define KUBE2SKY_RECONCILE_SERIAL_BASE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

/* For a store that is new at this Unix time: a clock of 16 ticks a second from 2^31 on, since 2026.
 * A store goes on above all that another one, in the same place before it, can have reached, if
 * that had fewer than 16 revisions a second all its life. Above the serials of stores without a
 * base, and of SOA records without transfers; it comes around after 8.5 years, as RFC 1982 lets
 * serials do. */
uint32_t serial_base_of_time(int64_t unix_s);

/* The same, but after the last serial that an earlier store is known to have reached. */
uint32_t serial_base_after(int64_t unix_s, uint32_t last_serial);

/* Whether a comes after b, RFC 1982. */
bool serial_base_is_after(uint32_t a, uint32_t b);

#endif
