/* Reads responses about external names from the response cache, on the thread that received the
 * query. It decides which client may have one, writes its bytes, and counts it. The response cache
 * itself is in skydns/external/cache.h.
 *
 * The fast path, the slow path and the first response to a question all end here, so that they say
 * the same. One per engine, on that engine's thread. No allocation, no lock, no system call. */
#ifndef SKYDNS_ANSWER_CACHE_ACCESS_H
#define SKYDNS_ANSWER_CACHE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/external/cache.h"
#include "skydns/publish/engine_config.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

struct cache_image;

struct cache_access {
    const struct engine_config *config;
    struct cache_counts *counts; /* this thread's */
    size_t allowed_last;  /* index in config->allowed of the last client's network: mostly the next
                           * client's, too */
    struct cache_key key; /* scratch */
};

/* Borrow the configuration until the next call of cache_access_configure. */
void cache_access_init(struct cache_access *access, const struct engine_config *config);
void cache_access_configure(struct cache_access *access, const struct engine_config *config);

/* Returns whether the published networks allow the client questions about external names. The
 * resolver decides for clients in none of them. */
bool cache_access_allows(struct cache_access *access, const struct addr *client);

/* Writes the cached response to the query, which has been parsed; `deferral` says whether the entry
 * is to be refreshed. Returns false when there is nothing usable now. */
bool cache_access_reply(struct cache_access *access, const struct engine_query *query,
                        const struct cache_key *key, struct response *response,
                        struct engine_deferral *deferral);

/* Writes the first response, from the image that is about to be cached. */
void cache_access_first(const struct cache_access *access, const struct engine_query *query,
                        const struct cache_key *key, const struct cache_image *image,
                        struct response *response);

/* Counts a cache miss: the client's question is not answered here. */
void cache_access_miss(struct cache_access *access, const struct engine_query *query);

/* Returns whether a stale answer or a cached failure is to be used now. */
bool cached_is_usable(const struct cache_hit *hit, const struct engine_query *query);

/* ---- Targets ----
 *
 * Looks up external names that CNAME, SRV and MX records point to in the response cache. So the
 * thread that received a query answers it when all of its targets are cached. Part of
 * follow_external.c, on its thread.
 *
 * One per engine. An answer's items and what they borrow are valid until the next start. Only
 * cached_targets_init allocates. */

struct cached_targets {
    uint8_t *message; /* scratch: a question, which the cached names point into, and the records */
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

/* Counts the cache hits of an answer that is sent. */
void cached_targets_count(const struct cached_targets *targets, struct cache_access *access);

/* Asks for the refresh of one cached target, if one needs it. */
void cached_targets_refresh(const struct cached_targets *targets, struct engine_deferral *deferral);

#endif
