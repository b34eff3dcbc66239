/* The names that a client's resolver would try one after another for a query.
 *
 * For www.example.com.<its namespace>.svc.<domain>, as pods have a search list in resolv.conf:
 *
 *     place 0    www.example.com.<namespace>.svc.<domain>    the query itself
 *     place 1    www.example.com.svc.<domain>
 *     place 2    www.example.com.<domain>
 *     ...        www.example.com.<each of -search>
 *     the last   www.example.com
 *
 * What is before <namespace> is the prefix. search_list_try_internal.h tries them. Pure; any
 * thread. */
#ifndef SKYDNS_ENGINE_SEARCH_LIST_INTERNAL_H
#define SKYDNS_ENGINE_SEARCH_LIST_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/clients/client_index.h"
#include "skydns/engine/search_list.h"
#include "skydns/publish/engine_config.h"
#include "skydns/wire/query.h"
#include "skydns/wire/query_parse.h"

enum {
    PATH_SVC = 1,                                /* the place below svc.<domain>, */
    PATH_DOMAIN = 2,                             /* and the one below the domain */
    PATH_FIRST_SEARCH = PATH_NAMES_FIRST_SEARCH, /* of -search, if there are any */
    SEARCH_LIST_PLACES_MAX = PATH_FIRST_SEARCH + ENGINE_SEARCH_MAX + 1,
};

/* Borrows the query and the configuration. */
struct path {
    const struct engine_config *config;
    const struct engine_query *query;
    const struct fast_query *question; /* its name in lower case, and what EDNS says */
    unsigned zone_at;                  /* of the configuration: the domain */
    unsigned prefix_labels;            /* at least one */
    unsigned prefix_len;               /* bytes */
    struct fast_query other;           /* the same of a query that is not ordinary */
};

/* The query for another name, as if it had been read: without what only the end of the client's
 * response has. */
struct path_candidate {
    uint8_t wire[QUESTION_WIRE_MAX];
    struct query parsed;
};

/* False: the query, whose client is known, has no search path. It is not usual (a class other than
 * IN, a type that no record has, a message that makes no sense), or not about a name below <its
 * namespace>.svc.<domain>, where the domain is the longest of ours that has the name. */
bool path_find(struct path *path, const struct engine_config *config,
               const struct engine_query *query);

/* How many places it has. */
static inline unsigned search_list_places(const struct path *path)
{
    return PATH_FIRST_SEARCH + (unsigned)path->config->settings.search_count + 1;
}

/* The name at a place, its prefix as the client spells it. False: it is too long, and is skipped.
 */
bool path_name(const struct path *path, unsigned place, struct dname *ret_name);

/* Begins one that has no places but for path_query. False: the query is no question of class IN. */
bool path_take_query(struct path *path, const struct engine_query *query);

/* The client's query with this name instead; returns its length. */
size_t path_query(const struct path *path, const struct dname *name, struct path_candidate *ret);

/* The last label of the prefix, in lower case: the first one below each name of the search list. */
static inline struct slice path_top(const struct path *path)
{
    return fast_query_label(path->question, path->prefix_labels - 1);
}

#endif
