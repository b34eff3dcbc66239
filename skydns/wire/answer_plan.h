/* What a reply of ours has in it: RRsets in sections, and the codes around them. The code that
 * answers makes it, signatures are made for it, encode.h writes it. Plain data. */
#ifndef SKYDNS_WIRE_ANSWER_PLAN_H
#define SKYDNS_WIRE_ANSWER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dns.h"
#include "skydns/records/rr.h"
#include "skydns/wire/edns.h"

/* SOA timers as in SkyDNS: secondaries learn of changes by NOTIFY. */
enum {
    ANSWER_SOA_REFRESH_S = 28800,
    ANSWER_SOA_RETRY_S = 7200,
    ANSWER_SOA_EXPIRE_S = 604800,
};

/* The zone's SOA: the answer to an SOA question, or the authority of a negative answer. */
struct answer_soa {
    struct slice mname, rname;
    uint32_t serial;
    uint32_t minimum_s;
};

/* Borrows from what it was made of, the version of the records and the configuration among that:
 * valid as long as they are, and until the next answer_build (answer.h). */
struct answer_plan {
    enum dns_rcode rcode;
    bool is_authoritative;
    bool is_recursive;     /* RA */
    enum edns_error error; /* why SERVFAIL or REFUSED */
    uint16_t rr_class;
    struct rr_list answers;
    struct rr_list additionals;
    bool has_authority; /* a negative answer: SOA */
    struct rr authority;
    struct answer_soa soa;
};

#endif
