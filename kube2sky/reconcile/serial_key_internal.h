/* Writes the key `/kube2sky/<domain>/serial`, a decimal number that a data set gets before its
 * store key. It is read and written anew, once everything else is written, at each start, by each
 * new leader, and in another data set. From then on, serials are after the clock, whatever happened
 * to etcd meanwhile.
 *
 * It is written only if no other process has written it, and this process leads. A refusal is
 * logged once and then ignored: the store key does not wait for it. On the main loop. */
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
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for its lifetime */
    /* The domain is not that of the mirror's store key: with the serial come a store key of its
     * own, unless this data set has one, and the version of its specification,
     * dns-version.<domain>. */
    bool is_second;
    const char *version; /* borrowed, likewise */
};

struct serial_key *serial_key_new(const struct serial_key_config *config);
void serial_key_free(struct serial_key *key); /* NULL is fine */

/* Notes that etcd has another data set; the old one had reached this revision. */
void serial_key_other_store(struct serial_key *key, int64_t revision);

/* Notes that the data set may be another one: the serial is written anew once everything else is
 * written. */
void serial_key_rewrite(struct serial_key *key);

/* Returns whether the key is that of the domain's version, which is written with the serial. */
bool serial_key_is_version(const struct serial_key *k, struct slice key);

/* Reads or writes the serial if that is due, in the store that the mirror follows. Called when
 * everything else is written and this process may write. `condition`: the leader's, or NULL.
 * Returns true if the store key may be written now. */
bool serial_key_turn(struct serial_key *key, struct etcd_mirror *mirror,
                     const struct etcd_compare *condition) MUST_CHECK;

/* Returns whether a request is under way. */
bool serial_key_is_busy(const struct serial_key *key);

/* Readers count the serials of zones in one data set above a base number (skydns -transfer-to). A
 * serial is the base plus a revision, modulo 2^32: that of the zone's last change, or that of the
 * base's write if it is later. skydns/transfer/serial.h has the rest. Pure.
 *
 * serial_clock returns a clock of 16 ticks a second from 2^31 on, since 2026. That is above the
 * serials of data sets without a base, and of SOA records without transfers. It wraps after 8.5
 * years, as RFC 1982 lets serials do. */

uint32_t serial_clock(int64_t unix_s);

/* Returns the base to write now into a data set at this revision. Every serial above it is after
 * the clock and after `reached`, the latest that readers can have served so far (NULL: none is
 * known).
 *
 * So no served serial comes again when the data set was emptied or restored while no process
 * watched. That requires fewer than 16 revisions a second since the last base: more of them run
 * ahead of the clock. */
uint32_t serial_base_next(int64_t unix_s, int64_t revision, const uint32_t *reached);

/* Returns whether a comes after b in serial number arithmetic, RFC 1982, section 3.2. */
bool serial_base_is_after(uint32_t a, uint32_t b);

#endif
