/* Makes the candidate names that a client's resolver would try one after another for a query.
 *
 * For www.example.com.<its namespace>.svc.<domain>, as pods have a search list in resolv.conf:
 *
 *     place 0    www.example.com.<namespace>.svc.<domain>    the query itself
 *     place 1    www.example.com.svc.<domain>
 *     place 2    www.example.com.<domain>
 *     ...        www.example.com.<each of -search>
 *     the last   www.example.com
 *
 * A place is a candidate name's position. The labels before <namespace> are the prefix.
 * search_list_try_internal.h tries the names. Pure; any thread. */
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
    PATH_SVC = 1,                                /* the candidate name below svc.<domain>, */
    PATH_DOMAIN = 2,                             /* and the one below the domain */
    PATH_FIRST_SEARCH = PATH_NAMES_FIRST_SEARCH, /* the first of -search, if there are any */
    SEARCH_LIST_PLACES_MAX = PATH_FIRST_SEARCH + ENGINE_SEARCH_MAX + 1,
};

/* A query's search list. Borrows the query and the configuration. */
struct path {
    const struct engine_config *config;
    const struct engine_query *query;
    const struct fast_query *question; /* its name in lower case, and its EDNS data */
    unsigned zone_at;                  /* index of the domain in the configuration */
    unsigned prefix_labels;            /* at least one */
    unsigned prefix_len;               /* bytes */
    struct fast_query other;           /* the same for a query that is not ordinary */
};

/* The query for another name, as if it had been parsed, without what only the end of the client's
 * response has. */
struct path_candidate {
    uint8_t wire[QUESTION_WIRE_MAX];
    struct query parsed;
};

/* Finds the search list of a query whose client is known. Returns false when the query has none.
 * Its class is not IN, no record has its type, or it is malformed. Or its name is not below <its
 * namespace>.svc.<domain>, where the domain is the longest of ours that contains it. */
bool path_find(struct path *path, const struct engine_config *config,
               const struct engine_query *query);

/* Returns how many candidate names there are. */
static inline unsigned search_list_places(const struct path *path)
{
    return PATH_FIRST_SEARCH + (unsigned)path->config->settings.search_count + 1;
}

/* Makes the candidate name at a place, with the prefix in the client's spelling. Returns false when
 * it is too long, and is skipped. */
bool path_name(const struct path *path, unsigned place, struct dname *ret_name);

/* Begins a path without candidate names, only for path_query. Returns false if the query's class is
 * not IN, or it is malformed. */
bool path_take_query(struct path *path, const struct engine_query *query);

/* Makes the client's query with this name instead. Returns its length. */
size_t path_query(const struct path *path, const struct dname *name, struct path_candidate *ret);

/* Returns the last label of the prefix, in lower case: the first one below each domain of the
 * search list. */
static inline struct slice path_top(const struct path *path)
{
    return fast_query_label(path->question, path->prefix_labels - 1);
}

#endif
