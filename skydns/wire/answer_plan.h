/* Plans a response of ours: RRsets in sections, and the codes around them. The answer code makes
 * the plan, the signer adds signatures, encode.h writes it. Plain data. */
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

/* Bounds the authority section: the SOA of a negative answer, with its signatures and those of the
 * denial's two NSEC records, by up to eight keys. */
enum { ANSWER_AUTHORITIES_MAX = 3 * (1 + 8) };

/* The plan. It borrows from its sources, among them the version of the records and the
 * configuration. It is valid as long as they are, and until the next answer_build (answer.h). */
struct answer_plan {
    enum dns_rcode rcode;
    bool is_authoritative;
    bool is_recursive;     /* RA */
    bool is_signed;        /* its answers and authorities are sent whole, or none of them with TC: a
                            * validator takes no part of them */
    enum edns_error error; /* the reason for SERVFAIL or REFUSED */
    uint16_t rr_class;
    struct rr_list answers;
    struct rr_list additionals;
    size_t authority_count; /* in a negative answer, of which the SOA is the first */
    struct rr authorities[ANSWER_AUTHORITIES_MAX];
    struct answer_soa soa;
};

#endif
