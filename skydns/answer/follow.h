/* From records to addresses: through CNAMEs inside the domain, and outside it through what upstream
 * said. For A and AAAA answers and for the additional section; part of answer.c's work, on its
 * thread. */
#ifndef SKYDNS_ANSWER_FOLLOW_H
#define SKYDNS_ANSWER_FOLLOW_H

#include "skydns/answer/deferral.h"
#include "skydns/answer/external_answer.h"
#include "skydns/answer/lookup.h"
#include "skydns/store/engine_config.h"
#include "skydns/store/rr.h"

enum follow_families { FOLLOW_A = 1, FOLLOW_AAAA = 2, FOLLOW_BOTH = 3 };

/* What following CNAMEs and targets may visit on the resolver thread, beyond what the name asked
 * for stands for: sixteen times the records a message holds. It bounds records that point to many
 * others, which point to many others. On a worker both share ENGINE_WALK_MAX. */
enum { FOLLOW_VISITS_MAX = 16 * RR_LIST_MAX };

struct follow {
    const struct engine_config *config;
    struct lookup_rule rule; /* of the question's name: follow_rule */
    struct lookup *lookup;
    struct rr_list targets; /* names already followed: only owners are set */

    /* Of the answer being made. */
    const struct store *store;
    const struct external_answers *externals;
    bool may_walk;
    bool is_deferred; /* the answer cannot be made in this call; *deferral says why */
    struct engine_deferral *deferral;
};

/* How names in the zone are read. */
static inline struct lookup_rule follow_rule(const struct engine_config *config,
                                             const struct engine_zone *zone)
{
    return (struct lookup_rule){.domain_labels = zone->labels,
                                .no_wildcards = config->schema == ENGINE_SCHEMA_KUBERNETES};
}

void follow_init(struct follow *follow);
void follow_fini(struct follow *follow);

/* Starts an answer. */
void follow_start(struct follow *follow, const struct store *store,
                  const struct external_answers *externals, bool may_walk,
                  struct engine_deferral *deferral);

/* More would have to be visited than this thread may: defers the walk and returns true, unless this
 * already is the resolver thread. */
bool follow_defer_walk(struct follow *follow);
bool follow_is_walk_deferred(const struct follow *follow);

/* Adds the addresses that the records of the name `owner` give, each behind the CNAMEs that lead to
 * it. */
void follow_records(struct follow *follow, const struct lookup_span *span, struct slice owner,
                    enum follow_families families, struct rr_list *out);

/* Adds both kinds of addresses of a name, once for each name in an answer. */
void follow_target(struct follow *follow, struct slice target, struct rr_list *out);

#endif
