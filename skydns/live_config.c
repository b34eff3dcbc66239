#include "skydns/live_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "skydns/config_doc.h"
#include "skydns/foreign_settings.h"
#include "skydns/option_text.h"
#include "skydns/resolv_conf.h"
#include "skydns/store/snapshot.h"
#include "skydns/stub_zones.h"
#include "skydns/sync/store_sync.h"

/* How long the sockets wait for the document: a healthy etcd takes milliseconds. */
static const double read_timeout_s = 1.0;

struct live_config {
    struct live_config_config config;
    char *key; /* "/skydns/config" */

    struct buf doc; /* etcd's document, usable or not */
    bool has_doc;
    ev_stat resolv_conf;
    struct foreign_settings *foreign;
    struct options now;     /* in force */
    struct options started; /* the settings that need a restart, as opened; no others count */

    /* While reading it at the start. */
    struct etcd_call *call;
    ev_timer timeout;
    struct err unread; /* why that failed; code 0: it did not */
};

struct live_config *live_config_new(const struct live_config_config *config)
{
    struct live_config *live = xcalloc(1, sizeof(*live));
    live->config = *config;
    live->key = xasprintf("/%s/config", config->flags->path_prefix);
    live->foreign = foreign_settings_new(config->tally);
    buf_init(&live->doc,
             STORE_SYNC_CONFIG_MAX + 1); /* an oversized document is detected by length */
    return live;
}

void live_config_free(struct live_config *live)
{
    if (!live) {
        return;
    }
    ev_stat_stop(live->config.loop, &live->resolv_conf);
    buf_fini(&live->doc);
    foreign_settings_free(live->foreign);
    stub_zones_unref(live->now.stubs);
    free(live->key);
    free(live);
}

const struct options *live_config_options(const struct live_config *live)
{
    return &live->now;
}

/* ---- What changed ---- */

/* settings="domain ttl" domain="a. -> b." ttl="60 -> 30" */
static void log_each(enum log_level level, const char *message, enum option_scope scope,
                     const struct options *before, const struct options *now)
{
    struct log_field fields[OPTION_CHANGES_MAX + 1];
    struct option_changes changes;
    option_changes_init(&changes, scope, before, now);
    fields[0] = LOG_STR("settings", buf_cstr(&changes.names));
    for (size_t i = 0; i < changes.count; i++) {
        fields[i + 1] = LOG_STR(changes.items[i].name, buf_cstr(&changes.items[i].text));
    }
    if (changes.count > 0 && log_takes(level)) {
        log_write(level, message, changes.count + 1, fields);
    }
    option_changes_fini(&changes);
}

static void log_changes(const struct options *before, const struct options *now)
{
    log_each(LOG_LEVEL_INFO, "configuration changed", OPTION_AT_ONCE, before, now);
}

static void log_restarts(const struct live_config *live, const struct options *now)
{
    log_each(LOG_LEVEL_WARN, "changed settings need a restart", OPTION_AT_RESTART, &live->started,
             now);
}

/* ---- Applying ---- */

static void publish(struct live_config *live, const struct options *options)
{
    struct engine_config *config = options_engine_config(options);
    foreign_settings_fill(live->foreign, options, config);
    for (size_t i = 0; i < config->zone_count && live->config.is_incomplete; i++) {
        struct engine_zone *zone = &config->zones[i];
        zone->is_incomplete = live->config.is_incomplete(live->config.data, &zone->domain);
    }
    snapshot_configure(live->config.snapshot, config);
}

static void log_ignored(const struct live_config *live, const struct config_doc_report *report)
{
    for (size_t i = 0; i < report->ignored_count; i++) {
        log_warn("field of the configuration in etcd is ignored", LOG_STR("key", live->key),
                 LOG_STR("field", report->ignored[i].field),
                 LOG_STR("reason", report->ignored[i].why));
    }
}

/* The flags, with a reference to their stub zones. */
static struct options flags_of(const struct live_config *live)
{
    struct options options = *live->config.flags;
    (void)stub_zones_ref(options.stubs); /* the same pointer */
    return options;
}

/* Lays the document over the flags. False, *ret untouched: the document is unusable. */
static bool lay_over(struct live_config *live, struct options *ret)
{
    struct options options = flags_of(live);
    struct config_doc_report report = {0};
    struct err err;
    if (live->has_doc &&
        config_doc_apply(slice_of(live->doc.data, live->doc.len), &options, &report, &err) < 0) {
        log_error("cannot use the configuration in etcd, keeping the settings in force",
                  LOG_STR("key", live->key), LOG_STR("error", err.msg));
        stub_zones_unref(options.stubs);
        return false;
    }
    log_ignored(live, &report);
    *ret = options;
    return true;
}

static int add_resolv_conf(const struct live_config *live, struct options *options, struct err *err)
{
    return options->nameserver_count ? 0 : resolv_conf_read(options, live->config.resolv_conf, err);
}

/* A resolv.conf that suddenly lists no nameserver is still being written. */
static bool is_being_written(const struct live_config *live, const struct options *before,
                             const struct options *now, struct err *err)
{
    const char *path = live->config.resolv_conf;
    if (before->nameserver_count == 0 || now->nameserver_count > 0 || access(path, F_OK) < 0) {
        return false;
    }
    (void)err_set(err, ERR_SYNTAX, "`%s` lists no nameserver", path); /* only for its text */
    return true;
}

static void apply(struct live_config *live)
{
    struct options before = live->now, now;
    struct err err;
    if (!lay_over(live, &now)) {
        return;
    }
    if (add_resolv_conf(live, &now, &err) < 0 || is_being_written(live, &before, &now, &err)) {
        log_warn("keeping the nameservers", LOG_STR("error", err.msg));
        memcpy(now.nameservers, before.nameservers, sizeof(now.nameservers));
        now.nameserver_count = before.nameserver_count;
    }
    live->now = now;
    publish(live, &now);
    log_changes(&before, &now);
    log_restarts(live, &now);
    if (live->config.changed) {
        live->config.changed(live->config.data, &before, &now);
    }
    stub_zones_unref(before.stubs);
}

/* False: unchanged. */
static bool keep_doc(struct live_config *live, struct slice value)
{
    bool has_doc = value.ptr != NULL;
    if (has_doc == live->has_doc && slice_equal(value, slice_of(live->doc.data, live->doc.len))) {
        return false;
    }
    size_t len = value.len < STORE_SYNC_CONFIG_MAX + 1 ? value.len : STORE_SYNC_CONFIG_MAX + 1;
    buf_clear(&live->doc);
    buf_append_slice(&live->doc, slice_of(value.ptr, len));
    live->has_doc = has_doc;
    return true;
}

void live_config_take(struct live_config *live, struct slice value)
{
    if (keep_doc(live, value)) {
        apply(live);
    }
}

void live_config_take_stubs(struct live_config *live, const struct foreign_zone *zones,
                            size_t count)
{
    foreign_settings_set_keys(live->foreign, zones, count);
    publish(live, &live->now);
}

void live_config_republish(struct live_config *live)
{
    publish(live, &live->now);
}

void live_config_reload(struct live_config *live)
{
    log_info("configuration reloaded", LOG_STR("key", live->key),
             LOG_STR("document", live->has_doc ? "present" : "none"));
    foreign_settings_renew(live->foreign);
    apply(live);
}

static void on_resolv_conf(struct ev_loop *loop, ev_stat *stat, int events UNUSED)
{
    struct live_config *live = stat->data;
    (void)loop;
    if (live->config.flags->nameserver_count == 0) {
        apply(live);
    }
}

/* ---- The start ---- */

static void on_range(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct live_config *live = data;
    live->call = NULL;
    if (err) {
        live->unread = *err;
    } else {
        (void)keep_doc(live, reply->count ? reply->kvs[0].value : slice_of(NULL, 0));
    }
    ev_break(live->config.loop, EVBREAK_ONE);
}

static void on_timeout(struct ev_loop *loop, ev_timer *timer, int events UNUSED)
{
    struct live_config *live = timer->data;
    (void)err_set(&live->unread, ERR_TIMEOUT, "no answer within a second"); /* only kept */
    ev_break(loop, EVBREAK_ONE);
}

void live_config_read(struct live_config *live, struct etcd *etcd)
{
    const struct etcd_range range = {.key = slice_str(live->key)};
    live->call = etcd_range(etcd, &range, on_range, live);
    ev_timer_init(&live->timeout, on_timeout, read_timeout_s, 0.);
    live->timeout.data = live;
    ev_timer_start(live->config.loop, &live->timeout);
    ev_run(live->config.loop, 0);
    ev_timer_stop(live->config.loop, &live->timeout);
    if (live->call) {
        etcd_call_cancel(live->call);
        live->call = NULL;
    }
}

int live_config_begin(struct live_config *live, struct err *err)
{
    if (!lay_over(live, &live->now)) {
        live->now = flags_of(live);
    }
    int r = add_resolv_conf(live, &live->now, err);
    if (r < 0) {
        return r;
    }
    live->started = live->now;
    ev_stat_init(&live->resolv_conf, on_resolv_conf, live->config.resolv_conf, 0.);
    live->resolv_conf.data = live;
    ev_stat_start(live->config.loop, &live->resolv_conf); /* inotify, plus a stat() now and then */
    publish(live, &live->now);
    return 0;
}

void live_config_opened(const struct live_config *live)
{
    if (live->unread.code != 0) {
        log_warn("falling back to default configuration, could not read from etcd",
                 LOG_STR("key", live->key), LOG_STR("error", live->unread.msg));
    }
}
