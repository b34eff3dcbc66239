/* Finds names that the user may have meant, the likeliest first: the same labels in a domain of
 * ours that was mistyped, cut off, or appended twice; similar spellings; labels in another order;
 * the same name with `svc` before the domain; the same name in a sibling (another namespace). */
#include <string.h>

#include "common/base/typing_errors.h"
#include "skydns/pages/explain.h"

enum {
    COMPARED_MAX = 20000, /* labels: some ms; a namespace of more is compared in part */
    TRIED_MAX = 32,       /* names asked of the answer code: each visits at most 4,096 nodes */
    OWN_MAX = 16,         /* labels below the domain: a port's name has five */
    LONG_LABEL = 8,       /* may have two typos or swaps of neighbours; shorter ones have one */
    SPELLED_FIRST = 3,    /* then come other mistakes, so that each has a place */
    COUSINS_LAST = 4,
};

/* Labels below a domain; the last is next to it. */
struct own {
    unsigned count;
    struct slice labels[OWN_MAX];
};

struct search {
    const struct explain_near_case *c;
    const struct engine_zone *zone; /* of the names tried */
    struct dname *near;
    size_t limit; /* of `count`, for now */
    size_t count, compared, tried;
};

/* ---- Trying names ---- */

static bool skydns_explain_near_is_over(const struct search *s)
{
    return s->count >= s->limit || s->compared >= COMPARED_MAX || s->tried >= TRIED_MAX;
}

static bool skydns_explain_near_is_known(const struct search *s, const struct dname *name)
{
    for (size_t i = 0; i < s->count; i++) {
        if (dname_equal(&s->near[i], name)) {
            return true;
        }
    }
    return dname_equal(s->c->name, name);
}

static void skydns_explain_near_offer(struct search *s, const struct dname *name)
{
    if (skydns_explain_near_is_over(s) || skydns_explain_near_is_known(s, name)) {
        return;
    }
    s->tried++;
    if (s->c->resolves(s->c->data, name)) {
        s->near[s->count++] = *name;
    }
}

/* ---- Similar spellings ---- */

static bool is_similar(struct slice a, struct slice b, unsigned slips)
{
    size_t allowed = b.len >= LONG_LABEL ? slips : 1;
    size_t difference = a.len > b.len ? a.len - b.len : b.len - a.len;
    return difference <= allowed && typing_errors(a, b) <= allowed;
}

/* Step towards the labels that are left, with so many that may be misspelled. */
struct step {
    struct search *s;
    const struct own *own;
    unsigned left, misspelled;
    unsigned slips; /* in a long label */
    struct dname at;
};

static void skydns_explain_near_scan(const struct step *step, const struct store_node *node);

static void go_down(const struct step *step, const struct store_node *child, unsigned misspelled)
{
    struct step next = *step;
    next.left--;
    next.misspelled = misspelled;
    if (dname_prepend(&next.at, store_node_label(child))) {
        skydns_explain_near_scan(&next, child);
    }
}

static bool see_similar(void *data, const struct store_node *child)
{
    const struct step *step = data;
    struct slice wanted = step->own->labels[step->left - 1];
    step->s->compared++;
    if (!slice_equal(store_node_label(child), wanted) &&
        is_similar(store_node_label(child), wanted, step->slips)) {
        go_down(step, child, step->misspelled - 1);
    }
    return !skydns_explain_near_is_over(step->s);
}

static void skydns_explain_near_scan(const struct step *step, const struct store_node *node)
{
    if (step->left == 0) {
        skydns_explain_near_offer(step->s, &step->at);
        return;
    }
    const struct store_node *same = store_child(node, step->own->labels[step->left - 1]);
    if (same) {
        go_down(step, same, step->misspelled);
    }
    if (step->misspelled > 0 && !skydns_explain_near_is_over(step->s)) {
        struct step here = *step;
        (void)store_each_child(node, see_similar, &here); /* stops when there is enough */
    }
}

/* Tries names whose labels are these, up to so many misspelled, with up to so many slips in a long
 * one. */
static void try_spelled(struct search *s, const struct own *own, unsigned misspelled,
                        unsigned slips)
{
    const struct store_node *node = store_find(s->c->store, &s->zone->domain, NULL);
    for (unsigned i = 0; node && i <= misspelled && !skydns_explain_near_is_over(s); i++) {
        skydns_explain_near_scan(&(struct step){s, own, own->count, i, slips, s->zone->domain},
                                 node);
    }
}

/* ---- Other mistakes ---- */

static void try_swapped(struct search *s, const struct own *own)
{
    for (unsigned i = 0; i + 1 < own->count; i++) {
        struct own swapped = *own;
        swapped.labels[i] = own->labels[i + 1];
        swapped.labels[i + 1] = own->labels[i];
        try_spelled(s, &swapped, 0, 1);
    }
}

/* Tries web.default.svc.<domain> for web.default.<domain>. */
static void try_service(struct search *s, const struct own *own, unsigned misspelled)
{
    struct own service = *own;
    if (own->count > 0 && own->count < OWN_MAX) {
        service.labels[service.count++] = slice_str("svc");
        try_spelled(s, &service, misspelled, 1);
    }
}

/* Tries the name without a domain of the search list that was appended to a whole name. */
static void try_doubled(struct search *s, const struct own *own)
{
    struct dname_labels domain;
    dname_labels(&s->zone->domain, &domain);
    for (unsigned at = 1; at + domain.count <= own->count; at++) {
        bool is_same = true;
        for (unsigned i = 0; i < domain.count && is_same; i++) {
            is_same =
                slice_equal(own->labels[at + i], dname_label(&s->zone->domain, domain.offsets[i]));
        }
        if (is_same) {
            struct own once = *own;
            once.count = at;
            try_spelled(s, &once, 0, 1);
        }
    }
}

/* Tries the labels that do not exist below a sibling of the name above them. */
static bool see_aunt(void *data, const struct store_node *aunt)
{
    const struct step *step = data;
    step->s->compared++;
    go_down(step, aunt, 0);
    return !skydns_explain_near_is_over(step->s);
}

static void try_cousins(struct search *s, const struct own *own)
{
    const struct store_node *node = store_find(s->c->store, &s->zone->domain, NULL), *above = NULL;
    struct step step = {.s = s, .own = own, .left = own->count, .at = s->zone->domain};
    struct dname grandparent = step.at;
    while (node && step.left > 0) {
        const struct store_node *child = store_child(node, own->labels[step.left - 1]);
        if (!child) {
            break;
        }
        above = node;
        grandparent = step.at;
        if (!dname_prepend(&step.at, own->labels[step.left - 1])) {
            return;
        }
        node = child;
        step.left--;
    }
    if (above && step.left > 0 && !skydns_explain_near_is_over(s)) {
        step.left++;
        step.at = grandparent;
        (void)store_each_child(above, see_aunt, &step); /* stops when there is enough */
    }
}

/* ---- Domains ---- */

static void try_all(struct search *s, const struct own *own)
{
    s->limit = SPELLED_FIRST;
    try_doubled(s, own);
    try_spelled(s, own, 1, 1);
    s->limit = COUSINS_LAST;
    try_cousins(s, own);
    s->limit = EXPLAIN_NEAR_MAX;
    try_service(s, own, 1);
    try_swapped(s, own);
    try_spelled(s, own, 2, 2);
}

/* Splits the name's labels before the last `domain_labels`; false: too many. */
static bool skydns_explain_near_split(const struct dname *name, unsigned domain_labels,
                                      struct own *ret)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    ret->count = labels.count - domain_labels;
    for (unsigned i = 0; i < ret->count && ret->count <= OWN_MAX; i++) {
        ret->labels[i] = dname_label(name, labels.offsets[i]);
    }
    return ret->count <= OWN_MAX;
}

/* Returns whether the name ends with the domain's first `count` labels: misspelled, if these are
 * all of them. */
static bool ends_like(const struct dname *name, const struct engine_zone *zone, unsigned count)
{
    struct dname_labels labels, domain;
    dname_labels(name, &labels);
    dname_labels(&zone->domain, &domain);
    bool ok = labels.count > count;
    for (unsigned i = 0; i < count && ok; i++) {
        struct slice label = dname_label(name, labels.offsets[labels.count - count + i]);
        struct slice wanted = dname_label(&zone->domain, domain.offsets[i]);
        ok = slice_equal(label, wanted) || (count == zone->labels && is_similar(label, wanted, 2));
    }
    return ok;
}

/* Tries this domain for a name that is in none. */
static void try_domain(struct search *s)
{
    struct own own;
    for (unsigned count = s->zone->labels; count > 0; count--) {
        if (ends_like(s->c->name, s->zone, count) &&
            skydns_explain_near_split(s->c->name, count, &own)) {
            try_spelled(s, &own, 1, 2);
            try_service(s, &own, 0);
            try_swapped(s, &own);
            return;
        }
    }
    if (skydns_explain_near_split(s->c->name, 0, &own)) {
        try_spelled(s, &own, 0, 1);
        try_service(s, &own, 0);
    }
}

size_t skydns_explain_near(const struct explain_near_case *c, struct dname near[EXPLAIN_NEAR_MAX])
{
    struct search s = {.c = c,
                       .near = near,
                       .limit = EXPLAIN_NEAR_MAX,
                       .zone = engine_config_zone(c->config, c->name)};
    struct own own;
    if (s.zone) {
        if (skydns_explain_near_split(c->name, s.zone->labels, &own)) {
            try_all(&s, &own);
        }
        return s.count;
    }
    for (size_t i = 0; i < c->config->zone_count; i++) {
        s.zone = &c->config->zones[i];
        try_domain(&s);
    }
    return s.count;
}

/* Lists what is at each label on the way from the root to a name. */
size_t explain_tree(const struct store *store, const struct dname *name,
                    struct explain_level levels[EXPLAIN_LEVELS_MAX])
{
    const struct store_node *node = store_root(store);
    struct dname at = {.len = 1}; /* the root */
    struct dname_labels labels;
    size_t count = 0;
    dname_labels(name, &labels);
    for (unsigned i = labels.count; i > 0 && count < EXPLAIN_LEVELS_MAX; i--) {
        struct slice label = dname_label(name, labels.offsets[i - 1]);
        if (!dname_prepend(&at, label)) {
            break;
        }
        node = node ? store_child(node, label) : NULL;
        levels[count++] = (struct explain_level){
            .name = at,
            .exists = node != NULL,
            .has_record = node && store_node_record(node),
            .below = node ? store_visible_count(node) : 0,
        };
    }
    return count;
}
