/* Chooses some of an RRset's records, if all are more than validators verify or a message holds.
 * Over streams. Pure.
 *
 * RFC 4035 3.1.1 and RFC 2181 9 have TC for that, which makes a validator drop the answer: there is
 * no larger message to ask for. The choice is therefore signed as the whole RRset, without TC, as
 * nameservers that balance load do. */
#ifndef SKYDNS_SIGN_SIGNED_CHOICE_INTERNAL_H
#define SKYDNS_SIGN_SIGNED_CHOICE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "skydns/records/rr.h"
#include "skydns/sign/rrsets_internal.h"

enum {
    /* Bounds an RRset, with the owner in each record, and the signed part of the RRSIG. unbound
     * 1.17 and Knot Resolver 5.6 verify in a buffer of a message's size. */
    SIGNED_CHOICE_CANONICAL_MAX = DNS_MESSAGE_MAX - 18 - DNAME_MAX,
};

/* Returns whether validators can verify each signed RRset. */
bool signed_choice_can_verify(const struct rrsets *sets);

/* Drops records of the largest signed RRset until it fits; those before its record with the number
 * `first` go first. `sets` are those of the answers, and must be found again. `room` is for all
 * answers without their signatures. Returns false when it dropped nothing, since the RRset fits or
 * the others alone do not. */
bool signed_choice_shorten(struct rr_list *answers, const struct rrsets *sets, size_t room,
                           size_t first) MUST_CHECK;

#endif
