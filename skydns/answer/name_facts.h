/* Tells what the answer code says of names, for proofs of denials: whether a name exists, and which
 * types it has.
 *
 * It calls answer_build itself, like a client with the same view, so that the two never disagree.
 * It uses neither externals nor the response cache. One per engine, on that engine's thread. */
#ifndef SKYDNS_ANSWER_NAME_FACTS_H
#define SKYDNS_ANSWER_NAME_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/answer/answer.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/rr.h"

enum name_fact {
    NAME_FACT_NO,
    NAME_FACT_YES,
    NAME_FACT_SCAN,    /* too many records for this thread: ENGINE_DEFER_SCAN */
    NAME_FACT_UNKNOWN, /* SERVFAIL */
};

/* The types that names answer. CNAME is listed alone or beside TXT. */
enum {
#define NAME_FACT_AT(name, number, shape, answer, text) NAME_FACT_AT_##name,
    RR_TYPES(NAME_FACT_AT)
#undef NAME_FACT_AT
        NAME_FACT_TYPES,
    NAME_FACT_TYPES_MAX = NAME_FACT_TYPES + ANSWER_OTHER_TYPES_MAX,
};

struct name_facts;

struct name_facts *name_facts_new(const struct engine_config *config); /* borrowed */
void name_facts_free(struct name_facts *facts);                        /* NULL is fine */
void name_facts_configure(struct name_facts *facts, const struct engine_config *config);

/* Takes the input that answers a client's query, with its view and limits. Borrowed until the next
 * call. */
void name_facts_begin(struct name_facts *facts, const struct answer_input *input);

enum name_fact name_facts_exists(struct name_facts *facts, const struct dname *name);

/* Sets the types that a lower-cased name answers. NAME_FACT_YES: *ret_count of them. With
 * -schema=kubernetes, an alias has CNAME alone. */
enum name_fact name_facts_types(struct name_facts *facts, const struct dname *name,
                                uint16_t ret_types[NAME_FACT_TYPES_MAX], size_t *ret_count);

/* Returns whether the first record's owner has exactly these records of its type, as its own answer
 * has them; `next` links them, ending with NAME_FACTS_END. Returns false also if that is not known,
 * or if they do not fit a small response. */
enum { NAME_FACTS_END = UINT16_MAX };
bool name_facts_has_just(struct name_facts *facts, const struct rr *rrs, uint16_t first,
                         const uint16_t *next, size_t count);

#endif
