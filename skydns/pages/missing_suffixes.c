#include "skydns/pages/missing_suffixes_internal.h"

#include <string.h>

struct missing_suffixes missing_suffixes_of(const struct engine_zone *zone,
                                            const struct dname *name, struct slice space)
{
    struct missing_suffixes s = {.items = {{.len = 0}, zone->domain, zone->domain}};
    struct dname_labels labels;
    dname_labels(name, &labels);
    const unsigned own = labels.count - zone->labels;
    if (!dname_prepend(&s.items[1], slice_str("svc"))) {
        s.items[1].len = 0;
        return s;
    }
    if (space.len == 0 && own > 2 &&
        slice_equal(dname_label(name, labels.offsets[own - 1]), slice_str("svc"))) {
        space = dname_label(name, labels.offsets[own - 2]);
    }
    s.items[0] = s.items[1];
    if (space.len == 0 || !dname_prepend(&s.items[0], space)) {
        s.items[0].len = 0;
    }
    return s;
}

unsigned missing_before_suffix(const struct dname *name, const struct dname *suffix,
                               struct dname *ret_before)
{
    if (suffix->len == 0 || name->len <= suffix->len || !dname_is_within(name, suffix)) {
        return 0;
    }
    const size_t len = (size_t)name->len - suffix->len;
    memcpy(ret_before->wire, name->wire, len);
    ret_before->wire[len] = 0;
    ret_before->len = (uint8_t)(len + 1);
    return dname_label_count(ret_before);
}

bool missing_with_suffix(const struct dname *before, const struct dname *suffix,
                         struct dname *ret_name)
{
    const size_t len = (size_t)before->len - 1;
    if (suffix->len == 0 || len + suffix->len > DNAME_MAX) {
        return false;
    }
    memcpy(ret_name->wire, before->wire, len);
    memcpy(ret_name->wire + len, suffix->wire, suffix->len);
    ret_name->len = (uint8_t)(len + suffix->len);
    return true;
}

/* Returns whether a candidate name has records: a namespace's own name has none. */
static bool missing_candidate_exists(const struct store *store, const struct engine_zone *zone,
                                     const struct dname *name)
{
    const struct store_node *node = store_find(store, name);
    const unsigned own = dname_label_count(name) - zone->labels;
    return node && (own > 2 || store_node_record(node));
}

bool missing_is_expansion(const struct engine_config *config, const struct store *store,
                          const struct engine_zone *zone, const struct missing_suffixes *suffixes,
                          const struct dname *name)
{
    for (unsigned i = 0; i < MISSING_SUFFIXES; i++) {
        struct dname before, candidate;
        if (missing_before_suffix(name, &suffixes->items[i], &before) == 0) {
            continue;
        }
        if (engine_config_zone(config, &before)) {
            return true;
        }
        for (unsigned later = i + 1; later < MISSING_SUFFIXES; later++) {
            if (missing_with_suffix(&before, &suffixes->items[later], &candidate) &&
                missing_candidate_exists(store, zone, &candidate)) {
                return true;
            }
        }
    }
    return false;
}
