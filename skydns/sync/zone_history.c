#include "skydns/sync/zone_history.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_watch.h"
#include "skydns/sync/zone_changes_internal.h"

/* Multiplies the timeout of events for an etcd that is slow to begin. */
enum { UP_PATIENCES = 5 };

struct zone_history {
    struct zone_history_config config;
    char *prefix, *range_end;
    size_t range_end_len;
    struct zone_changes changes;
    int64_t span;  /* how many revisions back it looks */
    int64_t first; /* of them */
    struct etcd_watch *watch;
    ev_timer timeout;
};

static void zone_history_finish(struct zone_history *h, bool is_known)
{
    struct dname apexes[ZONE_CHANGES_MAX];
    int64_t revisions[ZONE_CHANGES_MAX];
    for (size_t i = 0; i < h->changes.count; i++) {
        apexes[i] = h->changes.items[i].apex;
        revisions[i] = is_known ? h->changes.items[i].revision : 0;
    }
    etcd_watch_stop(h->watch);
    h->watch = NULL;
    ev_timer_stop(h->config.loop, &h->timeout);
    h->config.done(h->config.data, apexes, revisions, h->changes.count);
}

/* Returns whether the key is the document of settings, `/skydns/config`: all answers may depend on
 * it. */
static bool zone_history_is_config(const struct zone_history *h, struct slice key)
{
    const size_t len = strlen(h->prefix);
    return key.len > len &&
           slice_equal(slice_of(key.ptr + len, key.len - len), slice_str("config"));
}

static void zone_history_on_events(void *data, const struct etcd_event *events, size_t count,
                                   int64_t revision UNUSED)
{
    struct zone_history *h = data;
    struct dname name;
    for (size_t i = 0; i < count; i++) {
        const struct etcd_kv *kv = &events[i].kv;
        if (kv->mod_revision > h->config.revision) {
            break;
        }
        if (zone_history_is_config(h, kv->key)) {
            zone_changes_note_all(&h->changes, kv->mod_revision);
        } else if (record_key_to_name(slice_str(h->prefix), kv->key, &name)) {
            zone_changes_note(&h->changes, &name, kv->mod_revision);
        }
    }
    if (etcd_watch_reached(h->watch) >= h->config.revision) {
        zone_history_finish(h, true);
    }
}

/* Shortens the timeout: events follow at once, or none. */
static void zone_history_on_up(void *data)
{
    struct zone_history *h = data;
    timer_arm_ms(h->config.loop, &h->timeout, h->config.timeout_ms);
}

static void zone_history_watch(struct zone_history *h);

/* Starts nearer if the revisions were compacted. */
static void zone_history_on_end(void *data, const struct err *err)
{
    struct zone_history *h = data;
    if (err->code != ERR_COMPACTED || h->span <= 1) {
        log_debug("history of zones is not known", LOG_STR("reason", err->msg));
        zone_history_finish(h, false);
        return;
    }
    etcd_watch_stop(h->watch);
    h->span /= 8;
    zone_history_watch(h);
}

static void zone_history_watch(struct zone_history *h)
{
    h->first = h->config.revision > h->span ? h->config.revision - h->span : 1;
    for (size_t i = 0; i < h->changes.count; i++) {
        h->changes.items[i].revision = h->first - 1;
    }
    const struct etcd_watch_config watch = {
        .key = slice_str(h->prefix),
        .range_end = slice_of(h->range_end, h->range_end_len),
        .start_revision = h->first,
        .on_events = zone_history_on_events,
        .on_up = zone_history_on_up,
        .on_end = zone_history_on_end,
        .data = h,
    };
    h->watch = etcd_watch_start(h->config.etcd, &watch);
}

static void on_impatience(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    zone_history_finish(timer->data, false);
}

struct zone_history *zone_history_start(const struct zone_history_config *config)
{
    struct zone_history *h = xcalloc(1, sizeof(*h));
    h->config = *config;
    h->prefix = xmalloc(config->prefix.len + 1);
    memcpy(h->prefix, config->prefix.ptr, config->prefix.len);
    h->prefix[config->prefix.len] = '\0';
    h->range_end = xmalloc(config->prefix.len + 1);
    h->range_end_len = etcd_prefix_end(config->prefix, h->range_end).len;
    zone_changes_set(&h->changes, config->apexes, config->count, 0);
    h->span = HISTORY_REVISIONS;
    timer_init(&h->timeout, on_impatience, h);
    timer_arm_ms(h->config.loop, &h->timeout, UP_PATIENCES * config->timeout_ms);
    zone_history_watch(h);
    return h;
}

void zone_history_free(struct zone_history *h)
{
    if (!h) {
        return;
    }
    etcd_watch_stop(h->watch);
    ev_timer_stop(h->config.loop, &h->timeout);
    free(h->range_end);
    free(h->prefix);
    free(h);
}
