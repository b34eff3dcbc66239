/* Targets outside the domain (of CNAME, SRV and MX records) from the cache, so that the thread that
 * received a query answers it when all of its targets are kept: part of follow.c, on its thread.
 * One per engine; an answer's items and what they borrow are valid until the next start. Nothing
 * allocates but kept_targets_init. */
#ifndef SKYDNS_ANSWER_KEPT_TARGETS_INTERNAL_H
#define SKYDNS_ANSWER_KEPT_TARGETS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/kept_access.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/external_answer.h"

struct kept_targets {
    uint8_t
        *message; /* scratch: the question that a kept reply's names point into, and the reply */
    struct buf packed;
    /* Of the answer being made. */
    size_t count;
    struct external_answer items[ENGINE_EXTERNAL_MAX];
    struct cache_hit hits[ENGINE_EXTERNAL_MAX]; /* in the same order */
};

void kept_targets_init(struct kept_targets *targets);
void kept_targets_fini(struct kept_targets *targets);

/* Starts an answer. */
void kept_targets_start(struct kept_targets *targets);

/* What is kept of this question about a lower-cased name, or NULL: nothing that may be used for
 * this query. Reads the cache once for each question of an answer. Records that would not fit
 * `reply_limit` by themselves are left out: TRUNCATED. */
const struct external_answer *kept_targets_find(
    struct kept_targets *targets, struct kept_access *access, const struct engine_query *query,
    const struct foreign_zone *zone, const struct external_question *question, size_t reply_limit);

/* The answer is sent: counts what it used. */
void kept_targets_count(const struct kept_targets *targets, struct kept_access *access);

/* Asks for one of them to be refreshed, if one should be. */
void kept_targets_refresh(const struct kept_targets *targets, struct engine_deferral *deferral);

#endif
