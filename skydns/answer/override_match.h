/* Finds what -alias and -overrides have for an external name. A record whose host is hidden from
 * the client counts as absent. Called by answer_override.c and follow_override.c; on the engine's
 * thread. */
#ifndef SKYDNS_ANSWER_OVERRIDE_MATCH_H
#define SKYDNS_ANSWER_OVERRIDE_MATCH_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "skydns/answer/follow.h"
#include "skydns/answer/lookup.h"

struct override_match {
    bool is_alias;
    struct dname target;           /* the alias's */
    struct lookup_span span;       /* the override's records, also hidden ones */
    enum follow_families families; /* answered here even if there is no address */
    bool is_deferred;              /* it has more records than this thread may visit */
};

/* Returns whether there are aliases or overrides at all. */
static inline bool override_may_match(const struct engine_config *config, const struct store *store)
{
    return !config->is_for_transfers &&
           (config->settings.alias_count > 0 || (store && store_overrides(store)));
}

/* Finds the alias of a lower-cased external name. Returns false if there is none, or it leads to a
 * name hidden from the client. */
bool override_match_alias(struct follow *f, const struct dname *name,
                          struct override_match *ret_match) MUST_CHECK;

/* Finds the override's records; after true, override_match_end releases them. Returns false if the
 * client may see none, or if only a wildcard matches and a stub zone has the name. */
bool override_match_records(struct follow *f, const struct dname *name,
                            struct override_match *ret_match) MUST_CHECK;
void override_match_end(struct follow *f, const struct override_match *match);

/* Returns whether the client may see the record: its host is not hidden. */
bool override_shows(const struct follow *f, const struct store_record *record);

#endif
