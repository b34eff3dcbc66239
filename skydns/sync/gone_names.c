#include "skydns/sync/gone_names.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "skydns/records/store.h"
#include "skydns/records/store_diff.h"

struct gone_names {
    uint64_t noted; /* since the start; the last GONE_NAMES_MAX are in `items` */
    struct gone_name items[GONE_NAMES_MAX];
};

enum { SERVICE_LABELS = 3 }; /* web.default.svc */

/* Two versions compared. */
struct departure {
    struct gone_names *gone;
    const struct store *after;
    const struct dname *domains;
    size_t domain_count;
    uint64_t first; /* noted of this version */
};

struct gone_names *gone_names_new(void)
{
    return xcalloc(1, sizeof(struct gone_names));
}

void gone_names_free(struct gone_names *gone)
{
    free(gone);
}

static const struct gone_name *gone_names_at(const struct gone_names *gone, uint64_t number)
{
    return &gone->items[number % GONE_NAMES_MAX];
}

/* Returns the first number that is still there. */
static uint64_t gone_names_oldest(const struct gone_names *gone)
{
    return gone->noted < GONE_NAMES_MAX ? 0 : gone->noted - GONE_NAMES_MAX;
}

/* Returns the domain whose names are remembered, or NULL. */
static const struct dname *domain_remembered(const struct departure *d, const struct dname *name)
{
    for (size_t i = 0; i < d->domain_count; i++) {
        if (dname_is_within(name, &d->domains[i])) {
            struct dname_labels labels;
            dname_labels(name, &labels);
            const unsigned own = labels.count - dname_label_count(&d->domains[i]);
            const bool is_pod = own > 0 && slice_equal(dname_label(name, labels.offsets[own - 1]),
                                                       slice_str("pod"));
            return is_pod ? NULL : &d->domains[i];
        }
    }
    return NULL;
}

/* Returns whether kube2sky may have made the label from a value: hexadecimal digits. */
static bool is_hash(struct slice label)
{
    enum { HASH_MAX = 8 };
    bool ok = label.len > 0 && label.len <= HASH_MAX;
    for (size_t i = 0; i < label.len && ok; i++) {
        const char c = label.ptr[i];
        ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    }
    return ok;
}

/* Finds the object that a record was of: removes the labels of a port, and that of the key. If what
 * is left still exists, it is an endpoint with a name of its own. Returns false if nothing went. */
static bool find_object(const struct departure *d, const struct dname *name,
                        const struct dname *domain, struct dname *ret_object)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    const unsigned own = labels.count - dname_label_count(domain);
    const bool is_service =
        own > 0 && slice_equal(dname_label(name, labels.offsets[own - 1]), slice_str("svc"));
    const unsigned kept = is_service ? SERVICE_LABELS : 1;
    unsigned cut = own > kept;
    for (unsigned i = 0; i + kept < own; i++) {
        const struct slice label = dname_label(name, labels.offsets[i]);
        cut = label.len > 0 && label.ptr[0] == '_' ? i + 1 : cut;
    }
    *ret_object = *name;
    dname_strip(ret_object, cut);
    if (cut == 1 && store_find(d->after, ret_object) &&
        !is_hash(dname_label(name, labels.offsets[0]))) {
        *ret_object = *name;
    }
    return !store_find(d->after, ret_object);
}

static bool is_noted(const struct departure *d, const struct dname *name)
{
    const uint64_t oldest = gone_names_oldest(d->gone);
    const uint64_t first = d->first > oldest ? d->first : oldest;
    enum { LOOKED_AT = 64 }; /* a Service's records come together */
    for (uint64_t i = d->gone->noted; i > first && d->gone->noted - i < LOOKED_AT; i--) {
        if (dname_equal(&gone_names_at(d->gone, i - 1)->name, name)) {
            return true;
        }
    }
    return false;
}

static bool note_departure(void *data, const struct store_record *old_record,
                           const struct store_record *new_record)
{
    struct departure *d = data;
    struct dname name, object;
    if (new_record) {
        return true;
    }
    store_record_name(old_record, &name);
    const struct dname *domain = domain_remembered(d, &name);
    if (!domain) {
        return true;
    }
    if (find_object(d, &name, domain, &object) && !is_noted(d, &object)) {
        d->gone->items[d->gone->noted++ % GONE_NAMES_MAX] = (struct gone_name){
            .name = object, .host = store_record_ip(old_record), .time_ms = clock_wall_ms()};
    }
    return true;
}

void gone_names_follow(struct gone_names *gone, const struct store *before,
                       const struct store *after, const struct dname *domains, size_t count)
{
    struct departure d = {.gone = gone,
                          .after = after,
                          .domains = domains,
                          .domain_count = count,
                          .first = gone->noted};
    if (before && before != after) {
        (void)store_diff(before, after, note_departure, &d); /* it never stops */
    }
}

const struct gone_name *gone_names_find(const struct gone_names *gone, const struct dname *name)
{
    const int64_t now_ms = clock_wall_ms();
    for (uint64_t i = gone->noted; i > gone_names_oldest(gone); i--) {
        const struct gone_name *item = gone_names_at(gone, i - 1);
        if ((dname_is_within(&item->name, name) || dname_is_within(name, &item->name)) &&
            now_ms - item->time_ms < GONE_NAMES_AGE_MS) {
            return item;
        }
    }
    return NULL;
}
