#include "skydns/answer/lookup.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "skydns/answer/lookup_internal.h"
#include "skydns/records/hash.h"
#include "skydns/records/store_ready.h"
#include "skydns/wire/deferral.h"

struct lookup *lookup_new(size_t capacity)
{
    struct lookup *l = xcalloc(1, sizeof(*l));
    l->capacity = l->nodes.capacity = capacity;
    l->records = xcalloc(capacity, sizeof(const struct store_record *));
    l->nodes.items = xcalloc(capacity, sizeof(const struct store_node *));
    l->slots_capacity = 2 * capacity;
    l->slots = xcalloc(l->slots_capacity, sizeof(*l->slots));
    return l;
}

void lookup_free(struct lookup *lookup)
{
    if (!lookup) {
        return;
    }
    free(lookup->records);
    free(lookup->nodes.items);
    free(lookup->slots);
    scan_cache_free(lookup->cached);
    free(lookup);
}

void lookup_start(struct lookup *lookup)
{
    lookup->count = 0;
    lookup->nodes.count = 0;
    lookup->is_walker = lookup->is_late = false;
}

void lookup_be_walker(struct lookup *lookup, bool (*is_late)(void *data), void *data)
{
    lookup->is_walker = true;
    lookup->ask_late = is_late;
    lookup->ask_data = data;
}

bool lookup_is_late(const struct lookup *lookup)
{
    return lookup->is_late;
}

void lookup_allow(struct lookup *lookup, size_t visits)
{
    lookup->visits_left = visits;
    lookup->is_some = false;
}

void lookup_allow_some(struct lookup *lookup, size_t visits, uint32_t from)
{
    lookup->visits_left = visits;
    lookup->is_some = true;
    lookup->from = from;
}

size_t lookup_visits_left(const struct lookup *lookup)
{
    return lookup->visits_left;
}

/* Reads every label literally. */
static const struct lookup_rule as_written = {.no_wildcards = true};

/* Returns whether a label before the last `literal` ones contains a dot. */
static bool has_dotted_label(const struct dname *name, const struct dname_labels *labels,
                             unsigned literal)
{
    if (!memchr(name->wire, '.', name->len)) {
        return false; /* nearly always; a length byte of 46 looks like a dot, too */
    }
    for (unsigned i = 0; i + literal < labels->count; i++) {
        struct slice label = dname_label(name, labels->offsets[i]);
        if (memchr(label.ptr, '.', label.len)) {
            return true;
        }
    }
    return false;
}

static struct pattern pattern_of(const struct dname *name, struct lookup_rule rule)
{
    struct pattern p = {.name = name, .wildcard = -1};
    dname_labels(name, &p.labels);
    p.has_dotted_label = has_dotted_label(name, &p.labels, rule.domain_labels);
    for (int i = p.labels.count - (int)rule.domain_labels - 1; i >= 0 && !rule.no_wildcards; i--) {
        if (lookup_is_wildcard(dname_label(name, p.labels.offsets[i]))) {
            p.wildcard = i;
            break;
        }
    }
    return p;
}

/* Returns the name whose listing the pattern selects from. */
static struct dname listed_of(const struct pattern *p)
{
    struct dname listed = *p->name;
    if (p->wildcard >= 0) {
        dname_strip(&listed, (unsigned)p->wildcard + 1);
    }
    return listed;
}

static bool find_listed(const struct view *view, const struct pattern *p,
                        struct view_node *ret_node)
{
    if (p->has_dotted_label) {
        return false;
    }
    if (p->wildcard < 0) {
        return view_find(view, p->name, ret_node);
    }
    struct dname listed = listed_of(p);
    return view_find(view, &listed, ret_node);
}

/* Finds the listed node, if the client can see a record there. */
static enum lookup_result find_shown(struct lookup *l, const struct pattern *p,
                                     struct view_node *ret_node)
{
    if (!find_listed(l->view, p, ret_node)) {
        return LOOKUP_ABSENT;
    }
    l->limit_hit = false;
    bool has_found = lookup_has_records(l, ret_node, false);
    return l->limit_hit ? LOOKUP_LIMIT : has_found ? LOOKUP_FOUND : LOOKUP_ABSENT;
}

static uint32_t hash_data(const struct store_record *r)
{
    uint32_t numbers = (uint32_t)r->port << 16 ^ (uint32_t)r->priority << 8 ^ r->weight;
    uint32_t h = hash_bytes(HASH_START ^ numbers, r->bytes, r->host_len);
    struct slice text = store_record_string(r, RECORD_TEXT);
    return hash_bytes(h, text.ptr, text.len);
}

static void clear_slots(struct lookup *l, size_t count)
{
    if (count > l->slots_capacity) {
        free(l->slots);
        l->slots = xcalloc(count, sizeof(*l->slots));
        l->slots_capacity = count;
    } else {
        memset(l->slots, 0, count * sizeof(*l->slots));
    }
}

/* Drops records that equal an earlier one; keeps the order. */
static void remove_duplicates(struct lookup *l, struct lookup_span *span)
{
    if (span->count < 2) {
        return;
    }
    size_t size = 4;
    while (size < 2 * span->count) {
        size *= 2;
    }
    clear_slots(l, size);
    const struct store_record **records = l->records + span->first;
    size_t left_count = 0;
    for (size_t i = 0; i < span->count; i++) {
        size_t slot = hash_data(records[i]) & (size - 1);
        while (l->slots[slot] && !store_record_same_data(records[l->slots[slot] - 1], records[i])) {
            slot = (slot + 1) & (size - 1);
        }
        if (!l->slots[slot]) {
            records[left_count++] = records[i];
            l->slots[slot] = (uint32_t)left_count;
        }
    }
    span->count = left_count;
    l->count = span->first + left_count;
}

static void lookup_begin(struct lookup *l, const struct view *view, struct lookup_span *ret_span)
{
    *ret_span = (struct lookup_span){.first = l->count};
    l->view = view;
    l->limit_hit = false;
}

static enum lookup_result lookup_end(struct lookup *l, struct lookup_span *span)
{
    if (l->limit_hit && !l->is_some) {
        l->count = span->first;
        return LOOKUP_LIMIT;
    }
    span->count = l->count - span->first;
    remove_duplicates(l, span);
    return LOOKUP_FOUND;
}

/* ---- Cached subtree scans ---- */

/* Returns the key of a scan. The client's view is part of it if something may be hidden. */
static struct scan_key lookup_key_of(const struct view *view, const struct view_node *at,
                                     const struct dname *name, struct lookup_rule rule,
                                     bool is_ports)
{
    struct scan_key key = {.serial = store_serial(view->store),
                           .name = *name,
                           .domain_labels = rule.domain_labels,
                           .no_wildcards = rule.no_wildcards,
                           .is_ports = is_ports,
                           .is_whole = at->part == VIEW_WHOLE};
    if (!key.is_whole) {
        key.config_serial = view->config->serial;
        key.has_space = view->space != NULL;
        key.space = view->space ? *view->space : (struct client_space){.label_len = 0};
    }
    return key;
}

/* Takes the records of a cached subtree scan, each at the cost of a visit. */
static bool lookup_take_cached(struct lookup *l, const struct scan_key *key,
                               struct lookup_span *ret_span)
{
    size_t count;
    const struct store_record *const *records =
        l->is_walker && l->cached ? scan_cache_find(l->cached, key, &count) : NULL;
    if (!records || count > l->visits_left) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        lookup_push_record(l, records[i]);
    }
    l->visits_left -= count;
    ret_span->count = count;
    return true;
}

/* Ends a lookup that began with `visits_before` visits left, and caches the result of a long scan.
 */
static enum lookup_result lookup_end_and_cache(struct lookup *l, const struct scan_key *key,
                                               size_t visits_before, struct lookup_span *span)
{
    enum lookup_result result = lookup_end(l, span);
    if (result == LOOKUP_FOUND && l->is_walker &&
        visits_before - l->visits_left > ENGINE_SCAN_MAX) {
        l->cached = l->cached ? l->cached : scan_cache_new();
        scan_cache_keep(l->cached, key, l->records + span->first, span->count);
    }
    return result;
}

/* Finds the records of a name, or of its ports, at its node or by a subtree scan. */
static enum lookup_result find_or_scan(struct lookup *l, const struct view *view,
                                       const struct dname *name, struct lookup_rule rule,
                                       bool wants_ports, struct lookup_span *ret_span)
{
    enum { PROTOCOL_AND_PORT = 2 };
    struct pattern p = pattern_of(name, rule);
    size_t visits_before = l->visits_left;
    struct view_node at;
    lookup_begin(l, view, ret_span);
    if (!lookup_visit(l)) {
        return LOOKUP_LIMIT;
    }
    enum lookup_result result = find_shown(l, &p, &at);
    if (result != LOOKUP_FOUND) {
        return result;
    }
    const struct scan_key key = lookup_key_of(view, &at, name, rule, wants_ports);
    if (lookup_take_cached(l, &key, ret_span)) {
        return LOOKUP_FOUND;
    }
    bool is_counted = at.part == VIEW_WHOLE && !l->is_some;
    if (wants_ports) {
        lookup_scan_hidden(l, &at, PROTOCOL_AND_PORT);
    } else if (p.wildcard >= 0 && !lookup_is_leaf(l, &at)) {
        lookup_scan_matching(l, &at, &p, p.wildcard);
    } else if (!is_counted || store_visible_count(at.node) <= l->visits_left) {
        lookup_scan_all(l, &at);
    } else {
        l->limit_hit = true;
    }
    return lookup_end_and_cache(l, &key, visits_before, ret_span);
}

enum lookup_result lookup_find(struct lookup *lookup, const struct view *view,
                               const struct dname *name, struct lookup_rule rule,
                               struct lookup_span *ret_span)
{
    return find_or_scan(lookup, view, name, rule, false, ret_span);
}

enum lookup_result lookup_find_ports(struct lookup *lookup, const struct view *view,
                                     const struct dname *name, struct lookup_span *ret_span)
{
    return find_or_scan(lookup, view, name, as_written, true, ret_span);
}

enum lookup_result lookup_exists(struct lookup *lookup, const struct view *view,
                                 const struct dname *name, struct lookup_rule rule)
{
    struct pattern p = pattern_of(name, rule);
    struct view_node at;
    lookup->view = view;
    return find_shown(lookup, &p, &at);
}

bool lookup_is_hidden(const struct view *view, const struct dname *name, struct lookup_rule rule)
{
    if (!view->visibility) {
        return false;
    }
    struct pattern p = pattern_of(name, rule);
    struct dname listed = listed_of(&p);
    return view_part_of(view, &listed) == VIEW_NONE;
}

static const struct store_node *find_whole(const struct view *view, const struct pattern *p)
{
    struct view_node at;
    return find_listed(view, p, &at) && at.part == VIEW_WHOLE ? at.node : NULL;
}

struct dname lookup_listed_name(const struct dname *name, struct lookup_rule rule)
{
    const struct pattern p = pattern_of(name, rule);
    return listed_of(&p);
}

const struct store_node *lookup_listed(const struct view *view, const struct dname *name,
                                       struct lookup_rule rule)
{
    struct pattern p = pattern_of(name, rule);
    return find_whole(view, &p);
}

const struct store_node *lookup_node(const struct view *view, const struct dname *name,
                                     struct lookup_rule rule)
{
    struct pattern p = pattern_of(name, rule);
    return p.wildcard < 0 ? find_whole(view, &p) : NULL;
}

bool lookup_find_literal(const struct view *view, const struct dname *name,
                         struct view_node *ret_node)
{
    struct pattern p = pattern_of(name, as_written);
    return find_listed(view, &p, ret_node);
}

const struct store_record *lookup_exact(const struct view *view, const struct dname *name)
{
    struct view_node at;
    return lookup_find_literal(view, name, &at) ? view_record(view, &at) : NULL;
}

/* ---- Groups ---- */

static unsigned record_depth(const struct store_record *record)
{
    struct dname name;
    store_record_name(record, &name);
    return dname_label_count(&name);
}

/* Returns the group of the records closest to the root, borrowed from a record; empty when there is
 * none or they disagree. The scan is in key order and ends at a record closer to the root that has
 * no group. There is at least one record. */
static struct slice choose_group(const struct store_record *const *records, size_t count)
{
    struct slice group = store_record_string(records[0], RECORD_GROUP);
    unsigned closest = record_depth(records[0]);
    for (size_t i = 1; i < count; i++) {
        unsigned d = record_depth(records[i]);
        if (d < closest) {
            if (records[i]->lens[RECORD_GROUP] == 0) {
                break;
            }
            closest = d;
            group = store_record_string(records[i], RECORD_GROUP);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (records[i]->lens[RECORD_GROUP] > 0 && record_depth(records[i]) == closest &&
            !slice_equal(store_record_string(records[i], RECORD_GROUP), group)) {
            return slice_of(NULL, 0);
        }
    }
    return group;
}

void lookup_keep_group(struct lookup *lookup, struct lookup_span *span)
{
    if (span->count < 2) {
        return;
    }
    assert(span->first + span->count == lookup->count);
    const struct store_record **records = lookup->records + span->first;
    bool has_group = false;
    for (size_t i = 0; i < span->count && !has_group; i++) {
        has_group = records[i]->lens[RECORD_GROUP] > 0;
    }
    struct slice group = has_group ? choose_group(records, span->count) : slice_of(NULL, 0);
    if (group.len == 0) {
        return;
    }
    size_t left_count = 0;
    for (size_t i = 0; i < span->count; i++) {
        if (records[i]->lens[RECORD_GROUP] == 0 ||
            slice_equal(store_record_string(records[i], RECORD_GROUP), group)) {
            records[left_count++] = records[i];
        }
    }
    span->count = left_count;
    lookup->count = span->first + left_count;
}

const struct store_record *lookup_record(const struct lookup *lookup,
                                         const struct lookup_span *span, size_t i)
{
    assert(i < span->count);
    return lookup->records[span->first + i];
}

void lookup_release(struct lookup *lookup, const struct lookup_span *span)
{
    assert(span->first + span->count == lookup->count);
    lookup->count = span->first;
}
