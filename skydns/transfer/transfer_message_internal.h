/* Builds the messages of a transfer and parses the request that begins it. Packs as many records as
 * fit, and compresses names (RFC 1035 4.1.4) but for SRV (RFC 3597 4). One message after the other,
 * in memory of the caller's; 18 KB of its own. */
#ifndef SKYDNS_TRANSFER_TRANSFER_MESSAGE_INTERNAL_H
#define SKYDNS_TRANSFER_TRANSFER_MESSAGE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/answer/zone_rr.h"
#include "skydns/tsig/tsig.h"

/* ---- The request ---- */

/* Request for AXFR (RFC 5936 2.1) or IXFR (RFC 1995 3). From anybody, before anything is known of
 * the client; the caller bounds its size. Pure; any thread. */
struct transfer_query {
    uint16_t id;
    bool recursion_desired; /* copied into the reply */
    bool has_edns;
    uint16_t udp_size; /* as it says; 0: it does not */
    bool is_incremental;
    uint32_t serial;   /* of an incremental one: what the client has */
    struct dname zone; /* as typed: the reply repeats it */
    struct tsig_place tsig;
};

/* Parses a request. Returns false if it is none, or malformed: FORMERR. */
bool transfer_query_parse(const uint8_t *wire, size_t len, struct transfer_query *ret) MUST_CHECK;

/* ---- Its messages ---- */

enum {
    TRANSFER_NAMES = 2048, /* suffixes that later ones may point to, a power of two; when half are
                            * taken, further ones are written out: of 16 KiB, few are left then */
};

struct transfer_message {
    struct writer w;
    struct ip local; /* what the record without data stands for; none: it is left out */
    uint16_t answers;
    bool has_edns;
    unsigned name_count;
    uint16_t names[TRANSFER_NAMES]; /* where a suffix begins; 0: free */
    uint32_t hashes[TRANSFER_NAMES];
};

/* Starts a message in `out`, with the question if it is the first (RFC 5936 2.2.1). `cap` has room
 * for the question, OPT and one record at least: DNS_MESSAGE_MAX less a TSIG, or a client's UDP
 * size. */
void transfer_message_begin(struct transfer_message *message, const struct transfer_query *query,
                            bool is_first, uint8_t *out, size_t cap);

/* Adds a record. Returns false, and adds nothing, if it does not fit. An empty message takes any
 * record of a zone_rr.h whose data is less than 64,000 bytes. */
bool transfer_message_add(struct transfer_message *message, const struct zone_rr *rr) MUST_CHECK;

/* Completes the message; returns its length. */
size_t transfer_message_end(struct transfer_message *message, enum dns_rcode rcode);

#endif
