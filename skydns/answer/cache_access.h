/* Replies about other domains from the cache (skydns/external/cache.h), on the thread that received
 * the query: who may have one, its bytes, and what is counted. The fast path, the slow path and the
 * first reply to a question end here, so that they say the same. One per engine; that engine's
 * thread only. No allocation, no lock, no system call. */
#ifndef SKYDNS_ANSWER_CACHE_ACCESS_H
#define SKYDNS_ANSWER_CACHE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/external/cache.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/query.h"
#include "skydns/wire/question.h"
#include "skydns/wire/response.h"

struct cache_image;

struct cache_access {
    const struct engine_config *config;
    struct cache_counts *counts; /* this thread's */
    size_t allowed_last;         /* of config->allowed, the last client's: the next one's, mostly */
    struct cache_key key;        /* scratch */
};

/* The configuration is borrowed until the next call of cache_access_configure. */
void cache_access_init(struct cache_access *access, const struct engine_config *config);
void cache_access_configure(struct cache_access *access, const struct engine_config *config);

/* Whether the published networks say that the client's questions about other domains may be
 * answered; the resolver decides about those that they do not contain. */
bool cache_access_allows(struct cache_access *access, const struct addr *client);

/* The response to the query, which has been read, of what is kept; `deferral` says whether that is
 * to be refreshed. False: there is nothing that may be used now. */
bool cache_access_reply(struct cache_access *access, const struct engine_query *query,
                        const struct cache_key *key, struct response *response,
                        struct engine_deferral *deferral);

/* Likewise the first response, of what is kept. */
void cache_access_first(const struct cache_access *access, const struct engine_query *query,
                        const struct cache_key *key, const struct cache_image *image,
                        struct response *response);

/* A client's question is not answered here. */
void cache_access_miss(struct cache_access *access, const struct engine_query *query);

/* Whether an expired or failed question is answered from the cache now. */
bool cached_is_usable(const struct cache_hit *hit, const struct engine_query *query);

/* ---- Targets ----
 *
 * Names outside the domain that CNAME, SRV and MX records point to, from the cache, so that the
 * thread that received a query answers it when all of its targets are kept: part of follow.c, on
 * its thread. One per engine; an answer's items and what they borrow are valid until the next
 * start. Nothing allocates but cached_targets_init. */

struct cached_targets {
    uint8_t
        *message; /* scratch: the question that a kept reply's names point into, and the reply */
    struct buf packed;
    /* The answer being made: */
    size_t count;
    struct external_answer items[ENGINE_EXTERNAL_MAX];
    struct cache_hit hits[ENGINE_EXTERNAL_MAX]; /* in the same order, like the next */
    bool dnssec_ok[ENGINE_EXTERNAL_MAX], checking_disabled[ENGINE_EXTERNAL_MAX]; /* as asked */
};

void cached_targets_init(struct cached_targets *targets);
void cached_targets_fini(struct cached_targets *targets);

/* Starts an answer. */
void cached_targets_start(struct cached_targets *targets);

/* Finds the cached answer to this question about a lower-cased name, as `key` has it. NULL: none
 * may be used for this query. Reads the cache once for each question of an answer. Records that
 * would not fit `reply_limit` by themselves are left out: TRUNCATED. */
const struct external_answer *cached_targets_find(struct cached_targets *targets,
                                                  struct cache_access *access,
                                                  const struct engine_query *query,
                                                  const struct cache_key *key, size_t reply_limit);

/* The answer is sent: counts what it used. */
void cached_targets_count(const struct cached_targets *targets, struct cache_access *access);

/* Asks for one of them to be refreshed, if one should be. */
void cached_targets_refresh(const struct cached_targets *targets, struct engine_deferral *deferral);

#endif
