#include "skydns/transfer_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_store_id.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"
#include "skydns/sync/zone_history.h"
#include "skydns/transfer/serial.h"
#include "skydns/transfer/transfers.h"
#include "skydns/transfer_config.h"

/* Limits domains that this process has followed; they change by hand. */
enum { BASES_MAX = 256 };

/* Content of a domain's key. */
struct base {
    struct dname domain;
    bool has_key;
    uint32_t value;
    int64_t revision; /* at which it was written; 0: there is no key */
};

struct transfer_source {
    struct transfer_source_config config;
    struct writer_documents *keys; /* of the bases; NULL: no client may transfer */
    size_t base_count;
    struct base bases[BASES_MAX];
    ev_prepare prepare;
    ev_timer pause;
    bool has_given;                     /* the thread has a configuration */
    uint64_t given_store, given_config; /* serials */
    struct zone_history *history;       /* NULL: it is not asked */
    size_t zone_count;
    struct dname zones[TRANSFER_ZONES_MAX]; /* whose changes are noted */
    bool has_told;                          /* that signatures are left out */
    bool wants_history;                     /* of new zones, or what was read */
    uint64_t reads;                         /* of all records, that history was asked after */
    uint64_t settings;                      /* hash of those given last */
    bool is_known;                          /* the serials of all zones, and told so */
    bool is_stale;                          /* a base is another one */
    int64_t given_ms;
};

/* ---- Serials ---- */

/* Returns the base's index, or base_count. */
static size_t find_base(const struct transfer_source *source, const struct dname *domain)
{
    size_t i = 0;
    while (i < source->base_count && !dname_equal(&source->bases[i].domain, domain)) {
        i++;
    }
    return i;
}

static void transfer_source_on_key(void *data, const struct dname *domain, struct slice value,
                                   int64_t revision)
{
    struct transfer_source *source = data;
    size_t i = find_base(source, domain);
    if (i == BASES_MAX) {
        return; /* many domains have come and gone */
    }
    struct base *base = &source->bases[i];
    source->base_count += i == source->base_count;
    base->domain = *domain;
    base->has_key = etcd_serial_base(value, &base->value);
    base->value = base->has_key ? base->value : ZONE_SERIAL_LOWEST;
    base->revision = base->has_key ? revision : 0;
    source->is_stale = true;
}

/* Returns the domain of a zone; reverse and external zones have the first one. */
static const struct dname *transfer_source_domain_of(const struct engine_config *config,
                                                     const struct dname *apex)
{
    const struct engine_zone *zone = engine_config_zone(config, apex);
    return zone && !zone->is_external ? &zone->domain : &config->first_domain;
}

struct serial_origin transfer_source_origin(const struct transfer_source *source,
                                            const struct dname *apex)
{
    const struct engine_config *now = publisher_newest_config(source->config.publisher);
    const struct dname *domain = transfer_source_domain_of(now, apex);
    size_t i = find_base(source, domain);
    const struct base *base = i < source->base_count ? &source->bases[i] : NULL;
    const int64_t changed_at = store_sync_zone_revision(source->config.sync, apex);
    return (struct serial_origin){
        .is_known = base != NULL,
        .has_key = base && base->has_key,
        .domain = *domain,
        .base = base ? base->value : ZONE_SERIAL_LOWEST,
        .revision = base && base->revision > changed_at ? base->revision : changed_at,
        .is_of_base = base && base->revision > changed_at,
        .settings_part = serial_settings_part(source->settings),
    };
}

/* ---- Steps ---- */

static void transfer_source_add_zone(const struct transfer_source *source,
                                     struct transfer_step *step, struct zone_serial *serial,
                                     bool is_incomplete)
{
    if (serial) {
        const struct serial_origin origin = transfer_source_origin(source, &serial->apex);
        step->zones[step->zone_count++] = (struct transfer_step_zone){
            .apex = serial->apex,
            .serial = serial,
            .target = origin.base + (uint32_t)origin.revision + origin.settings_part,
            .is_incomplete = is_incomplete,
        };
    }
}

static void transfer_source_fill(const struct transfer_source *source,
                                 const struct engine_config *now, struct transfer_step *step)
{
    for (size_t i = 0; i < now->zone_count; i++) {
        transfer_source_add_zone(source, step, now->zones[i].serial, now->zones[i].is_incomplete);
    }
    for (size_t i = 0; i < now->settings.reverse_zone_count; i++) {
        transfer_source_add_zone(source, step, now->reverse_serials[i],
                                 engine_config_lacks_names(now));
    }
    for (size_t i = 0; i < now->settings.transfer_count; i++) {
        if (now->settings.transfers[i].notify.len > 0) {
            step->targets[step->target_count++] = now->settings.transfers[i].notify;
        }
    }
}

static size_t list_zones(const struct engine_config *now, struct dname apexes[TRANSFER_ZONES_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < now->zone_count; i++) {
        apexes[count++] = now->zones[i].domain;
    }
    for (size_t i = 0; i < now->settings.reverse_zone_count; i++) {
        if (now->reverse_serials[i]) {
            apexes[count++] = now->reverse_serials[i]->apex;
        }
    }
    return count;
}

static void transfer_source_set_zones(struct transfer_source *source,
                                      const struct engine_config *now)
{
    struct dname apexes[TRANSFER_ZONES_MAX];
    size_t count = list_zones(now, apexes);
    if (dname_lists_equal(apexes, count, source->zones, source->zone_count)) {
        return;
    }
    memcpy(source->zones, apexes, count * sizeof(apexes[0]));
    source->zone_count = count;
    store_sync_set_zones(source->config.sync, apexes, count);
    zone_history_free(source->history);
    source->history = NULL;
    source->wants_history = true;
}

static void on_history(void *data, const struct dname *apexes, const int64_t *revisions,
                       size_t count)
{
    struct transfer_source *source = data;
    for (size_t i = 0; i < count; i++) {
        if (revisions[i] > 0) {
            store_sync_refine_zone(source->config.sync, &apexes[i], revisions[i]);
        }
    }
    zone_history_free(source->history);
    source->history = NULL;
}

/* Asks etcd for the history of zones that this process has not watched change: before their next
 * serial. */
static void ask_history(struct transfer_source *source, const struct engine_config *now)
{
    struct dname apexes[TRANSFER_ZONES_MAX];
    source->wants_history = false;
    zone_history_free(source->history);
    source->history = zone_history_start(&(struct zone_history_config){
        .loop = source->config.loop,
        .etcd = source->config.etcd,
        .prefix = store_sync_prefix(source->config.sync),
        .revision = store_sync_counts(source->config.sync).revision,
        .apexes = apexes,
        .count = list_zones(now, apexes),
        .timeout_ms = TRANSFER_HISTORY_MS,
        .done = on_history,
        .data = source,
    });
}

/* Follows the domains' keys from the first time that somebody may transfer. */
static void follow_keys(struct transfer_source *source, const struct engine_config *now)
{
    struct dname domains[ENGINE_ZONES_MAX];
    if (!source->keys) {
        source->keys = writer_documents_new(
            &(struct writer_documents_config){.loop = source->config.loop,
                                              .etcd = source->config.etcd,
                                              .name = "serial",
                                              .stale_max_ms = source->config.stale_max_ms,
                                              .changed = transfer_source_on_key,
                                              .data = source});
    }
    for (size_t i = 0; i < now->zone_count; i++) {
        domains[i] = now->zones[i].domain;
    }
    writer_documents_set_domains(source->keys, domains, now->zone_count);
    transfer_source_set_zones(source, now);
}

static bool knows_bases(const struct transfer_source *source, const struct engine_config *now)
{
    for (size_t i = 0; i < now->zone_count; i++) {
        if (find_base(source, &now->zones[i].domain) == source->base_count) {
            return false;
        }
    }
    return true;
}

/* Returns whether records and bases are of one etcd data set: each may lead while etcd is replaced
 * by another. */
static bool is_of_one_store(const struct transfer_source *source, const struct engine_config *now)
{
    return store_sync_is_ready(source->config.sync) &&
           store_sync_is_caught_up(source->config.sync) && knows_bases(source, now) &&
           writer_documents_is_caught_up(source->keys);
}

static void transfer_source_end(struct transfer_source *source)
{
    source->has_given = false;
    source->given_store = 0;
    transfers_give(source->config.transfers, xcalloc(1, sizeof(struct transfer_step)));
}

static void tell_unsigned(struct transfer_source *source, const struct engine_config *now)
{
    if (now->dnssec && !source->has_told) {
        log_warn("zones are transferred unsigned, though -dnssec signs answers: validators will "
                 "refuse what secondaries say");
    }
    source->has_told = now->dnssec != NULL;
}

/* Sends a step. Returns false while too many versions are pinned, which passes soon. */
static bool transfer_source_send(struct transfer_source *source, const struct engine_config *now)
{
    const struct store *store = publisher_pin(source->config.publisher);
    if (!store) {
        return false;
    }
    struct transfer_step *step = xcalloc(1, sizeof(*step));
    struct engine_config *config = transfer_config(now);
    step->store = store;
    step->settings = transfer_config_hash(config);
    if (!source->has_given || source->settings != step->settings) {
        step->config = config;
    } else {
        engine_config_free(config);
    }
    source->settings = step->settings;
    source->has_given = true;
    transfer_source_fill(source, now, step);
    tell_unsigned(source, now);
    source->given_store = store_serial(store);
    source->given_config = now->serial;
    source->is_stale = false;
    source->given_ms = clock_monotonic_ms();
    transfers_give(source->config.transfers, step);
    return true;
}

static void transfer_source_check(struct transfer_source *source)
{
    const struct engine_config *now = publisher_newest_config(source->config.publisher);
    const struct store *store = store_sync_store(source->config.sync);
    if (!transfers_is_idle(source->config.transfers)) {
        return;
    }
    if (now->settings.transfer_count == 0) {
        if (source->has_given) {
            transfer_source_end(source);
        }
        return;
    }
    if (now->serial != source->given_config) {
        source->given_config = now->serial;
        source->is_stale = true;
        follow_keys(source, now);
    }
    bool is_ready = store && is_of_one_store(source, now);
    const uint64_t reads = store_sync_counts(source->config.sync).reads;
    if (is_ready && (source->wants_history || reads != source->reads)) {
        source->reads = reads;
        ask_history(source, now);
    }
    bool is_new = source->is_stale || (store && store_serial(store) != source->given_store);
    if (!is_ready || !is_new || source->history || ev_is_active(&source->pause)) {
        return;
    }
    if (clock_monotonic_ms() - source->given_ms < TRANSFER_SOURCE_PAUSE_MS ||
        !transfer_source_send(source, now)) {
        timer_arm_ms(source->config.loop, &source->pause, TRANSFER_SOURCE_PAUSE_MS);
    }
}

static bool is_shown(const struct zone_serial *serial, bool is_incomplete)
{
    return !serial || is_incomplete || zone_serial_is_known(serial);
}

static bool shows_serials(const struct engine_config *now)
{
    bool is_all = true;
    for (size_t i = 0; i < now->zone_count; i++) {
        is_all = is_all && is_shown(now->zones[i].serial, now->zones[i].is_incomplete);
    }
    for (size_t i = 0; i < now->settings.reverse_zone_count; i++) {
        is_all = is_all && is_shown(now->reverse_serials[i], engine_config_lacks_names(now));
    }
    return is_all || now->settings.transfer_count == 0;
}

static void tell_known(struct transfer_source *source)
{
    if (!source->is_known && store_sync_is_ready(source->config.sync) &&
        shows_serials(publisher_newest_config(source->config.publisher))) {
        source->is_known = true;
        source->config.known(source->config.data);
    }
}

static void transfer_source_unpin(struct transfer_source *source)
{
    const struct store *store;
    bool is_any = false;
    while ((store = transfers_take_released(source->config.transfers))) {
        publisher_unpin(source->config.publisher, store);
        is_any = true;
    }
    if (is_any) {
        store_sync_reclaim(source->config.sync);
    }
}

/* Runs after whatever has changed, once the loop has turned. */
static void transfer_source_on_prepare(struct ev_loop *loop UNUSED, ev_prepare *prepare,
                                       int revents UNUSED)
{
    transfer_source_unpin(prepare->data);
    transfer_source_check(prepare->data);
    tell_known(prepare->data);
}

static void transfer_source_on_pause(struct ev_loop *loop UNUSED, ev_timer *timer,
                                     int revents UNUSED)
{
    (void)timer; /* transfer_source_on_prepare follows */
}

/* ---- Life ---- */

struct transfer_source *transfer_source_new(const struct transfer_source_config *config)
{
    struct transfer_source *source = xcalloc(1, sizeof(*source));
    source->config = *config;
    source->given_ms = INT64_MIN / 2;
    ev_prepare_init(&source->prepare, transfer_source_on_prepare);
    source->prepare.data = source;
    ev_prepare_start(config->loop, &source->prepare);
    ev_timer_init(&source->pause, transfer_source_on_pause, 0., 0.);
    return source;
}

void transfer_source_free(struct transfer_source *source)
{
    if (!source) {
        return;
    }
    ev_prepare_stop(source->config.loop, &source->prepare);
    ev_timer_stop(source->config.loop, &source->pause);
    zone_history_free(source->history);
    writer_documents_free(source->keys);
    free(source);
}

bool transfer_source_explain_denied(const struct transfer_source *source, struct buf *out)
{
    return source && writer_documents_explain_denied(source->keys, out);
}
