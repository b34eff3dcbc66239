#include "skydns/pages/missing_hint_internal.h"

#include <string.h>

#include "common/base/attributes.h"
#include "common/base/typing_errors.h"
#include "skydns/answer/view.h"
#include "skydns/pages/explain.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/publish/publisher.h"
#include "skydns/sync/gone_names.h"
#include "skydns/sync/store_sync.h"

enum {
    SPELLING_MAX = 2, /* typing errors */
    ALIASES_MAX = 8,  /* of a chain */
};

static const char *const why_texts[] = {
    [MISSING_UNEXPLAINED] = "unexplained",
    [MISSING_DELETED] = "deleted",
    [MISSING_SPELLING] = "spelling",
    [MISSING_PLURAL] = "plural",
    [MISSING_NAMESPACE] = "namespace",
    [MISSING_SVC] = "svc",
    [MISSING_POD] = "pod",
    [MISSING_ORDER] = "order",
    [MISSING_DOMAIN] = "domain",
    [MISSING_SIMILAR] = "similar",
    [MISSING_HIDDEN] = "hidden",
    [MISSING_CREATED] = "created",
    [MISSING_TARGET] = "target",
};

const char *missing_why_text(enum missing_why why)
{
    return why_texts[why];
}

/* ---- How names differ ---- */

/* Labels of a name below its domain, the first `count` of `labels`. */
struct part {
    const struct dname *name;
    struct dname_labels labels;
    unsigned count;
};

static struct part part_below(const struct engine_zone *zone, const struct dname *name)
{
    struct part part = {.name = name};
    dname_labels(name, &part.labels);
    part.count = part.labels.count - zone->labels;
    return part;
}

static struct slice part_label(const struct part *part, unsigned i)
{
    return dname_label(part->name, part->labels.offsets[i]);
}

static bool part_ends_in_svc(const struct part *part)
{
    return part->count > 0 && slice_equal(part_label(part, part->count - 1), slice_str("svc"));
}

static bool is_plural_of(struct slice plural, struct slice singular)
{
    const char *const ends[] = {"s", "es"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (plural.len == singular.len + strlen(ends[i]) && slice_has_prefix(plural, singular) &&
            slice_has_suffix(plural, slice_str(ends[i]))) {
            return true;
        }
    }
    return singular.len > 1 && slice_has_suffix(singular, slice_str("y")) &&
           plural.len == singular.len + 2 && slice_has_suffix(plural, slice_str("ies")) &&
           memcmp(plural.ptr, singular.ptr, singular.len - 1) == 0;
}

static enum missing_why why_of_labels(struct slice wrong, struct slice right)
{
    return is_plural_of(wrong, right) || is_plural_of(right, wrong) ? MISSING_PLURAL
           : typing_errors(wrong, right) <= SPELLING_MAX            ? MISSING_SPELLING
                                                                    : MISSING_SIMILAR;
}

/* Explains names of equally many labels. */
static enum missing_why why_of_equal(const struct part *wrong, const struct part *right)
{
    unsigned at = 0, differing = 0;
    for (unsigned i = wrong->count; i > 0; i--) {
        if (!slice_equal(part_label(wrong, i - 1), part_label(right, i - 1))) {
            at = i - 1;
            differing++;
        }
    }
    if (differing == 2 && at + 1 < wrong->count &&
        slice_equal(part_label(wrong, at), part_label(right, at + 1)) &&
        slice_equal(part_label(wrong, at + 1), part_label(right, at))) {
        return MISSING_ORDER;
    }
    if (differing != 1) {
        return MISSING_SPELLING;
    }
    if (at + 1 == wrong->count && part_ends_in_svc(right)) {
        return MISSING_SVC;
    }
    const enum missing_why why = why_of_labels(part_label(wrong, at), part_label(right, at));
    const bool is_namespace = at + 2 == wrong->count && part_ends_in_svc(right);
    return is_namespace && why != MISSING_SPELLING ? MISSING_NAMESPACE : why;
}

enum missing_why missing_why_of(const struct engine_zone *zone, const struct dname *name,
                                const struct dname *near)
{
    const struct part wrong = part_below(zone, name), right = part_below(zone, near);
    if (wrong.count == right.count) {
        return why_of_equal(&wrong, &right);
    }
    if (wrong.count > right.count) {
        return MISSING_DOMAIN;
    }
    if (part_ends_in_svc(&right) && !part_ends_in_svc(&wrong)) {
        return MISSING_SVC;
    }
    return wrong.count == 2 ? MISSING_NAMESPACE : MISSING_POD;
}

/* ---- What became of a name ---- */

/* Returns whether the client's namespace hides the name. */
static bool is_hidden_from(const struct engine_config *config, const struct store *store,
                           const struct dname *name, struct slice space)
{
    struct client_space of_client = {.label_len = (uint8_t)space.len};
    if (space.len > 0) {
        memcpy(of_client.label, space.ptr, space.len);
    }
    const struct client_view client = {.space = space.len > 0 ? &of_client : NULL,
                                       .visibility = config->visibility};
    const struct view view = view_of(config, store, &client, NULL);
    return view.visibility && view_part_of(&view, name) == VIEW_NONE;
}

/* Follows aliases to the name that has none. Returns false, and sets nothing, without an alias. */
static bool alias_target_of(const struct engine_config *config, const struct store *store,
                            const struct dname *name, struct dname *ret_target)
{
    struct dname at = *name;
    bool is_alias = false;
    for (unsigned i = 0; i < ALIASES_MAX; i++) {
        const struct store_record *record =
            engine_config_own_zone(config, &at) ? store_find_record(store, &at) : NULL;
        if (!record || !store_record_host_name(record, &at)) {
            break;
        }
        dname_lower(&at);
        is_alias = true;
    }
    if (is_alias) {
        *ret_target = at;
    }
    return is_alias;
}

static void explain_existing(const struct engine_config *config, const struct store *store,
                             const struct dname *name, struct slice space,
                             struct missing_hint *hint)
{
    if (is_hidden_from(config, store, name, space)) {
        hint->why = MISSING_HIDDEN;
    } else if (alias_target_of(config, store, name, &hint->near)) {
        hint->why = MISSING_TARGET;
    } else {
        hint->why = MISSING_CREATED;
    }
}

void missing_hint_find(const struct metrics_sources *sources, const struct dname *name,
                       struct slice space, struct missing_hint *ret)
{
    const struct engine_config *config = publisher_newest_config(sources->publisher);
    const struct store *store = store_sync_store(sources->sync);
    const struct engine_zone *zone = engine_config_zone(config, name);
    const struct gone_names *gone = store_sync_gone(sources->sync);
    *ret = (struct missing_hint){.why = MISSING_UNEXPLAINED};
    if (!store || !zone) {
        return;
    }
    if (store_find(store, name)) {
        explain_existing(config, store, name, space, ret);
        return;
    }
    if (explainer_nearest(sources->explainer, name, space, &ret->near)) {
        ret->why = missing_why_of(zone, name, &ret->near);
    }
    const struct gone_name *departed = gone ? gone_names_find(gone, name) : NULL;
    if (departed) {
        ret->why = MISSING_DELETED;
        ret->gone = departed->name;
        ret->gone_ms = departed->time_ms;
        ret->had = departed->host;
    }
}
