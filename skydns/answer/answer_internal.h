/* Declares the parts that make an answer, for answer*.c alone: the answer being made, the outcomes,
 * and one function for each kind of question. On the engine's thread.
 *
 *     answer.c           the zone of the name; the outcomes; the dispatch
 *     answer_types.c     each type, from the records of a name of ours
 *     answer_kube.c      the differences of -schema=kubernetes, and
 *                        a-b-c-d.<namespace>.pod.<domain> without records
 *     answer_reverse.c   PTR, and the networks that are ours (reverse_zone.h)
 *     answer_external.c  external names: hosts files, stub zones, the general upstreams
 *     answer_meta.c      class CHAOS, ANY, and questions that no record answers */
#ifndef SKYDNS_ANSWER_ANSWER_INTERNAL_H
#define SKYDNS_ANSWER_ANSWER_INTERNAL_H

#include "skydns/answer/answer.h"
#include "skydns/answer/follow.h"
#include "skydns/answer/rrsynth_internal.h"
#include "skydns/publish/engine_config.h"

enum { CHAOS_NUMBER_MAX = 21 }; /* 64 bits in decimal */

struct answer {
    const struct engine_config *config;
    struct weights weights;

    /* The answer being made: */
    struct answer_input in;
    struct slice owner;                  /* the question's name as typed, or an alias's target */
    struct dname asked;                  /* the question's name in lower case */
    struct dname name;                   /* the same, or the name that it is an alias for */
    const struct engine_zone *zone;      /* the zone that contains the name, or NULL */
    const struct forward_zone *stub;     /* the name's stub zone instead, or NULL */
    const struct forward_zone *external; /* the zone whose upstreams are to be asked */
    enum answer_rule rule;
    struct dname ipv4_reverse; /* what the reverse name of an address of DNS64 stands for; or len 0
                                */
    struct slice soa_owner;    /* owner of the SOA of negative answers */
    const struct zone_serial *serial; /* the SOA's serial; NULL: the start of the hour */
    bool is_incomplete;               /* the zone may have records that the store lacks */
    struct ip pod;                    /* the address that the name itself spells */
    char number[CHAOS_NUMBER_MAX];    /* a figure of the response cache, for class CHAOS */
    struct follow follow;
    struct view_trail trail; /* the trail of follow's view */
    struct answer_plan plan;
};

/* ---- Outcomes (answer.c) ---- */

/* Answers with an error and drops the records so far: such a response has none. */
void answer_fail(struct answer *a, enum dns_rcode rcode, enum edns_error error);
/* Answers SERVFAIL and drops the records so far: no upstream could say where the name leads. */
void answer_unknown(struct answer *a);
void answer_not_ready(struct answer *a); /* SERVFAIL: the records are not all there */
void answer_add(struct answer *a, struct rr rr);

/* Answer NODATA, or for answer_no_name NXDOMAIN unless the name always exists. In an incomplete
 * zone both do what answer_not_ready does, and so does answer_denied. */
void answer_no_data(struct answer *a);
void answer_no_name(struct answer *a);
/* Answers NXDOMAIN. */
void answer_denied(struct answer *a);

/* Returns the SOA of the zone, as an answer or for the authority section. */
struct rr answer_soa_rr(struct answer *a, struct slice owner, uint32_t ttl_s);

/* Answers the question for the SOA of the zone: SERVFAIL until its serial is known. */
void answer_own_soa(struct answer *a);

/* Returns whether the name is the zone's own. */
bool answer_is_apex(const struct answer *a);

/* Sets the zone of the name, which negative answers name; NULL is fine. */
void answer_set_zone(struct answer *a, const struct engine_zone *zone);

/* ---- Questions ---- */

/* Answers a name of ours by the question's type, after answer_alias, answer_pod and answer_kube. */
void answer_in_domain(struct answer *a);

/* Answer one type each, for the parts that choose among types. */
void answer_nothing(struct answer *a); /* a type without data */
void answer_records(struct answer *a); /* whatever type is asked for */
void answer_ports(struct answer *a);   /* SRV at a service's own name: its named ports */
void answer_txt(struct answer *a);
void answer_own_ns(struct answer *a);

/* Adds the types of the record's `rr` that are not among RR_TYPES. */
void answer_list_others(struct answer_other_types *others, const struct store_record *record);

/* With -schema=kubernetes: adds the CNAMEs that begin at the name, and makes the last target the
 * name. For TXT, adds the texts of the first alias that has some instead. Returns true when the
 * answer is complete: the target needs no records, or has none that we know. */
bool answer_alias(struct answer *a);

/* Answer by one kind of name each. Return true when they have answered. */
bool answer_kube(struct answer *a);
bool answer_pod(struct answer *a);
bool answer_reverse(struct answer *a);

/* Answers an external name, or a name in a stub zone. */
void answer_external(struct answer *a);

/* Answer an external name by -alias, and by its override. OVERRIDE_OTHER_TYPE: it has an alias or
 * override without the type, and an upstream that can be queried (is_asked) has to answer. */
enum override_outcome { OVERRIDE_NONE, OVERRIDE_ANSWERED, OVERRIDE_OTHER_TYPE };
enum override_outcome answer_setting_alias(struct answer *a, bool is_asked);
enum override_outcome answer_override(struct answer *a, bool is_asked);

/* Answers for the domain itself with -schema=kubernetes, from the keys at and below dns/apex.
 * Returns true when it has answered. */
bool answer_apex(struct answer *a);

/* Answers NODATA or NXDOMAIN about an external name, which clients may cache for ttl_s. The SOA is
 * the root's, since no domain of ours has the name. */
void answer_deny_external(struct answer *a, enum dns_rcode rcode, uint32_t ttl_s);

/* Answers a reverse name in no domain of ours, which spells the address. Returns true when hosts
 * files answer it. */
bool answer_hosts_address(struct answer *a, const struct ip *ip);

/* Returns whether the question's name, or the name that it is an alias for, is hidden from the
 * client. */
bool answer_is_hidden(const struct answer *a);

/* Returns true, and denies the question, when no record has the type or the class. */
bool answer_meta(struct answer *a);
void answer_chaos(struct answer *a);
void answer_any(struct answer *a);

#endif
