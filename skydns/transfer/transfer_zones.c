#include "skydns/transfer/transfer_zones_internal.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "skydns/publish/engine_config.h"
#include "skydns/transfer/serial.h"
#include "skydns/transfer/zone_diff_internal.h"

/* ---- Versions ---- */

struct transfer_setup *transfer_setup_hold(struct transfer_setup *setup)
{
    setup->references++;
    return setup;
}

void transfer_setup_release(struct transfer_setup *setup)
{
    if (setup && --setup->references == 0) {
        zone_answers_free(setup->answers);
        engine_config_free(setup->config);
        free(setup);
    }
}

void transfer_version_release(struct transfer_version *version)
{
    if (!version || --version->references > 0) {
        return;
    }
    struct transfer_zones *zones = version->zones;
    TAILQ_REMOVE(&zones->versions, version, entry);
    transfers_release(zones->owner, version->store);
    transfer_setup_release(version->setup);
    free(version);
}

static int find_in(const struct transfer_version *version, const struct dname *apex)
{
    for (size_t i = 0; i < version->zone_count; i++) {
        if (dname_equal(&version->of[i].apex, apex)) {
            return (int)i;
        }
    }
    return -1;
}

uint32_t transfer_version_serial(const struct transfer_version *version, const struct dname *apex)
{
    return version->of[find_in(version, apex)].serial;
}

static bool has_whole(const struct transfer_version *version, const struct dname *apex)
{
    int i = find_in(version, apex);
    return i >= 0 && version->of[i].is_whole;
}

/* Counts the versions that only sessions hold. */
static size_t older_count(const struct transfer_zones *zones)
{
    size_t count = 0;
    const struct transfer_version *version;
    TAILQ_FOREACH (version, &zones->versions, entry) {
        count += version != zones->newest;
    }
    return count;
}

struct transfer_version *transfer_zones_hold(struct transfer_zones *zones, const struct dname *apex)
{
    struct transfer_version *version = zones->newest;
    bool is_held = version && version->references > 1;
    if (version && !is_held && older_count(zones) >= TRANSFER_VERSIONS_MAX) {
        version = TAILQ_NEXT(version, entry);
    }
    if (!version || !has_whole(version, apex)) {
        return NULL;
    }
    version->references++;
    return version;
}

static void make_newest(struct transfer_zones *zones, const struct transfer_step *step)
{
    struct transfer_version *version = xcalloc(1, sizeof(*version));
    struct transfer_version *before = zones->newest;
    version->references = 1;
    version->zones = zones;
    version->store = step->store;
    version->setup = transfer_setup_hold(zones->setup);
    version->zone_count = zones->count;
    for (size_t i = 0; i < zones->count; i++) {
        version->of[i].apex = zones->items[i].apex;
        version->of[i].serial = zones->items[i].journal.serial;
        version->of[i].is_whole = !step->zones[i].is_incomplete;
    }
    TAILQ_INSERT_HEAD(&zones->versions, version, entry);
    zones->newest = version;
    transfer_version_release(before);
}

/* ---- Setups ---- */

static void forget_zones(struct transfer_zones *zones)
{
    for (size_t i = 0; i < zones->count; i++) {
        journal_fini(&zones->items[i].journal);
    }
    zones->count = 0;
    transfer_version_release(zones->newest);
    zones->newest = NULL;
    transfer_setup_release(zones->setup);
    zones->setup = NULL;
}

/* Returns the first serial of a zone, which only grows. Every zone counts as new: nobody compares
 * what it was with what it is. With the same settings, it is the same where etcd's part of the
 * serial is. */
static uint32_t first_serial(const struct transfer_step_zone *zone, bool are_same_settings)
{
    struct zone_serial *serial = zone->serial;
    uint32_t shown = zone_serial_get(serial);
    bool is_known = zone_serial_is_known(serial);
    if (is_known && are_same_settings && serial->plain == zone->target) {
        return shown;
    }
    serial->plain = zone->target;
    return is_known ? serial_after(zone->target, shown) : zone->target;
}

static void set_up(struct transfer_zones *zones, struct transfer_step *step)
{
    bool are_same_settings = zones->settings == step->settings;
    forget_zones(zones);
    zones->settings = step->settings;
    zones->setup = xcalloc(1, sizeof(*zones->setup));
    *zones->setup = (struct transfer_setup){.references = 1, .config = step->config};
    zones->setup->answers = zone_answers_new(step->config);
    step->config = NULL;
    for (; zones->count < step->zone_count; zones->count++) {
        const struct transfer_step_zone *from = &step->zones[zones->count];
        struct transfer_zone *zone = &zones->items[zones->count];
        *zone = (struct transfer_zone){.apex = from->apex, .serial = from->serial};
        journal_init(&zone->journal, &zones->account, first_serial(from, are_same_settings));
    }
}

/* ---- Steps ---- */

struct difference {
    struct buf removed, added; /* packed */
};

static void on_record(void *data, bool is_added, struct slice bytes)
{
    struct difference *difference = data;
    buf_append_slice(is_added ? &difference->added : &difference->removed, bytes);
}

/* Advances the serial if the zone has changed, or counts as changed later than before. */
static uint32_t transfer_zones_next_serial(const struct transfer_zone *zone, uint32_t target,
                                           bool has_changed)
{
    uint32_t now = zone->journal.serial;
    if (!has_changed && !serial_is_after(target, zone->serial->plain)) {
        return now;
    }
    zone->serial->plain = target;
    return serial_after(target, now);
}

/* Compares the newest version with the step's. */
static void transfer_zones_compare(const struct transfer_zones *zones, struct transfer_zone *zone,
                                   const struct transfer_step *step, uint32_t target)
{
    struct difference difference;
    buf_init(&difference.removed, JOURNAL_KEPT_MAX);
    buf_init(&difference.added, JOURNAL_KEPT_MAX);
    const struct zone_diff_ask ask = {
        .answers = zones->setup->answers,
        .config = zones->setup->config,
        .before = zones->newest->store,
        .after = step->store,
        .apex = &zone->apex,
        .fn = on_record,
        .data = &difference,
    };
    enum zone_diff_result result = zone_diff(&ask);
    bool is_too_much =
        result != ZONE_DIFF_DONE || difference.removed.failed || difference.added.failed;
    bool has_changed = is_too_much || difference.removed.len + difference.added.len > 0;
    uint32_t serial = transfer_zones_next_serial(zone, target, has_changed);
    if (is_too_much) {
        journal_reset(&zone->journal, serial);
    } else if (serial != zone->journal.serial) {
        journal_append(&zone->journal, serial, buf_slice(&difference.removed),
                       buf_slice(&difference.added));
    }
    buf_fini(&difference.removed);
    buf_fini(&difference.added);
}

/* Steps a zone. An incomplete one stays as it was; changes until it is whole again are not
 * known. */
static void step_zone(struct transfer_zones *zones, size_t i, const struct transfer_step *step)
{
    struct transfer_zone *zone = &zones->items[i];
    const struct transfer_step_zone *to = &step->zones[i];
    if (to->is_incomplete || !zones->newest) {
        return;
    }
    if (zones->newest->of[i].is_whole) {
        transfer_zones_compare(zones, zone, step, to->target);
    } else if (to->target != zone->serial->plain) {
        journal_reset(&zone->journal, transfer_zones_next_serial(zone, to->target, true));
    }
}

/* Shows the serials only now that all of it can be transferred. */
static bool show_serials(const struct transfer_zones *zones, const struct transfer_step *step)
{
    bool has_moved = false;
    for (size_t i = 0; i < zones->count; i++) {
        const struct transfer_zone *zone = &zones->items[i];
        if (!step->zones[i].is_incomplete &&
            (!zone_serial_is_known(zone->serial) ||
             zone_serial_get(zone->serial) != zone->journal.serial)) {
            zone_serial_set(zone->serial, zone->journal.serial);
            has_moved = true;
        }
    }
    return has_moved;
}

bool transfer_zones_step(struct transfer_zones *zones, struct transfer_step *step)
{
    if (!step->store) {
        engine_config_free(step->config);
        forget_zones(zones);
        return false;
    }
    if (step->config) {
        set_up(zones, step);
    }
    for (size_t i = 0; i < zones->count; i++) {
        step_zone(zones, i, step);
    }
    make_newest(zones, step);
    return show_serials(zones, step);
}

bool transfer_zones_hear(struct transfer_zones *zones, const struct dname *apex, uint32_t theirs,
                         bool is_first, uint32_t *ret_serial)
{
    int i = transfer_zones_find(zones, apex);
    if (i < 0 || !zones->newest || !zones->newest->of[i].is_whole) {
        return false;
    }
    struct journal *journal = &zones->items[i].journal;
    const uint32_t serial =
        is_first ? serial_above(journal->serial, theirs) : serial_join(journal->serial, theirs);
    if (serial == journal->serial) {
        return false;
    }
    journal_append(journal, serial, slice_of(NULL, 0), slice_of(NULL, 0));
    zones->newest->of[i].serial = serial;
    zone_serial_set(zones->items[i].serial, serial);
    *ret_serial = serial;
    return true;
}

int transfer_zones_find(const struct transfer_zones *zones, const struct dname *apex)
{
    for (size_t i = 0; i < zones->count; i++) {
        if (dname_equal(&zones->items[i].apex, apex)) {
            return (int)i;
        }
    }
    return -1;
}

void transfer_zones_init(struct transfer_zones *zones, struct transfers *owner)
{
    *zones = (struct transfer_zones){.account = {.limit = JOURNAL_KEPT_MAX}, .owner = owner};
    TAILQ_INIT(&zones->versions);
}

void transfer_zones_fini(struct transfer_zones *zones)
{
    forget_zones(zones);
}
