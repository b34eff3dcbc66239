/* The number above which readers count the serials of zones in one store (skydns -transfer-to): a
 * serial is this and etcd's revision of the zone's last change, or that at which this number was
 * written if it is later, modulo 2^32 (skydns/transfer/serial_internal.h has the rest). Pure. */
#ifndef KUBE2SKY_RECONCILE_SERIAL_BASE_INTERNAL_H
#define KUBE2SKY_RECONCILE_SERIAL_BASE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

/* A clock of 16 ticks a second from 2^31 on, since 2026: above the serials of stores without a
 * base, and of SOA records without transfers. It comes around after 8.5 years, as RFC 1982 lets
 * serials do. */
uint32_t serial_clock(int64_t unix_s);

/* For a store at this revision, to be written into it now: every serial above it is then after the
 * clock and after `reached` (NULL: none is known), the latest that readers can have given so far.
 * So nothing that readers gave comes again in a store that was emptied or restored while nobody
 * watched, if it had fewer than 16 revisions a second since its last base: more of them run ahead
 * of the clock. */
uint32_t serial_base_next(int64_t unix_s, int64_t revision, const uint32_t *reached);

/* Whether a comes after b, RFC 1982. */
bool serial_base_is_after(uint32_t a, uint32_t b);

#endif
