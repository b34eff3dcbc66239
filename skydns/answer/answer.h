/* Decides what to answer: (question, record store, configuration, externals) -> a plan of the
 * response's records. encode.h encodes the plan.
 *
 * All policy is here: no wire format, no I/O, no clock. One per engine, on that engine's thread. */
#ifndef SKYDNS_ANSWER_ANSWER_H
#define SKYDNS_ANSWER_ANSWER_H

#include "common/dns/dns.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"
#include "skydns/wire/answer_plan.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/query.h"
#include "skydns/wire/question.h"

struct forward_zone;
struct cache_access;

/* The types of a name that are not among RR_TYPES (rr_types.h): of its records' `rr`. */
enum { ANSWER_OTHER_TYPES_MAX = 32 };
struct answer_other_types {
    size_t count;
    bool is_cut; /* there are more */
    uint16_t types[ANSWER_OTHER_TYPES_MAX];
};

/* A type that no record has: for a question that lists the others. */
enum { ANSWER_TYPE_OF_OTHERS = 65535 };

struct answer_input {
    const struct question *question;
    const struct store *store;                /* NULL before the first sync */
    struct client_view client;                /* the client, as visibility sees it */
    const struct external_answers *externals; /* NULL in the first call */
    struct ip local; /* the address that the query was sent to; none if not known */
    int64_t now_s;
    uint32_t random;
    size_t reply_limit; /* bytes: no more records are collected than could fit */
    bool may_cut;       /* over UDP: the client repeats a truncated query over TCP */
    bool may_scan;
    bool (*is_late)(void *data);
    void *is_late_data;
    bool is_brief;
    struct cache_access *cached;       /* the response cache (cache_access.h); NULL: not used, and
                                        * upstreams are asked for targets */
    const struct engine_query *query;  /* with `cached`: the client's query */
    struct answer_other_types *others; /* NULL, or what lists them, of a question for
                                        * ANSWER_TYPE_OF_OTHERS */
};

/* Returns the SOA's serial: the start of the hour, as in SkyDNS, unless the zone can be
 * transferred. */
static inline uint32_t answer_soa_serial(const struct zone_serial *serial, int64_t now_s)
{
    return serial ? zone_serial_get(serial) : (uint32_t)(now_s - now_s % 3600);
}

struct answer;

struct answer *answer_new(const struct engine_config *config); /* borrowed */
void answer_free(struct answer *answer);

/* Answers the question. ENGINE_REPLY: the plan is made. ENGINE_DEFER: *ret_deferral says why.
 * ENGINE_DROP: the query comes from a server that we ask about the same stub zone. */
enum engine_verdict answer_build(struct answer *answer, const struct answer_input *input,
                                 struct engine_deferral *ret_deferral) MUST_CHECK;

/* Switches to another configuration, borrowed like the first. Call it between answers. */
void answer_configure(struct answer *answer, const struct engine_config *config);

/* Returns the plan that the last answer_build made; the signer adds to it. */
struct answer_plan *answer_get_plan(struct answer *answer);

/* Start an answer without answer_build: one of ours without records, which the caller adds; or
 * NXDOMAIN or NODATA of a complete zone. */
struct answer_plan *answer_start_plan(struct answer *answer);
void answer_start_denial(struct answer *answer, const struct engine_zone *zone,
                         enum dns_rcode rcode, int64_t now_s);

/* Returns, after ENGINE_DEFER for FORWARD, the name to ask for in place of the question's. It is
 * the reverse name of the IPv4 address from which DNS64 made the address of the question's reverse
 * name; the answer begins with a CNAME to it. len 0: ask for the question's own name. */
const struct dname *answer_get_ipv4_reverse(const struct answer *answer);

/* Says which rule for external names made the answer, instead of records or an upstream. */
enum answer_rule {
    ANSWER_BY_SOURCE, /* none: our records, an upstream, or a refusal */
    ANSWER_BY_ALIAS,
    ANSWER_BY_HOSTS,
    ANSWER_BY_OVERRIDE,
    ANSWER_BY_SPECIAL_NAME,
    ANSWER_BY_NO_AAAA,
    ANSWER_BY_DNS64,
};
enum answer_rule answer_get_rule(const struct answer *answer);

/* Returns how many addresses and targets the answer left out, since they are not near the client.
 */
size_t answer_get_far(const struct answer *answer);

/* Returns the zone whose upstreams are to be asked, after ENGINE_DEFER for FORWARD. NULL: the
 * configuration has no zone table. Borrowed from the configuration. */
const struct forward_zone *answer_get_external_zone(const struct answer *answer);

#endif
