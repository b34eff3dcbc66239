/* Finds the domain and the node of a fast-path question's name, and the action for it.
 *
 * This is the second step of the fast path: the domain, the lookup from there to the name's node,
 * and the action (plain_names.h). For an external name it makes the response cache's key instead.
 * One set of domains per engine, on that engine's thread. It allocates nothing. */
#ifndef SKYDNS_FAST_FAST_NAMES_INTERNAL_H
#define SKYDNS_FAST_FAST_NAMES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/view.h"
#include "skydns/external/cache.h"
#include "skydns/fast/plain_names.h"
#include "skydns/fast/soa_template_internal.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store_scan.h"
#include "skydns/wire/query_parse.h"

/* The prepared parts of a domain. */
struct fast_zone {
    const struct engine_zone *zone;
    struct soa_templates soas;
    struct plain_names plain;
    const struct store_node *node; /* the domain's node in the version in use; may be NULL */
    bool has_stubs_below;          /* some of its names are forwarded to upstreams */
    bool has_zones_below;          /* stub zones, or domains of ours */
};

struct fast_zones {
    const struct engine_config *config;
    bool has_cached;    /* external names may be cached, and some client may have them */
    uint16_t slow_type; /* of names of other domains: begin_ipv6; ANY is the slow path's anyway */
    struct soa_template root_soa;  /* of -no-aaaa, */
    struct slice root_soa_ends[2]; /* for names that do not end with these labels */
    bool has_pointers;             /* reverse names are answered from the store */
    bool is_nested;   /* domains contain others, or reverse names: view_part_of looks at all */
    bool has_aliases; /* of other domains' names */
    const struct store *overrides; /* of the store in use; may be NULL */
    bool has_rrs;                  /* records in the store in use have further types */
    uint64_t serial;               /* serial of the version whose nodes are known; 0: none */
    size_t count;
    const struct store_node *arpa; /* of reverse names in the version in use; may be NULL */
    struct fast_zone zones[ENGINE_ZONES_MAX];
};

/* The source that may have the fast path's answer. */
enum fast_source {
    FAST_NOWHERE,
    FAST_STORE,
    FAST_CACHE,
    FAST_NO_AAAA, /* nowhere else: no data, says -no-aaaa */
    FAST_OVERRIDE,
};

/* A question being answered. The lookup points into `query`, which is borrowed. */
struct fast_question {
    enum fast_source source;
    enum plain_kind kind;           /* for names in a zone */
    const struct fast_query *query; /* unset for FAST_NOWHERE */
    const struct fast_zone *zone;   /* NULL: a reverse name */
    struct store_scan scan;
    struct cache_key key; /* for external names */
};

/* Switches to another configuration, borrowed until the next one; borrows the encoder for the call.
 */
void fast_zones_configure(struct fast_zones *zones, const struct engine_config *config,
                          struct encoder *encoder);

/* Sets the version that answers the next questions. */
void fast_zones_use(struct fast_zones *zones, const struct store *store);

/* Returns the longest domain that contains a lower-cased name. NULL: it is an external name. */
const struct fast_zone *fast_zones_find(const struct fast_zones *zones,
                                        const struct fast_query *query);

/* Begins the lookup of the query's name, or makes its key, if the fast path may have the answer.
 * Borrows the query; NULL: it is not ordinary. */
void fast_question_begin(const struct fast_zones *zones, const struct fast_query *query,
                         struct fast_question *question);

/* Begins the lookup of the name of `query`, which is in the zone. */
void fast_scan_begin(const struct fast_zone *zone, const struct fast_query *query,
                     struct store_scan *scan);

/* Returns view_part_of's result for a client from which something is hidden. VIEW_SPACES and
 * VIEW_SOME leave the name to the slow path. */
enum view_part fast_name_part(const struct fast_zones *zones, const struct fast_zone *zone,
                              const struct fast_query *query, const struct client_view *client);

/* Returns the action for a question of this kind about a name of the zone. `node` is the name's, or
 * NULL. */
enum plain_action fast_name_action(const struct fast_zones *zones, const struct fast_zone *zone,
                                   const struct fast_query *query, enum plain_kind kind,
                                   const struct store_node *node);

#endif
