#include "skydns/past/past_version_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/rr_types.h"
#include "skydns/answer/answer_kube.h"
#include "skydns/answer/follow.h"
#include "skydns/past/past_range_internal.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/publish/reverse_zone.h"
#include "skydns/records/overrides.h"
#include "skydns/records/store.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/override_index.h"
#include "skydns/sync/store_sync.h"

/* Keys asked for at once to learn whether a name exists: one is mostly enough. */
enum { FEW = 20 };

/* Ranges read for a name and then for its ancestors. */
enum { PART_AT, PART_BELOW, PART_WILD_AT, PART_WILD_BELOW, PARTS };

struct past_version {
    struct past_version_config config;
    struct past_budget budget;
    struct past_range range;
    uint64_t config_serial, data_set; /* at the begin */
    struct store_writer *writer;
    struct broken_table *broken;
    struct override_index *overrides;
    const struct store *store; /* once it is made */
    struct store_garbage *of_overrides;

    struct dname names[PAST_NAMES_MAX];
    size_t count, at;
    bool is_full; /* there are more names */

    /* The name that is being read: */
    struct dname listed; /* all below it is listed */
    struct dname above;  /* it, or the ancestor that is being looked at */
    bool is_external;
    bool is_listed; /* all keys below are read; else one, to learn whether it exists */
    bool exists;    /* `above` does, or a name below it */
    unsigned part;
};

static const struct engine_config *settings_now(const struct past_version *v)
{
    return publisher_newest_config(v->config.publisher);
}

/* ---- Names ---- */

static void add_past_name(struct past_version *v, const struct dname *name)
{
    for (size_t i = 0; i < v->count; i++) {
        if (dname_equal(&v->names[i], name)) {
            return;
        }
    }
    if (v->count == PAST_NAMES_MAX) {
        v->is_full = true;
        return;
    }
    v->names[v->count++] = *name;
}

static void add_if_any(struct past_version *v, const struct dname *name)
{
    if (name->len > 0) {
        add_past_name(v, name);
    }
}

/* Adds the names that the settings make of this one. */
static void add_of_settings(struct past_version *v, const struct dname *name,
                            const struct engine_zone *zone)
{
    const struct engine_config *config = settings_now(v);
    const struct engine_alias *alias = zone ? NULL : engine_config_alias(config, name);
    struct dname target;
    if (alias && engine_config_alias_target(alias, name, &target)) {
        dname_lower(&target);
        add_past_name(v, &target);
    }
    if (zone && (dname_equal(name, &zone->domain) || v->config.type == DNS_TYPE_NS)) {
        add_if_any(v, &zone->ns);
        add_if_any(v, &zone->apex);
    }
    if (zone && zone->is_external) { /* view.h */
        add_if_any(v, &zone->shown);
    }
    if (zone && dname_equal(name, &zone->local)) {
        add_if_any(v, &config->settings.local);
    }
}

/* Returns whether no type of the name lists what is below it. */
static bool is_above_records(const struct past_version *v, const struct engine_zone *zone,
                             const struct dname *name)
{
    const bool is_kube = settings_now(v)->settings.schema == ENGINE_SCHEMA_KUBERNETES;
    const enum kube_place place = is_kube ? kube_place_of(zone, name) : KUBE_OTHER;
    const bool is_of_zone = v->config.type == DNS_TYPE_SOA || v->config.type == DNS_TYPE_NS;
    return place == KUBE_DOMAIN || place == KUBE_ABOVE ||
           (is_of_zone && dname_equal(name, &zone->domain));
}

/* Begins with a name: decides what to read of it. Returns false if nothing depends on etcd. */
static bool begin_name(struct past_version *v, const struct dname *name)
{
    const struct engine_config *config = settings_now(v);
    const struct engine_zone *zone = engine_config_zone(config, name);
    const struct lookup_rule rule =
        zone ? follow_rule(config, zone) : (struct lookup_rule){.no_wildcards = true};
    v->is_external = !zone && !reverse_zone_is_reverse(name);
    v->listed = v->above = lookup_listed_name(name, rule);
    v->is_listed = !zone || !is_above_records(v, zone, name);
    v->exists = false;
    v->part = PART_AT;
    add_of_settings(v, name, zone);
    return !v->is_external || config->settings.overrides;
}

/* ---- Records ---- */

/* Returns whether an override's record shows that `above` exists. */
static bool shows_owner(const struct past_version *v, const struct store_record *record,
                        const struct dname *name)
{
    struct dname owner = *name;
    if (record->targetstrip > OVERRIDE_STRIP_MAX ||
        record->targetstrip >= dname_label_count(name)) {
        return false;
    }
    dname_strip(&owner, record->targetstrip);
    return dname_is_within(&owner, &v->above);
}

static void note_record(struct past_version *v, const struct dname *name)
{
    const struct store_record *record = store_writer_find(v->writer, name);
    struct dname target;
    v->exists = v->exists || !v->is_external || shows_owner(v, record, name);
    const bool is_read_whole =
        (v->is_listed && dname_is_within(name, &v->listed)) || v->part >= PART_WILD_AT;
    if (!is_read_whole || !store_record_host_name(record, &target)) {
        return;
    }
    dname_lower(&target);
    /* Its records are among those that are being read. */
    if (!v->is_listed || v->is_external || !dname_is_within(&target, &v->listed)) {
        add_past_name(v, &target);
    }
}

static void put_key(struct past_version *v, const struct etcd_kv *kv)
{
    struct dname name;
    struct record record;
    struct err why;
    switch (store_sync_read_key(v->config.sync, kv, &name, &record, &why)) {
    case STORE_KEY_CONFIG:
        break;
    case STORE_KEY_RECORD:
        record.is_leased = kv->lease != 0;
        if (store_writer_put_view(v->writer, &name, &record, kv->mod_revision) == STORE_HOST_BAD) {
            (void)broken_put(v->broken, kv->key, kv->mod_revision, STORE_KEY_BAD_HOST);
        }
        record_fini(&record);
        note_record(v, &name);
        break;
    case STORE_KEY_NO_NAME:
    case STORE_KEY_NO_RECORD:
        (void)broken_put(v->broken, kv->key, kv->mod_revision, why.msg);
        break;
    }
}

static bool past_version_on_page(void *data, const struct etcd_kv *kvs, size_t count,
                                 int64_t newest UNUSED)
{
    struct past_version *v = data;
    for (size_t i = 0; i < count; i++) {
        put_key(v, &kvs[i]);
    }
    const bool is_whole = v->part != PART_BELOW || dname_equal(&v->above, &v->listed);
    return (is_whole && v->is_listed) || !v->exists;
}

/* ---- Steps ---- */

static void make_overrides(struct past_version *v, const struct engine_config *config)
{
    struct dname domains[ENGINE_ZONES_MAX];
    for (size_t i = 0; i < config->zone_count; i++) {
        domains[i] = config->zones[i].domain;
    }
    const uint32_t ttl_s = config->settings.ttl_s;
    override_index_set(v->overrides,
                       &(struct override_index_rule){
                           .is_on = config->settings.overrides,
                           .ttl_s = ttl_s == ENGINE_TTL_DEFAULT_S ? ENGINE_OVERRIDE_TTL_S : ttl_s,
                           .domain_count = config->zone_count,
                           .domains = domains,
                       });
    override_index_note_all(v->overrides);
    store_writer_set_overrides(
        v->writer, override_index_follow(v->overrides, NULL, v->store, &v->of_overrides));
}

static void make_past_version(struct past_version *v)
{
    struct store_garbage *garbage;
    struct err err;
    const struct engine_config *config = settings_now(v);
    if (config->serial != v->config_serial || store_sync_data_set(v->config.sync) != v->data_set ||
        !store_sync_is_caught_up(v->config.sync)) {
        err_set(&err, ERR_UNAVAILABLE, "etcd or the settings changed while its history was read");
        past_explain_take_version(v->config.owner, &err);
        return;
    }
    store_writer_touch(v->writer);
    v->store = store_writer_commit(v->writer, v->config.revision, &garbage);
    store_garbage_free(garbage);
    make_overrides(v, config);
    past_explain_take_version(v->config.owner, NULL);
}

/* Reads the range of the current part. Returns false if there is none. */
static bool read_part(struct past_version *v)
{
    struct buf key;
    struct dname at = v->above;
    const bool is_wild = v->part >= PART_WILD_AT;
    if (is_wild && (!v->is_external || dname_equal(&v->above, &v->listed) ||
                    !dname_prepend(&at, slice_str("*")))) {
        return false;
    }
    const struct slice prefix = store_sync_prefix(v->config.sync);
    buf_init(&key, prefix.len + DNAME_MAX);
    record_key_of(prefix, &at, &key);
    const bool is_whole = is_wild || (dname_equal(&v->above, &v->listed) && v->is_listed);
    const bool is_below = v->part == PART_BELOW || v->part == PART_WILD_BELOW;
    past_range_read(&v->range, buf_slice(&key), is_below, is_whole ? 0 : FEW);
    buf_fini(&key);
    return true;
}

/* Goes up to the next ancestor, unless one exists. Returns false if the name is done. */
static bool go_to_ancestor(struct past_version *v)
{
    if (v->exists || v->above.len <= 1) {
        return false;
    }
    dname_strip(&v->above, 1);
    v->part = PART_AT;
    return v->above.len > 1;
}

static bool next_name(struct past_version *v)
{
    while (!v->is_full && v->at < v->count) {
        if (begin_name(v, &v->names[v->at++])) {
            return true;
        }
    }
    return false;
}

/* Goes on to the next range that there is, or ends. */
static void go_on(struct past_version *v)
{
    do {
        for (; v->part < PARTS; v->part++) {
            if (read_part(v)) {
                return;
            }
        }
    } while (go_to_ancestor(v) || next_name(v));
    if (v->is_full) {
        struct err err;
        err_set(&err, ERR_TOO_LARGE, "it leads to more than %d names", PAST_NAMES_MAX);
        past_explain_take_version(v->config.owner, &err);
    } else {
        make_past_version(v);
    }
}

static void past_version_on_done(void *data, const struct err *err)
{
    struct past_version *v = data;
    if (err) {
        past_explain_take_version(v->config.owner, err);
        return;
    }
    v->part += v->part < PARTS; /* all are, before the first name */
    go_on(v);
}

struct past_version *past_version_read(const struct past_version_config *config)
{
    struct past_version *v = xcalloc(1, sizeof(*v));
    v->config = *config;
    v->config.names = NULL; /* the caller's */
    v->budget = (struct past_budget){.keys = PAST_KEYS_MAX, .bytes = PAST_BYTES_MAX};
    v->config_serial = settings_now(v)->serial;
    v->data_set = store_sync_data_set(config->sync);
    v->writer = store_writer_new();
    v->broken = broken_new();
    v->overrides = override_index_new();
    past_range_init(&v->range, &(struct past_range_config){
                                   .etcd = config->etcd,
                                   .budget = &v->budget,
                                   .revision = config->revision,
                                   .page = past_version_on_page,
                                   .done = past_version_on_done,
                                   .data = v,
                               });
    for (size_t i = 0; i < config->count; i++) {
        add_past_name(v, &config->names[i]);
    }
    v->part = PARTS;
    /* Whatever the names depend on, etcd must have the revision. No key has this name. */
    past_range_read(&v->range, store_sync_prefix(config->sync), false, 1);
    return v;
}

void past_version_free(struct past_version *v)
{
    if (!v) {
        return;
    }
    past_range_fini(&v->range);
    store_garbage_free(v->of_overrides);
    override_index_free(v->overrides);
    store_writer_free(v->writer);
    broken_free(v->broken);
    free(v);
}

const struct store *past_version_store(const struct past_version *version)
{
    return version->store;
}

const struct broken_table *past_version_broken(const struct past_version *version)
{
    return version->broken;
}
