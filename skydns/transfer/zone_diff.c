#include <string.h>

#include "skydns/records/store_diff.h"
#include "skydns/transfer/zone_diff_internal.h"

/* ---- Names that may have changed ---- */

struct affected {
    const struct dname *apex;
    struct zone_rrs names; /* records of which only the owners matter */
    size_t changes;
};

static void add_name(struct affected *affected, const struct dname *name)
{
    const struct zone_rr owner = {.owner = slice_of(name->wire, name->len)};
    zone_rrs_add(&affected->names, &owner);
}

/* Adds the name and those above it, up to the apex. */
static bool zone_diff_on_change(void *data, const struct store_record *before,
                                const struct store_record *after)
{
    struct affected *affected = data;
    struct dname name;
    store_record_name(after ? after : before, &name);
    for (; dname_is_within(&name, affected->apex); dname_strip(&name, 1)) {
        add_name(affected, &name);
        if (name.len == affected->apex->len) {
            break;
        }
    }
    return ++affected->changes <= ZONE_DIFF_CHANGES_MAX;
}

/* Adds the name that stands for another, wherever that is. */
static void add_local(struct affected *affected, const struct zone_diff_ask *ask)
{
    for (size_t i = 0; ask->config->settings.local.len > 0 && i < ask->config->zone_count; i++) {
        const struct engine_zone *zone = &ask->config->zones[i];
        if (zone->local.len > 0 && dname_equal(&zone->domain, ask->apex)) {
            add_name(affected, &zone->local);
        }
    }
}

/* ---- Their records ---- */

struct comparison {
    const struct zone_diff_ask *ask;
    struct zone_rrs before, after;
};

static bool zone_diff_compare(struct comparison *c, const struct dname *name)
{
    const struct zone_diff_ask *ask = c->ask;
    if (!zone_answers_of(ask->answers, ask->before, name, &c->before) ||
        !zone_answers_of(ask->answers, ask->after, name, &c->after)) {
        return false;
    }
    zone_rrs_diff(&c->before, &c->after, ask->fn, ask->data);
    return true;
}

/* Compares all names. Returns false if the records are not known. */
static bool compare_all(const struct zone_diff_ask *ask, const struct affected *affected)
{
    struct comparison c = {.ask = ask};
    bool is_known = true;
    zone_rrs_init(&c.before);
    zone_rrs_init(&c.after);
    for (size_t i = 0; is_known && i < affected->names.count; i++) {
        struct slice bytes = zone_rrs_get(&affected->names, i);
        struct reader r = reader_of(bytes.ptr, bytes.len);
        struct zone_rr owner;
        struct dname name;
        if (!zone_rr_read(&r, &owner)) {
            continue;
        }
        name.len = (uint8_t)owner.owner.len;
        memcpy(name.wire, owner.owner.ptr, name.len);
        is_known =
            !zone_answers_is_of_zone(ask->config, ask->apex, &name) || zone_diff_compare(&c, &name);
    }
    zone_rrs_fini(&c.before);
    zone_rrs_fini(&c.after);
    return is_known;
}

enum zone_diff_result zone_diff(const struct zone_diff_ask *ask)
{
    struct affected affected = {.apex = ask->apex};
    enum zone_diff_result result = ZONE_DIFF_TOO_MUCH;
    zone_rrs_init(&affected.names);
    if (store_diff(ask->before, ask->after, zone_diff_on_change, &affected)) {
        add_local(&affected, ask);
        zone_rrs_sort(&affected.names);
        result = compare_all(ask, &affected) ? ZONE_DIFF_DONE : ZONE_DIFF_UNKNOWN;
    }
    zone_rrs_fini(&affected.names);
    return result;
}
