#include "skydns/sign/signed_denial_internal.h"

#include <assert.h>
#include <string.h>

#include "common/dns/dns.h"

/* ---- Types ---- */

_Static_assert((int)NAME_FACT_TYPES_MAX + 8 <= (int)NSEC_TYPES_MAX, "the bitmap has room");

struct type_list {
    size_t count;
    uint16_t types[NAME_FACT_TYPES_MAX + 8];
};

static void add_type(struct type_list *list, uint16_t type)
{
    assert(list->count < sizeof(list->types) / sizeof(list->types[0]));
    list->types[list->count++] = type;
}

/* Adds the types that the parent has at a delegation. */
static void add_cut_types(struct type_list *list, const struct signed_place *child)
{
    add_type(list, DNS_TYPE_NS);
    if (child->keys && child->keys->ds.count > 0) {
        add_type(list, DNS_TYPE_DS);
    }
}

/* Finds the types of a name that exists. */
static enum name_fact find_types(struct signed_denial *d, const struct dname *name,
                                 struct type_list *list)
{
    struct signed_place place, parent;
    if (signed_zones_is_cut(d->zones, name, &place, &parent) && parent.keys == d->keys) {
        add_cut_types(list, &place);
        return NAME_FACT_YES;
    }
    enum name_fact fact = name_facts_types(d->facts, name, list->types, &list->count);
    if (fact == NAME_FACT_YES && dname_equal(name, &d->keys->name)) {
        add_type(list, DNS_TYPE_DNSKEY);
        add_type(list, DNS_TYPE_CDS);
        add_type(list, DNS_TYPE_CDNSKEY);
    }
    return fact;
}

/* Sets the rdata: the next name and the types, without the one that is being denied at this name.
 */
static void signed_denial_finish(const struct signed_denial *d, struct signed_nsec *nsec,
                                 const struct dname *next, struct type_list *list)
{
    size_t left_count = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->types[i] != d->type || !dname_equal(&nsec->owner, &d->name)) {
            list->types[left_count++] = list->types[i];
        }
    }
    list->count = left_count;
    add_type(list, DNS_TYPE_RRSIG);
    add_type(list, DNS_TYPE_NSEC);
    memcpy(nsec->data, next->wire, next->len);
    assert(dname_is_within(next, &d->keys->name));
    nsec->len = next->len + nsec_bitmap(list->types, list->count, nsec->data + next->len);
}

enum name_fact signed_denial_of_type(struct signed_denial *denial)
{
    struct signed_nsec *nsec = &denial->nsecs[0];
    struct type_list list = {.count = 0};
    struct dname next;
    enum name_fact fact = find_types(denial, &denial->name, &list);
    if (fact == NAME_FACT_YES) {
        nsec->owner = denial->name;
        nsec_next(&denial->name, &denial->keys->name, &next);
        signed_denial_finish(denial, nsec, &next, &list);
        denial->count = 1;
    }
    return fact;
}

/* ---- Ends of CNAMEs ---- */

/* Returns whether the question is one that a zone's keys or its DS answer, for its apex. */
static bool is_of_apex(const struct signed_denial *d)
{
    return (d->type == DNS_TYPE_DS || d->type == DNS_TYPE_DNSKEY || d->type == DNS_TYPE_CDS ||
            d->type == DNS_TYPE_CDNSKEY) &&
           signed_zones_find(d->zones, &d->name).apex_at == 0;
}

enum name_fact signed_denial_is_open(struct signed_denial *denial, bool is_of_name)
{
    if (is_of_apex(denial)) {
        return NAME_FACT_YES;
    }
    return is_of_name ? name_facts_exists(denial->facts, &denial->name) : NAME_FACT_NO;
}

/* ---- Names ---- */

/* Finds how many labels to take off the name for its closest encloser (RFC 4592 3.3.1). Ancestors
 * of an existing name exist, and the apex does. So each look rules out half of those in doubt. */
static enum name_fact find_encloser(struct signed_denial *d, unsigned *ret_labels)
{
    unsigned absent = 0;
    unsigned there = dname_label_count(&d->name) - d->keys->labels;
    while (there - absent > 1) {
        unsigned middle = (absent + there) / 2;
        struct dname name = d->name;
        dname_strip(&name, middle);
        enum name_fact fact = name_facts_exists(d->facts, &name);
        if (fact != NAME_FACT_YES && fact != NAME_FACT_NO) {
            return fact;
        }
        *(fact == NAME_FACT_YES ? &there : &absent) = middle;
    }
    *ret_labels = there;
    return NAME_FACT_YES;
}

/* Finds a name so close before `name` that nothing lies between. NAME_FACT_YES: it exists itself;
 * NAME_FACT_NO: it is invented. */
static enum name_fact find_before(struct signed_denial *d, const struct dname *name,
                                  struct dname *ret)
{
    enum { TRIES_MAX = 4 }; /* names like these exist only to annoy */
    if (nsec_before(name, ret) == NSEC_BEFORE_PARENT) {
        return NAME_FACT_YES;
    }
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        struct dname below;
        enum name_fact fact = name_facts_exists(d->facts, ret);
        if (fact != NAME_FACT_YES || !nsec_last_below(ret, &below)) {
            return fact;
        }
        *ret = below;
    }
    return NAME_FACT_UNKNOWN;
}

/* The range that a record is to cover: a name and all below it. */
struct gap {
    struct nsec_gap names;
    bool has_owner; /* it exists */
};

static enum name_fact find_gap(struct signed_denial *d, const struct dname *name, struct gap *ret)
{
    enum name_fact fact = find_before(d, name, &ret->names.owner);
    nsec_after(name, &d->keys->name, &ret->names.next);
    ret->has_owner = fact == NAME_FACT_YES;
    return fact == NAME_FACT_NO ? NAME_FACT_YES : fact;
}

/* Joins both in the first, if they overlap. */
static bool signed_denial_join(const struct signed_denial *d, struct gap gaps[SIGNED_NSECS_MAX])
{
    bool is_second_first = nsec_compare(&gaps[1].names.owner, &gaps[0].names.owner) < 0;
    if (!nsec_join(&gaps[0].names, &gaps[1].names, &d->keys->name)) {
        return false;
    }
    gaps[0].has_owner = gaps[is_second_first ? 1 : 0].has_owner;
    return true;
}

/* Adds the record that covers the gap. */
static enum name_fact signed_denial_add_covering(struct signed_denial *d, const struct gap *gap)
{
    assert(d->count < SIGNED_NSECS_MAX);
    struct signed_nsec *nsec = &d->nsecs[d->count];
    struct type_list list = {.count = 0};
    nsec->owner = gap->names.owner;
    enum name_fact fact = gap->has_owner ? find_types(d, &nsec->owner, &list) : NAME_FACT_YES;
    if (fact == NAME_FACT_YES) {
        signed_denial_finish(d, nsec, &gap->names.next, &list);
        d->count++;
    }
    return fact;
}

enum name_fact signed_denial_of_name(struct signed_denial *denial)
{
    unsigned labels = 0;
    enum name_fact fact = find_encloser(denial, &labels);
    if (fact != NAME_FACT_YES || labels == 0) {
        return fact == NAME_FACT_YES ? NAME_FACT_UNKNOWN : fact; /* the apex exists */
    }
    struct gap gaps[SIGNED_NSECS_MAX];
    struct dname next_closer = denial->name, wildcard = denial->name;
    size_t count = 1;
    dname_strip(&next_closer, labels - 1);
    dname_strip(&wildcard, labels);
    fact = find_gap(denial, &next_closer, &gaps[0]);
    if (fact == NAME_FACT_YES && dname_prepend(&wildcard, slice_of("*", 1))) {
        fact = find_gap(denial, &wildcard, &gaps[1]);
        count = fact == NAME_FACT_YES && !signed_denial_join(denial, gaps) ? 2 : 1;
    }
    denial->count = 0;
    for (size_t i = 0; i < count && fact == NAME_FACT_YES; i++) {
        fact = signed_denial_add_covering(denial, &gaps[i]);
    }
    return fact;
}
