/* What to answer: (question, store, configuration, externals) -> the records of a reply, as a plan
 * that encode.h writes. All policy is here and nothing of it is wire format; no I/O, no clock. One
 * per engine; that engine's thread only. */
#ifndef SKYDNS_ANSWER_H
#define SKYDNS_ANSWER_H

#include "common/dns.h"
#include "skydns/engine.h"
#include "skydns/question.h"
#include "skydns/rr.h"

struct answer_input {
    const struct question *question;
    const struct store *store;                /* NULL before the first sync */
    const struct external_answers *externals; /* NULL in a first call */
    struct ip local;                          /* where the question came to; none if not known */
    int64_t now_s;
    uint32_t random;
    bool may_walk;
};

/* The zone's SOA: the answer to its question, or the authority of a negative answer. */
struct answer_soa {
    struct slice mname, rname;
    uint32_t serial;
    uint32_t minimum_s;
};

/* Borrows from the input, the store and the configuration: valid as long as they are, and until the
 * next answer_build. */
struct answer_plan {
    enum dns_rcode rcode;
    bool is_authoritative;
    bool is_recursive; /* RA */
    uint16_t rr_class;
    struct rr_list answers;
    struct rr_list additionals;
    bool has_authority; /* it is a negative answer: SOA */
    struct rr authority;
    struct answer_soa soa;
};

struct answer;

struct answer *answer_new(const struct engine_config *config); /* borrowed */
void answer_free(struct answer *answer);

/* ENGINE_REPLY: the plan is made. ENGINE_DEFER: *ret_deferral says why. Never ENGINE_DROP. */
enum engine_verdict answer_build(struct answer *answer, const struct answer_input *input,
                                 struct engine_deferral *ret_deferral) MUST_CHECK;

const struct answer_plan *answer_get_plan(const struct answer *answer);

#endif
