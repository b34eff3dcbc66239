/* Finds the records that a name stands for, as SkyDNS read them from etcd: the key of the name and
 * every key below it, except below labels that start with `_`, which a listing hides:
 *
 *     web.default.svc.cluster.local         .../default/web/c88f1059, not .../web/_tcp/_http/...
 *     _http._tcp.web.default.svc...         .../web/_tcp/_http/c88f1059: named, so not hidden
 *     web.*.svc.cluster.local               .../svc/default/web/..., .../svc/other/web/...
 *
 * A label `*` or `any` matches any one label. The labels to the right of the rightmost wildcard
 * name what is listed; the others select from the listing. There, a label `_tcp` is hidden even
 * when named. A label with a dot in it matches no key: a key has it as two labels.
 *
 * Records come in key order, label by label from the root, without those whose data equals an
 * earlier one's. So the same record store always gives the same answer.
 *
 * Lookups nest: a record's target is looked up before its siblings. Results are therefore a stack,
 * and the last lookup is released first. One per engine, on that engine's thread. */
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

/* Bounds the records that one lookup returns, whatever it may visit: more than the million
 * endpoints and 100,000 services of the largest planned cluster. The engine keeps their 64 MiB of
 * memory. */
enum { LOOKUP_RECORDS_MAX = 4 * 1024 * 1024 };

enum lookup_result {
    LOOKUP_FOUND,  /* the name exists; perhaps with no visible record */
    LOOKUP_ABSENT, /* neither the name nor anything below it exists */
    LOOKUP_LIMIT,  /* it needs more visits than allowed; there are no records */
};

/* Locates a lookup's records on the stack. */
struct lookup_span {
    size_t first;
    size_t count;
};

struct lookup;
struct near;

/* Reserves room for `capacity` records, and grows when needed. */
struct lookup *lookup_new(size_t capacity);
void lookup_free(struct lookup *lookup);

/* Starts an answer: releases all lookups. */
void lookup_start(struct lookup *lookup);

/* Makes this answer a walker's, after lookup_start. It calls is_late every thousand visits (NULL:
 * never) and ends in LOOKUP_LIMIT once that is true. It caches finished scans that a worker may not
 * make (scan_cache_internal.h). */
void lookup_be_walker(struct lookup *lookup, bool (*is_late)(void *data), void *data);

/* Returns whether this answer took too long: its records are incomplete. */
bool lookup_is_late(const struct lookup *lookup);

/* Allows the following lookups so many visits in total. Each lookup, each record, and each label
 * tried against a wildcard or as a protocol or port counts one. */
void lookup_allow(struct lookup *lookup, size_t visits);

/* Does the same, but when the visits are used up, a lookup returns the records found so far, in no
 * order. They begin elsewhere for each `from`. */
void lookup_allow_some(struct lookup *lookup, size_t visits, uint32_t from);

/* Returns how many visits are left. */
size_t lookup_visits_left(const struct lookup *lookup);

/* Returns whether the label matches any label, unless the rule says otherwise. */
static inline bool lookup_is_wildcard(struct slice label)
{
    return label.len == 1 ? label.ptr[0] == '*'
                          : label.len == 3 && memcmp(label.ptr, "any", 3) == 0;
}

/* Says how a name's labels are read. */
struct lookup_rule {
    unsigned domain_labels; /* the last labels, which are always literal */
    bool no_wildcards;      /* the others are literal, too */
};

/* Returns the node of a lower-cased name, all of whose records lookup_find would return. NULL:
 * there is none, a wildcard selects among them, or some may be hidden from the client. */
const struct store_node *lookup_node(const struct view *view, const struct dname *name,
                                     struct lookup_rule rule);

/* Returns the name whose listing a lower-cased name selects from: the labels right of its rightmost
 * wildcard, or itself. */
struct dname lookup_listed_name(const struct dname *name, struct lookup_rule rule);

/* Returns the node whose records are listed, and then selected from. NULL: the name does not exist,
 * or some of them may be hidden from the client. */
const struct store_node *lookup_listed(const struct view *view, const struct dname *name,
                                       struct lookup_rule rule);

/* Returns whether a lower-cased name is hidden from the client, whether or not it has records. */
bool lookup_is_hidden(const struct view *view, const struct dname *name, struct lookup_rule rule);

/* Returns whether a name exists, as lookup_find would say. It costs a visit for each name tried,
 * which is none if nothing can be hidden. */
enum lookup_result lookup_exists(struct lookup *lookup, const struct view *view,
                                 const struct dname *name, struct lookup_rule rule) MUST_CHECK;

/* Finds the records of a lower-cased name. */
enum lookup_result lookup_find(struct lookup *lookup, const struct view *view,
                               const struct dname *name, struct lookup_rule rule,
                               struct lookup_span *ret_span) MUST_CHECK;

/* Finds the records of a service's named ports, below _<protocol> and _<port> under its name.
 * LOOKUP_FOUND without records: the name exists but has none. */
enum lookup_result lookup_find_ports(struct lookup *lookup, const struct view *view,
                                     const struct dname *name,
                                     struct lookup_span *ret_span) MUST_CHECK;

/* Finds the node of a lower-cased name without wildcards. Returns false when there is none. */
bool lookup_find_literal(const struct view *view, const struct dname *name,
                         struct view_node *ret_node);

/* Returns the record of exactly this name, or NULL; a wildcard is a label like any other. */
const struct store_record *lookup_exact(const struct view *view, const struct dname *name);

/* Returns the record that makes a name an alias under -schema=kubernetes, a CNAME and nothing else
 * but its texts; or NULL.
 *
 * It is the record of exactly this name if its host is a name. A name without a record of its own
 * may have at most STORE_READY_MAX records below, all just host names and texts: then it is the
 * first of them. The search ends at the first record that is more. */
const struct store_record *lookup_alias(const struct view *view, const struct dname *name);

/* Keeps the records of one group and those without a group, as SkyDNS did: the group of the record
 * closest to the root. Keeps all records if that one has no group or the closest disagree. */
void lookup_keep_group(struct lookup *lookup, struct lookup_span *span);

/* Keeps the records that are near the client, of each kind that has any (near.c). Returns how many
 * it drops. */
size_t lookup_keep_near(struct lookup *lookup, const struct near *near, struct lookup_span *span);

/* Returns the i-th record of a span, which the store owns. */
const struct store_record *lookup_record(const struct lookup *lookup,
                                         const struct lookup_span *span, size_t i);

/* Releases a span, which must be the last one that is not released. */
void lookup_release(struct lookup *lookup, const struct lookup_span *span);

#endif
