/* Shares an explanation in the making: explain.c asks what the answer is, explain_name.c what
 * became of each key. Main thread. */
#ifndef SKYDNS_PAGES_EXPLAIN_INTERNAL_H
#define SKYDNS_PAGES_EXPLAIN_INTERNAL_H

#include "skydns/answer/lookup.h"
#include "skydns/pages/explain.h"

struct explainer {
    struct explainer_sources sources;
    struct answer *answer;
    struct answer *probe; /* of similar names; leaves the plan of `answer` as it is */
    struct lookup *lookup;
    struct engine_deferral deferral;
    struct explain_external externals[ENGINE_EXTERNAL_MAX];
    uint8_t message[DNS_MESSAGE_MAX]; /* of the question's cached records */
    uint8_t scratch[DNS_MESSAGE_MAX]; /* of external targets */
    struct explain_name names[EXPLAIN_NAMES_MAX];
    struct signed_set_shown signed_sets[SIGNED_SETS_SHOWN_MAX];
    struct explanation result;

    /* State of the current explanation. */
    const struct explain_past *past; /* NULL: the present */
    const struct store *store;
    const struct engine_config *config;
    struct view view; /* of the records, as the client sees them */
    bool may_scan;
    unsigned scan_steps; /* of a thousand records each, that it may still take */
};

/* Searches at this name, which becomes the question's. */
enum explain_outcome explain_try(struct explainer *e, const struct dname *name);

/* Fills in the search list of the name asked for; `text` is what the user wrote. */
void explain_search(struct explainer *e, const char *text);

/* Finds names that may be meant instead of this one and resolve to records of the type. */
size_t explain_similar(struct explainer *e, const struct dname *name, uint16_t type,
                       struct dname near[EXPLAIN_NEAR_MAX]);

/* Adds a name that the answer depends on; once. */
void explain_name_add(struct explainer *e, const struct dname *name,
                      const struct store_record *from, bool is_asked);

/* Explains all names that were added, and those that they lead to. */
void explain_name_all(struct explainer *e);

#endif
