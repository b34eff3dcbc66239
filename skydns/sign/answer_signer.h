/* Signs answers of ours, RRset by RRset, before they are encoded: the step between answer.h and
 * encode.h for clients that set DO. The answer code alone decides what a name has, and whether it
 * exists; the signer asks it (name_facts.h).
 *
 *     answer_signer.c     the step; what is dropped when it does not fit
 *     rrsets.c            a section's RRsets, and their canonical form
 *     signed_denial.c     NSEC records
 *     signed_choice.c     some of an RRset's records, if all are too many
 *     signed_apex.c       questions that keys answer: DNSKEY, CDS, CDNSKEY, DS
 *     signed_zones.c      the zone that signs a name
 *
 * An answer that does not fit with its signatures loses its additional section first, as a whole.
 * So does one whose additional section has only some of a name's addresses, which resolvers would
 * cache as its answer. So does one that has more RRsets there than validators verify in good time.
 * If that is not enough, all records go, with TC over UDP. Over TCP, where a client can ask for no
 * more, a choice of the records is signed.
 *
 * One per engine, on that engine's thread. No lock but those of making signatures. */
#ifndef SKYDNS_SIGN_ANSWER_SIGNER_H
#define SKYDNS_SIGN_ANSWER_SIGNER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "skydns/answer/answer.h"
#include "skydns/publish/engine_config.h"
#include "skydns/wire/deferral.h"

struct answer_signer;

struct answer_signer *answer_signer_new(const struct engine_config *config);
void answer_signer_free(struct answer_signer *signer); /* NULL is fine */

/* Switches to a configuration with dnssec, borrowed until the next one. */
void answer_signer_configure(struct answer_signer *signer, const struct engine_config *config);

/* Returns whether keys may answer questions of this type: DNSKEY, CDS, CDNSKEY, DS. */
static inline bool answer_signer_is_of_keys(uint16_t type)
{
    return type == DNS_TYPE_DNSKEY || type == DNS_TYPE_CDS || type == DNS_TYPE_CDNSKEY ||
           type == DNS_TYPE_DS;
}

/* Does what answer_build does, also for questions that keys answer. The question is of class IN. */
enum engine_verdict answer_signer_build(struct answer_signer *signer, struct answer *answer,
                                        const struct answer_input *input,
                                        struct engine_deferral *ret_deferral) MUST_CHECK;

/* Adds the records for a client with DO to the plan that the input led to. A signature that is not
 * cached is ENGINE_DEFER_SIGN, unless the query may make it. */
enum engine_verdict answer_signer_sign(struct answer_signer *signer, struct answer *answer,
                                       const struct answer_input *input,
                                       struct engine_deferral *ret_deferral) MUST_CHECK;

#endif
