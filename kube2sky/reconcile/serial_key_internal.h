/* The key `/kube2sky/<domain>/serial`: a decimal number (see the end), which a store
 * gets before its store key. Read and written anew once everything else is written, at each start,
 * by each new leader, and in another store: from then on, serials are after the clock, whatever
 * became of etcd meanwhile. Readers that had seen another store know by it that this one is
 * complete (etcd_store_id.h).
 *
 * Written only on the condition that nobody else has, and that this process leads. What etcd
 * refuses is told once and then left: the store key does not wait for it. On the main loop. */
#ifndef KUBE2SKY_RECONCILE_SERIAL_KEY_INTERNAL_H
#define KUBE2SKY_RECONCILE_SERIAL_KEY_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/etcd/etcd_txn.h"

struct etcd;
struct etcd_mirror;
struct serial_key;

struct serial_key_config {
    struct ev_loop *loop;
    struct etcd *etcd;  /* outlives it */
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for good */
};

struct serial_key *serial_key_new(const struct serial_key_config *config);
void serial_key_free(struct serial_key *key); /* NULL is fine */

/* The store is another one than before, which had this revision. */
void serial_key_other_store(struct serial_key *key, int64_t revision);

/* It may be another one: the serial is written anew once everything else is written. */
void serial_key_rewrite(struct serial_key *key);

/* Everything is written, and this process may write: reads or writes what is due, into the store
 * that the mirror follows. `condition`: of the leader, or NULL. True: the store key may be written
 * now. */
bool serial_key_turn(struct serial_key *key, struct etcd_mirror *mirror,
                     const struct etcd_compare *condition) MUST_CHECK;

/* A request is under way. */
bool serial_key_is_busy(const struct serial_key *key);

/* The number above which readers count the serials of zones in one store (skydns -transfer-to): a
 * serial is this and etcd's revision of the zone's last change, or that at which this number was
 * written if it is later, modulo 2^32 (skydns/transfer/serial.h has the rest). Pure. */

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
