/* The records that a name stands for, as SkyDNS read them from etcd: the key of the name and every
 * key below it, except below labels that start with `_`, which a listing hides:
 *
 *     web.default.svc.cluster.local         .../default/web/c88f1059, not .../web/_tcp/_http/...
 *     _http._tcp.web.default.svc...         .../web/_tcp/_http/c88f1059: named, so not hidden
 *     web.*.svc.cluster.local               .../svc/default/web/..., .../svc/other/web/...
 *
 * A label `*` or `any` matches any one label. The labels to the right of the rightmost wildcard
 * name what is listed, the others select from the listing: there, a label `_tcp` is hidden even
 * when named.
 *
 * A label with a dot in it matches no key, though a key may have one: it would be two labels.
 *
 * Records come in key order, label by label from the root, and a record whose data equals an
 * earlier one's is left out; so the same store always gives the same answer.
 *
 * Lookups nest (a record's target is looked up while its siblings wait), so the results are a
 * stack: the last lookup is released first. One per engine; that engine's thread only. */
#ifndef SKYDNS_ANSWER_LOOKUP_H
#define SKYDNS_ANSWER_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/answer/view.h"
#include "skydns/records/store.h"

/* The most records one lookup returns, whatever it may visit: more than the million endpoints and
 * 100,000 services that a cluster is planned for, and 64 MiB of memory, which the engine keeps. */
enum { LOOKUP_RECORDS_MAX = 4 * 1024 * 1024 };

enum lookup_result {
    LOOKUP_FOUND,  /* the name exists; perhaps with no visible record */
    LOOKUP_ABSENT, /* neither the name nor anything below it exists */
    LOOKUP_LIMIT,  /* it needs more visits than allowed; no records */
};

/* Where a lookup's records are on the stack. */
struct lookup_span {
    size_t first;
    size_t count;
};

struct lookup;

/* Reserves room for `capacity` records, and more when needed. */
struct lookup *lookup_new(size_t capacity);
void skydns_lookup_free(struct lookup *lookup);

/* Starts an answer: releases all lookups. */
void lookup_start(struct lookup *lookup);

/* After lookup_start, on a walker: asks every thousand visits whether this takes too long, which
 * then ends in LOOKUP_LIMIT (is_late NULL: never), and keeps finished walks that a worker may not
 * make (scan_cache_internal.h). */
void lookup_be_walker(struct lookup *lookup, bool (*is_late)(void *data), void *data);

/* Whether this answer took too long: what it has is incomplete. */
bool lookup_is_late(const struct lookup *lookup);

/* How much the following lookups may visit in total: each lookup, each record and each label tried
 * against a wildcard or as a protocol or port counts one. */
void lookup_allow(struct lookup *lookup, size_t visits);

/* The same, but when they are used up, a lookup returns the records found so far, in no order,
 * beginning elsewhere for each `from`. */
void lookup_allow_some(struct lookup *lookup, size_t visits, uint32_t from);

size_t lookup_visits_left(const struct lookup *lookup);

/* A label that matches any label, unless the rule says otherwise. */
static inline bool lookup_is_wildcard(struct slice label)
{
    return label.len == 1 ? label.ptr[0] == '*'
                          : label.len == 3 && memcmp(label.ptr, "any", 3) == 0;
}

/* How a name's labels are read. */
struct lookup_rule {
    unsigned domain_labels; /* the last ones, which are always literal */
    bool no_wildcards;      /* the others are literal, too */
};

/* The node of a lower-cased name whose records lookup_find would return all; NULL: there is none, a
 * wildcard selects among them, or some may be hidden from the client. */
const struct store_node *lookup_node(const struct view *view, const struct dname *name,
                                     struct lookup_rule rule);

/* The node whose records are listed, and then selected from; NULL: the name does not exist, or some
 * of them may be hidden from the client. */
const struct store_node *lookup_listed(const struct view *view, const struct dname *name,
                                       struct lookup_rule rule);

/* Whether the client may not see a lower-cased name, be there records or not. */
bool lookup_is_hidden(const struct view *view, const struct dname *name, struct lookup_rule rule);

/* Whether a name exists, as lookup_find would say: costs a visit for each name that must be tried,
 * which is none where nothing can be hidden. */
enum lookup_result lookup_exists(struct lookup *lookup, const struct view *view,
                                 const struct dname *name, struct lookup_rule rule) MUST_CHECK;

/* `name` is lower case. */
enum lookup_result lookup_find(struct lookup *lookup, const struct view *view,
                               const struct dname *name, struct lookup_rule rule,
                               struct lookup_span *ret_span) MUST_CHECK;

/* The records of a service's named ports, below _<protocol> and _<port> under its name: FOUND
 * without records when the name exists but has none. */
enum lookup_result lookup_find_ports(struct lookup *lookup, const struct view *view,
                                     const struct dname *name,
                                     struct lookup_span *ret_span) MUST_CHECK;

/* The node of a lower-cased name without wildcards; false: there is none. */
bool lookup_find_literal(const struct view *view, const struct dname *name,
                         struct view_node *ret_node);

/* The record of exactly this name, or NULL; a wildcard is a label like any other. */
const struct store_record *lookup_exact(const struct view *view, const struct dname *name);

/* Under -schema=kubernetes, where a name has one truth: the record that makes the name an alias, a
 * CNAME and nothing else but its texts, or NULL. That is the record of exactly this name if its
 * host is a name; for a name without a record of its own, the first of at most STORE_READY_MAX
 * records below it, provided that all of them are nothing but host names and texts. Ends at the
 * first record that is more. */
const struct store_record *lookup_alias(const struct view *view, const struct dname *name);

/* Keeps the records of one group and those without a group, as SkyDNS did: the group of the record
 * closest to the root. Keeps all records if that one has no group or the closest disagree. */
void lookup_keep_group(struct lookup *lookup, struct lookup_span *span);

/* The i-th record of a span; owned by the store. */
const struct store_record *lookup_record(const struct lookup *lookup,
                                         const struct lookup_span *span, size_t i);

void lookup_release(struct lookup *lookup, const struct lookup_span *span);

#endif
