#include "skydns/transfer_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/publisher.h"
#include "skydns/publish/zone_serials.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"
#include "skydns/sync/zone_history.h"
#include "skydns/transfer/transfers.h"

/* Domains of one life of the process; they change by hand. */
enum { BASES_MAX = 256 };

/* What a domain's key says. */
struct base {
    struct dname domain;
    bool has_key;
    uint32_t value;
};

struct transfer_feed {
    struct transfer_feed_config config;
    struct writer_documents *keys; /* of the bases; NULL: nobody may transfer */
    size_t base_count;
    struct base bases[BASES_MAX];
    ev_prepare prepare;
    ev_timer pause;
    struct engine_config *given;        /* NULL: the thread has none */
    uint64_t given_store, given_config; /* serials */
    struct zone_history *history;       /* NULL: it is not asked */
    size_t zone_count;
    struct dname zones[TRANSFER_ZONES_MAX]; /* whose changes are noted */
    bool has_told;                          /* that signatures are left out */
    bool wants_history;                     /* of new zones */
    int64_t asked_at;                       /* revision */
    bool is_stale;                          /* a base is another one */
    int64_t given_ms;
};

/* ---- Serials ---- */

/* Its place, or base_count. */
static size_t find_base(const struct transfer_feed *feed, const struct dname *domain)
{
    size_t i = 0;
    while (i < feed->base_count && !dname_equal(&feed->bases[i].domain, domain)) {
        i++;
    }
    return i;
}

/* Anything else than a number is as no key: somebody's. */
static bool parse_base(struct slice value, uint32_t *ret)
{
    uint64_t number = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9' || i == 10) {
            return false;
        }
        number = number * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    *ret = (uint32_t)number;
    return value.len > 0 && number <= UINT32_MAX;
}

static void on_key(void *data, const struct dname *domain, struct slice value)
{
    struct transfer_feed *feed = data;
    size_t i = find_base(feed, domain);
    if (i == BASES_MAX) {
        return; /* many domains have come and gone */
    }
    struct base *base = &feed->bases[i];
    feed->base_count += i == feed->base_count;
    base->domain = *domain;
    base->has_key = parse_base(value, &base->value);
    base->value = base->has_key ? base->value : ZONE_SERIAL_LOWEST;
    feed->is_stale = true;
}

/* Reverse zones have that of the first domain. */
static const struct dname *domain_of(const struct engine_config *config, const struct dname *apex)
{
    const struct engine_zone *zone = engine_config_zone(config, apex);
    return zone ? &zone->domain : &config->zones[0].domain;
}

struct transfer_origin_of_serial transfer_feed_origin(const struct transfer_feed *feed,
                                                      const struct dname *apex)
{
    const struct engine_config *now = publisher_newest_config(feed->config.publisher);
    const struct dname *domain = domain_of(now, apex);
    size_t i = find_base(feed, domain);
    const struct base *base = i < feed->base_count ? &feed->bases[i] : NULL;
    return (struct transfer_origin_of_serial){
        .is_known = base != NULL,
        .has_key = base && base->has_key,
        .domain = *domain,
        .base = base ? base->value : ZONE_SERIAL_LOWEST,
        .revision = store_sync_zone_revision(feed->config.sync, apex),
    };
}

/* ---- Steps ---- */

static bool lacks_names(const struct engine_config *config)
{
    for (size_t i = 0; i < config->zone_count; i++) {
        if (config->zones[i].is_incomplete) {
            return true;
        }
    }
    return false;
}

static void add_zone(const struct transfer_feed *feed, struct transfer_step *step,
                     struct zone_serial *serial, bool is_incomplete)
{
    if (serial) {
        const struct transfer_origin_of_serial origin = transfer_feed_origin(feed, &serial->apex);
        step->zones[step->zone_count++] = (struct transfer_step_zone){
            .apex = serial->apex,
            .serial = serial,
            .target = origin.base + (uint32_t)origin.revision,
            .is_incomplete = is_incomplete,
        };
    }
}

static void fill(const struct transfer_feed *feed, const struct engine_config *now,
                 struct transfer_step *step)
{
    for (size_t i = 0; i < now->zone_count; i++) {
        add_zone(feed, step, now->zones[i].serial, now->zones[i].is_incomplete);
    }
    for (size_t i = 0; i < now->settings.reverse_zone_count; i++) {
        add_zone(feed, step, now->reverse_serials[i], lacks_names(now));
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

static void set_zones(struct transfer_feed *feed, const struct engine_config *now)
{
    struct dname apexes[TRANSFER_ZONES_MAX];
    size_t count = list_zones(now, apexes);
    bool is_same = count == feed->zone_count;
    for (size_t i = 0; is_same && i < count; i++) {
        is_same = dname_equal(&apexes[i], &feed->zones[i]);
    }
    if (is_same) {
        return;
    }
    memcpy(feed->zones, apexes, count * sizeof(apexes[0]));
    feed->zone_count = count;
    store_sync_set_zones(feed->config.sync, apexes, count);
    zone_history_free(feed->history);
    feed->history = NULL;
    feed->wants_history = true;
}

static void on_history(void *data, const struct dname *apexes, const int64_t *revisions,
                       size_t count)
{
    struct transfer_feed *feed = data;
    for (size_t i = 0; i < count; i++) {
        if (revisions[i] > 0) {
            store_sync_refine_zone(feed->config.sync, &apexes[i], feed->asked_at, revisions[i]);
        }
    }
    zone_history_free(feed->history);
    feed->history = NULL;
}

/* Of zones that this process has not watched change: before their first step. */
static void ask_history(struct transfer_feed *feed, const struct engine_config *now)
{
    struct dname apexes[TRANSFER_ZONES_MAX];
    feed->wants_history = false;
    feed->asked_at = store_sync_counts(feed->config.sync).revision;
    feed->history = zone_history_start(&(struct zone_history_config){
        .loop = feed->config.loop,
        .etcd = feed->config.etcd,
        .prefix = store_sync_prefix(feed->config.sync),
        .revision = feed->asked_at,
        .apexes = apexes,
        .count = list_zones(now, apexes),
        .patience_ms = TRANSFER_HISTORY_MS,
        .done = on_history,
        .data = feed,
    });
}

/* The domains' keys are followed from the first time that somebody may transfer. */
static void follow_keys(struct transfer_feed *feed, const struct engine_config *now)
{
    struct dname domains[ENGINE_ZONES_MAX];
    if (!feed->keys) {
        feed->keys = writer_documents_new(
            &(struct writer_documents_config){.loop = feed->config.loop,
                                              .etcd = feed->config.etcd,
                                              .name = "serial",
                                              .stale_max_ms = feed->config.stale_max_ms,
                                              .changed = on_key,
                                              .data = feed});
    }
    for (size_t i = 0; i < now->zone_count; i++) {
        domains[i] = now->zones[i].domain;
    }
    writer_documents_set_domains(feed->keys, domains, now->zone_count);
    set_zones(feed, now);
}

static bool knows_bases(const struct transfer_feed *feed, const struct engine_config *now)
{
    for (size_t i = 0; i < now->zone_count; i++) {
        if (find_base(feed, &now->zones[i].domain) == feed->base_count) {
            return false;
        }
    }
    return true;
}

static void end(struct transfer_feed *feed)
{
    engine_config_free(feed->given);
    feed->given = NULL;
    feed->given_store = 0;
    transfers_give(feed->config.transfers, xcalloc(1, sizeof(struct transfer_step)));
}

static void wait_a_little(struct transfer_feed *feed)
{
    ev_timer_stop(feed->config.loop, &feed->pause);
    ev_timer_set(&feed->pause, TRANSFER_FEED_PAUSE_MS / 1000.0, 0.);
    ev_timer_start(feed->config.loop, &feed->pause);
}

static void tell_unsigned(struct transfer_feed *feed, const struct engine_config *now)
{
    if (now->dnssec && !feed->has_told) {
        log_warn("zones are transferred unsigned, though -dnssec signs answers: validators will "
                 "refuse what secondaries say");
    }
    feed->has_told = now->dnssec != NULL;
}

/* False: too many versions are pinned; they will not be for long. */
static bool give(struct transfer_feed *feed, const struct engine_config *now)
{
    const struct store *store = publisher_pin(feed->config.publisher);
    if (!store) {
        return false;
    }
    struct transfer_step *step = xcalloc(1, sizeof(*step));
    struct engine_config *config = transfer_config(now);
    step->store = store;
    fill(feed, now, step);
    if (!feed->given || !transfer_config_same(feed->given, config)) {
        engine_config_free(feed->given);
        feed->given = config;
        step->config = transfer_config(now);
    } else {
        engine_config_free(config);
    }
    tell_unsigned(feed, now);
    feed->given_store = store_serial(store);
    feed->given_config = now->serial;
    feed->is_stale = false;
    feed->given_ms = clock_monotonic_ms();
    transfers_give(feed->config.transfers, step);
    return true;
}

static void consider(struct transfer_feed *feed)
{
    const struct engine_config *now = publisher_newest_config(feed->config.publisher);
    const struct store *store = store_sync_store(feed->config.sync);
    if (!transfers_is_idle(feed->config.transfers)) {
        return;
    }
    if (now->settings.transfer_count == 0) {
        if (feed->given) {
            end(feed);
        }
        return;
    }
    if (now->serial != feed->given_config) {
        feed->given_config = now->serial;
        feed->is_stale = true;
        follow_keys(feed, now);
    }
    bool is_ready = store && store_sync_is_ready(feed->config.sync) && knows_bases(feed, now);
    if (is_ready && feed->wants_history) {
        ask_history(feed, now);
    }
    bool is_new = feed->is_stale || (store && store_serial(store) != feed->given_store);
    if (!is_ready || !is_new || feed->history || ev_is_active(&feed->pause)) {
        return;
    }
    if (clock_monotonic_ms() - feed->given_ms < TRANSFER_FEED_PAUSE_MS || !give(feed, now)) {
        wait_a_little(feed);
    }
}

static void unpin(struct transfer_feed *feed)
{
    const struct store *store;
    bool is_any = false;
    while ((store = transfers_take_released(feed->config.transfers))) {
        publisher_unpin(feed->config.publisher, store);
        is_any = true;
    }
    if (is_any) {
        store_sync_reclaim(feed->config.sync);
    }
}

/* Whatever has changed, the loop has turned. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int revents)
{
    (void)loop;
    (void)revents;
    unpin(prepare->data);
    consider(prepare->data);
}

static void on_pause(struct ev_loop *loop, ev_timer *timer, int revents)
{
    (void)loop;
    (void)timer; /* on_prepare follows */
    (void)revents;
}

/* ---- Life ---- */

struct transfer_feed *transfer_feed_new(const struct transfer_feed_config *config)
{
    struct transfer_feed *feed = xcalloc(1, sizeof(*feed));
    feed->config = *config;
    feed->given_ms = INT64_MIN / 2;
    ev_prepare_init(&feed->prepare, on_prepare);
    feed->prepare.data = feed;
    ev_prepare_start(config->loop, &feed->prepare);
    ev_timer_init(&feed->pause, on_pause, 0., 0.);
    return feed;
}

void transfer_feed_free(struct transfer_feed *feed)
{
    if (!feed) {
        return;
    }
    ev_prepare_stop(feed->config.loop, &feed->prepare);
    ev_timer_stop(feed->config.loop, &feed->pause);
    zone_history_free(feed->history);
    writer_documents_free(feed->keys);
    engine_config_free(feed->given);
    free(feed);
}

bool transfer_feed_explain_denied(const struct transfer_feed *feed, struct buf *out)
{
    return feed && writer_documents_explain_denied(feed->keys, out);
}

struct engine_config *transfer_config(const struct engine_config *published)
{
    struct engine_config *config = xcalloc(1, sizeof(*config));
    config->zone_count = published->zone_count;
    memcpy(config->zones, published->zones, sizeof(config->zones));
    memcpy(config->reverse_serials, published->reverse_serials, sizeof(config->reverse_serials));
    config->zones_of_others = zone_table_ref(published->zones_of_others);
    config->is_for_transfers = true;
    config->settings = published->settings;
    config->settings.round_robin = false; /* one order of addresses */
    config->settings.no_rec = false;      /* about clients' questions; nobody asks here */
    config->settings.autopath = false;
    config->settings.any_is_hinfo = false;
    for (size_t i = 0; i < config->zone_count; i++) {
        config->zones[i].is_incomplete = false; /* each step says so */
    }
    return config;
}

static bool same_domains(const struct engine_config *a, const struct engine_config *b)
{
    for (size_t i = 0; i < a->zone_count && i < b->zone_count; i++) {
        if (!dname_equal(&a->zones[i].domain, &b->zones[i].domain) ||
            !dname_equal(&a->zones[i].hostmaster, &b->zones[i].hostmaster) ||
            a->zones[i].serial != b->zones[i].serial) {
            return false;
        }
    }
    return a->zone_count == b->zone_count;
}

/* What lies in a stub zone is not ours. */
static bool same_stubs(const struct zone_table *a, const struct zone_table *b)
{
    size_t a_count = 0, b_count = 0;
    const struct foreign_zone *as = a ? zone_table_items(a, &a_count) : NULL;
    const struct foreign_zone *bs = b ? zone_table_items(b, &b_count) : NULL;
    for (size_t i = 0; i < a_count && i < b_count; i++) {
        if (!dname_equal(&as[i].name, &bs[i].name)) {
            return false;
        }
    }
    return a_count == b_count;
}

bool transfer_config_same(const struct engine_config *a, const struct engine_config *b)
{
    return same_domains(a, b) && same_stubs(a->zones_of_others, b->zones_of_others) &&
           a->settings.reverse_zone_count == b->settings.reverse_zone_count &&
           memcmp(a->settings.reverse_zones, b->settings.reverse_zones,
                  sizeof(a->settings.reverse_zones)) == 0 &&
           memcmp(a->reverse_serials, b->reverse_serials, sizeof(a->reverse_serials)) == 0 &&
           dname_equal(&a->settings.local, &b->settings.local) &&
           a->settings.ttl_s == b->settings.ttl_s &&
           a->settings.min_ttl_s == b->settings.min_ttl_s &&
           a->settings.priority == b->settings.priority &&
           a->settings.schema == b->settings.schema && a->settings.pods == b->settings.pods &&
           a->settings.ndots == b->settings.ndots;
}
