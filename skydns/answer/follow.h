/* Follows records to addresses: through CNAMEs inside the domain, and outside it through hosts
 * files, the response cache and upstreams' answers. It serves A and AAAA answers and the additional
 * section, as part of answer.c, on its thread.
 *
 * With -schema=skydns, host names among a name's records are CNAMEs beside its addresses, and shown
 * when they lead to an address. With -schema=kubernetes a name either is an alias (follow_alias) or
 * has no CNAME. */
#ifndef SKYDNS_ANSWER_FOLLOW_H
#define SKYDNS_ANSWER_FOLLOW_H

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "skydns/answer/lookup.h"
#include "skydns/answer/near.h"
#include "skydns/answer/view.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/rr.h"
#include "skydns/wire/deferral.h"

struct address_pick;
struct answer_input;
struct cache_key;
struct cache_access;
struct cached_targets;
struct override_match;

enum follow_families { FOLLOW_NONE = 0, FOLLOW_A = 1, FOLLOW_AAAA = 2, FOLLOW_BOTH = 3 };

/* Bounds what following CNAMEs and targets may visit on a walker, in addition to the records of the
 * question's name: sixteen times the records a message holds. It stops records that point to many
 * others, which point to many others. On a worker, both share ENGINE_SCAN_MAX. */
enum { FOLLOW_VISITS_MAX = 16 * RR_LIST_MAX };

/* Bounds the CNAMEs of one chain, as in SkyDNS. */
enum { FOLLOW_CHAIN_MAX = 8 };

struct follow {
    const struct engine_config *config;
    struct lookup_rule rule; /* follow_rule of the question's name */
    struct lookup *lookup;
    struct rr_list targets;        /* names already followed: only owners are set */
    struct address_pick *pick;     /* scratch */
    struct cached_targets *cached; /* targets found in the response cache */

    /* The answer being made: */
    const struct answer_input *in; /* the answer's own */
    struct view view;              /* the records, as the client sees them */
    bool may_ask;           /* RD is set; else only the response cache is used, and no upstream */
    bool may_map;           /* DNS64: synthesis_may_map */
    bool is_some;           /* the question's name has more records than were visited */
    bool is_deferred;       /* this call cannot make the answer; *deferral says why */
    bool has_failed;        /* no upstream could say what addresses a target has */
    bool is_open;           /* no upstream was asked: EXTERNAL_NOT_ASKED */
    bool is_endless;        /* a flat chain does not end after FOLLOW_CHAIN_MAX names */
    bool is_flat;           /* the question's own name is external: an alias or an override */
    uint32_t flat_ttl_s;    /* the least on the way to its addresses */
    bool is_lacking;        /* a target is in a zone that may have records that the store lacks */
    size_t far_count;       /* addresses and targets left out, since they are not near */
    unsigned unasked_count; /* CNAMEs to the first external name that no upstream was asked; */
    struct rr unasked[FOLLOW_CHAIN_MAX]; /* they are not in the answer yet */
    unsigned missed;       /* questions of the deferral that the response cache could not answer */
    uint32_t added;        /* a bit for each of the externals whose records are in the answer, */
    uint32_t added_cached; /* and of those that the cache has; */
    uint32_t added_mapped, added_cached_mapped; /* and the same of those mapped by DNS64 */
    struct buf mapped;                          /* its addresses */
    struct engine_deferral *deferral;
};

/* Returns the rule by which labels of names in the zone are read. */
static inline struct lookup_rule follow_rule(const struct engine_config *config,
                                             const struct engine_zone *zone)
{
    return (struct lookup_rule){.domain_labels = zone->labels,
                                .no_wildcards =
                                    config->settings.schema == ENGINE_SCHEMA_KUBERNETES};
}

/* Returns whether a lower-cased name in the domain, or below it in a stub zone, is hidden from the
 * client. */
bool follow_is_hidden(const struct view *view, const struct engine_zone *domain,
                      const struct dname *name);

void follow_init(struct follow *follow, const struct answer_input *in); /* borrowed */
void follow_fini(struct follow *follow);

/* Starts an answer. The caller sets the fields of the answer up to may_map, and the deferral. */
void follow_start(struct follow *follow);

/* Ends an answer: counts cache hits and misses, and asks for a target's refresh if one needs it. */
void follow_end(struct follow *follow);

/* Returns how many records this thread may visit. */
size_t follow_visits(const struct follow *follow);

/* Defers the subtree scan and returns true when a lookup exceeds the visits of this thread. Returns
 * false on a walker, which may scan. */
bool follow_defer_scan(struct follow *follow);
bool follow_is_scan_deferred(const struct follow *follow);

/* Returns the record that makes a lower-cased name of the zone an alias, or NULL. With
 * -schema=skydns it is always NULL. Pure. */
const struct store_record *follow_alias(const struct view *view, const struct engine_zone *zone,
                                        const struct dname *name);

/* Says how DNS64 answers a question about AAAA of a lower-cased external name. */
enum follow_mapped {
    FOLLOW_AS_IS,    /* nothing is added: the upstream's answer about AAAA counts as it is */
    FOLLOW_MAPPED,   /* all addresses are added, perhaps none; has_failed: they are not known */
    FOLLOW_DEFERRED, /* the upstream is to be asked for more: *deferral */
};
/* Adds DNS64's answer. `key`: the client's question; `zone`: whose upstreams are responsible;
 * `name`: the client's spelling. */
enum follow_mapped follow_mapped(struct follow *follow, const struct forward_zone *zone,
                                 const struct cache_key *key, struct slice name,
                                 struct rr_list *out);

/* Adds the upstreams' answer about an external name, or defers to ask them. `name` has the record's
 * spelling. */
void follow_outside(struct follow *follow, const struct dname *lower, struct slice name,
                    enum follow_families families, struct rr_list *out);

/* Adds the addresses that an alias or an override gives, all owned by `name`, without CNAMEs.
 * Returns false if it has none of these families: then the upstream answers. */
bool follow_flat(struct follow *follow, const struct override_match *match, struct slice name,
                 enum follow_families families, struct rr_list *out) MUST_CHECK;

/* Adds the addresses of records, all owned by `owner`, without CNAMEs. */
void follow_flat_records(struct follow *follow, const struct lookup_span *span, struct slice owner,
                         enum follow_families families, struct rr_list *out);

/* Finds what is near the client of a lower-cased name's records; and keeps only these of a name's
 * span, which must be the last one. */
struct near follow_near(const struct follow *follow, const struct dname *name);
void follow_keep_near(struct follow *follow, const struct dname *name, struct lookup_span *span);

/* Adds the addresses of a name with more than its node has prepared (store_ready.h), as far as the
 * response may hold them; `node` is that of the lower-cased name. Returns false, and adds nothing,
 * if that takes all records. */
bool follow_many(struct follow *follow, const struct store_node *node, const struct dname *name,
                 struct slice owner, enum follow_families families, struct rr_list *out) MUST_CHECK;

/* Adds the addresses that the records of `owner` give, each after the CNAMEs that lead to it. Marks
 * the list as cut if an upstream could give only some of a target's addresses. */
void follow_records(struct follow *follow, const struct lookup_span *span, struct slice owner,
                    enum follow_families families, struct rr_list *out);

/* Adds the CNAMEs to an external name that no upstream was asked about: RD is clear, or there is no
 * upstream. For an answer without addresses. */
void follow_show_unasked(struct follow *follow, struct rr_list *out);

/* Adds the addresses of both families of a name, once per name in an answer. It adds none of an
 * external target if an upstream could give only some. */
void follow_target(struct follow *follow, struct slice target, struct rr_list *out);

#endif
