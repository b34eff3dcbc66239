/* Finds what -alias and -overrides have for an external name and a client. A record whose
 * host the client may not see is as if it were not there. For answer_override.c and
 * follow_override.c; on the engine's thread. */
#ifndef SKYDNS_ANSWER_OVERRIDE_MATCH_H
#define SKYDNS_ANSWER_OVERRIDE_MATCH_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "skydns/answer/follow.h"
#include "skydns/answer/lookup.h"

struct override_match {
    bool is_alias;
    struct dname target;           /* of an alias */
    struct lookup_span span;       /* of an override: its records, also hidden ones */
    enum follow_families families; /* that it answers, with addresses or without */
    bool is_deferred;              /* more records than this thread may visit, or than it could */
};

/* Whether any name can be one: false costs nothing more. */
static inline bool override_may_match(const struct engine_config *config, const struct store *store)
{
    return !config->is_for_transfers &&
           (config->settings.alias_count > 0 || (store && store_overrides(store)));
}

/* Finds the alias of a lower-cased external name. False: it is none, or leads to a hidden name. */
bool override_match_alias(struct follow *f, const struct dname *name,
                          struct override_match *ret_match) MUST_CHECK;

/* Finds the records; after true, override_match_end releases them. False: there are none that the
 * client sees, or a stub zone has the name rather than a wildcard. */
bool override_match_records(struct follow *f, const struct dname *name,
                            struct override_match *ret_match) MUST_CHECK;
void override_match_end(struct follow *f, const struct override_match *match);

/* Whether the client may see where one of its records leads. */
bool override_shows(const struct follow *f, const struct store_record *record);

#endif
