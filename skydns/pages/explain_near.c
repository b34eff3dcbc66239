/* Finds names that the user may have meant, the likeliest first: the same labels in a domain of
 * ours that was mistyped, cut off, or appended twice; similar spellings; singular for plural; a pod
 * below its headless Service; labels in another order; the same name with `svc` before the domain;
 * the same name in a sibling (another namespace), the client's own first; a name with more or less
 * to it (`redis`, `redis-master`). */
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
    SERVICE_LABELS = 3, /* web.default.svc */
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

static bool near_search_is_over(const struct search *s)
{
    return s->count >= s->limit || s->compared >= COMPARED_MAX || s->tried >= TRIED_MAX;
}

static bool near_search_has(const struct search *s, const struct dname *name)
{
    for (size_t i = 0; i < s->count; i++) {
        if (dname_equal(&s->near[i], name)) {
            return true;
        }
    }
    return dname_equal(s->c->name, name);
}

static void near_search_offer(struct search *s, const struct dname *name)
{
    if (near_search_is_over(s) || near_search_has(s, name)) {
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

/* Sees each child of the node, which may be NULL, until there is enough. */
static void see_children(const struct store_node *node,
                         bool (*see)(void *data, const struct store_node *child), struct step *step)
{
    if (node && !near_search_is_over(step->s)) {
        (void)store_each_child(node, see, step); /* stops when there is enough */
    }
}

static void near_search_scan(const struct step *step, const struct store_node *node);

static void go_down(const struct step *step, const struct store_node *child, unsigned misspelled)
{
    struct step next = *step;
    next.left--;
    next.misspelled = misspelled;
    if (dname_prepend(&next.at, store_node_label(child))) {
        near_search_scan(&next, child);
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
    return !near_search_is_over(step->s);
}

static void near_search_scan(const struct step *step, const struct store_node *node)
{
    if (step->left == 0) {
        near_search_offer(step->s, &step->at);
        return;
    }
    const struct store_node *same = store_child(node, step->own->labels[step->left - 1]);
    if (same) {
        go_down(step, same, step->misspelled);
    }
    if (step->misspelled > 0) {
        struct step here = *step;
        see_children(node, see_similar, &here);
    }
}

/* Tries names whose labels are these, up to so many misspelled, with up to so many slips in a long
 * one. */
static void try_spelled(struct search *s, const struct own *own, unsigned misspelled,
                        unsigned slips)
{
    const struct store_node *node = store_find(s->c->store, &s->zone->domain);
    for (unsigned i = 0; node && i <= misspelled && !near_search_is_over(s); i++) {
        near_search_scan(&(struct step){s, own, own->count, i, slips, s->zone->domain}, node);
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

static bool ends_in_svc(const struct own *own)
{
    return own->count > 0 && slice_equal(own->labels[own->count - 1], slice_str("svc"));
}

/* Tries web.default.svc.<domain> for web.default.<domain>, and for web.default.pod.<domain>. */
static void try_service(struct search *s, const struct own *own, unsigned misspelled)
{
    struct own service = *own;
    if (own->count >= SERVICE_LABELS && !ends_in_svc(own)) {
        service.labels[own->count - 1] = slice_str("svc");
        try_spelled(s, &service, 0, 1);
        service = *own;
    }
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
    return !near_search_is_over(step->s);
}

static void try_cousins(struct search *s, const struct own *own)
{
    const struct store_node *node = store_find(s->c->store, &s->zone->domain), *above = NULL;
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
    if (step.left > 0) {
        step.left++;
        step.at = grandparent;
        see_children(above, see_aunt, &step);
    }
}

/* ---- Services ---- */

/* Tries web.<namespace>.svc.<domain> for web.svc.<domain>, web.<domain> and web.other.svc.<domain>,
 * with the client's namespace. */
static void try_own_namespace(struct search *s, const struct own *own)
{
    const bool has_svc = ends_in_svc(own);
    const unsigned names = has_svc ? own->count - 1 : own->count; /* without svc */
    struct own service = {.count = own->count};
    if (s->c->space.len == 0 || names == 0 || own->count + 2 > OWN_MAX || (!has_svc && names > 1)) {
        return;
    }
    service.count = names > 1 ? names - 1 : names;
    memcpy(service.labels, own->labels, service.count * sizeof(own->labels[0]));
    service.labels[service.count++] = s->c->space;
    service.labels[service.count++] = slice_str("svc");
    try_spelled(s, &service, has_svc && names > 1 ? 0 : 1, 1);
}

/* Tries the name in each namespace: for web.svc.<domain>, and if its namespace does not exist. */
static void try_any_namespace(struct search *s, const struct own *own)
{
    const struct store_node *svc = store_find(s->c->store, &s->zone->domain);
    struct step step = {.s = s, .own = own, .at = s->zone->domain};
    svc = svc ? store_child(svc, slice_str("svc")) : NULL;
    if (!svc || !ends_in_svc(own) || own->count < 2 ||
        (own->count > 2 && store_child(svc, own->labels[own->count - 2])) ||
        !dname_prepend(&step.at, slice_str("svc"))) {
        return;
    }
    step.left = own->count > 2 ? own->count - 1 : 2;
    see_children(svc, see_aunt, &step);
}

/* Returns the node of the namespace of web.default.svc.<domain>, or NULL. */
static const struct store_node *namespace_of(const struct search *s, const struct own *own,
                                             struct dname *ret_name)
{
    const struct store_node *node = store_find(s->c->store, &s->zone->domain);
    *ret_name = s->zone->domain;
    for (unsigned i = 1; i <= 2 && node; i++) {
        const struct slice label = own->labels[own->count - i];
        node = dname_prepend(ret_name, label) ? store_child(node, label) : NULL;
    }
    return node;
}

/* Tries db-0.db.default.svc.<domain> for db-0.default.svc.<domain>. */
static void try_headless(struct search *s, const struct own *own)
{
    struct step step = {.s = s, .own = own, .left = 2};
    const struct store_node *space =
        own->count == SERVICE_LABELS && ends_in_svc(own) ? namespace_of(s, own, &step.at) : NULL;
    see_children(space, see_aunt, &step);
}

static void try_label(struct search *s, const struct own *own, unsigned at, struct slice label)
{
    struct own other = *own;
    other.labels[at] = label;
    try_spelled(s, &other, 0, 1);
}

/* Tries orders for order, boxes for box, policies for policy, and the other way. */
static void try_plural(struct search *s, const struct own *own)
{
    static const struct {
        const char *singular, *plural;
    } ends[] = {{"", "s"}, {"", "es"}, {"y", "ies"}};
    const unsigned at = own->count > SERVICE_LABELS ? own->count - SERVICE_LABELS : 0;
    const struct slice label = own->count > 0 ? own->labels[at] : slice_of(NULL, 0);
    for (size_t i = 0; i < 2 * ARRAY_LEN(ends); i++) {
        const struct slice singular = slice_str(ends[i / 2].singular),
                           plural = slice_str(ends[i / 2].plural);
        const struct slice from = i % 2 ? plural : singular, to = i % 2 ? singular : plural;
        char text[DNAME_LABEL_MAX];
        const size_t stem = label.len - from.len;
        if (label.len > from.len && stem + to.len <= sizeof(text) &&
            slice_has_suffix(label, from)) {
            memcpy(text, label.ptr, stem);
            memcpy(text + stem, to.ptr, to.len);
            try_label(s, own, at, slice_of(text, stem + to.len));
        }
    }
}

/* Returns whether `part` is the beginning or the end of the word, with a hyphen between. */
static bool is_part_of(struct slice part, struct slice word)
{
    return part.len > 0 && part.len + 1 < word.len &&
           ((slice_has_prefix(word, part) && word.ptr[part.len] == '-') ||
            (slice_has_suffix(word, part) && word.ptr[word.len - part.len - 1] == '-'));
}

static bool see_part(void *data, const struct store_node *child)
{
    const struct step *step = data;
    const struct slice label = store_node_label(child), wanted = step->own->labels[step->left - 1];
    step->s->compared++;
    if (is_part_of(label, wanted) || is_part_of(wanted, label)) {
        go_down(step, child, 0);
    }
    return !near_search_is_over(step->s);
}

/* Tries redis-master for redis, and web for web-svc. */
static void try_parts(struct search *s, const struct own *own)
{
    struct step step = {.s = s, .own = own, .left = own->count - 2};
    const struct store_node *space =
        own->count >= SERVICE_LABELS && ends_in_svc(own) ? namespace_of(s, own, &step.at) : NULL;
    see_children(space, see_part, &step);
}

/* ---- Domains ---- */

static void try_all(struct search *s, const struct own *own)
{
    s->limit = SPELLED_FIRST;
    try_doubled(s, own);
    try_spelled(s, own, 1, 1);
    s->limit = COUSINS_LAST;
    try_own_namespace(s, own);
    try_plural(s, own);
    try_headless(s, own);
    try_cousins(s, own);
    try_any_namespace(s, own);
    s->limit = EXPLAIN_NEAR_MAX;
    try_service(s, own, 1);
    try_swapped(s, own);
    try_spelled(s, own, 2, 2);
    try_parts(s, own);
}

/* Splits the name's labels before the last `domain_labels`; false: too many. */
static bool near_search_split(const struct dname *name, unsigned domain_labels, struct own *ret)
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
        if (ends_like(s->c->name, s->zone, count) && near_search_split(s->c->name, count, &own)) {
            try_spelled(s, &own, 1, 2);
            try_service(s, &own, 0);
            try_swapped(s, &own);
            return;
        }
    }
    if (near_search_split(s->c->name, 0, &own)) {
        try_spelled(s, &own, 0, 1);
        try_service(s, &own, 0);
    }
}

size_t explain_near_names(const struct explain_near_case *c, struct dname near[EXPLAIN_NEAR_MAX])
{
    struct search s = {.c = c,
                       .near = near,
                       .limit = EXPLAIN_NEAR_MAX,
                       .zone = engine_config_zone(c->config, c->name)};
    struct own own;
    if (s.zone) {
        if (near_search_split(c->name, s.zone->labels, &own)) {
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
