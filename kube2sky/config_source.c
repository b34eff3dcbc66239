#include "kube2sky/config_source.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "kube2sky/naming/config_map.h"
#include "kube2sky/reconcile/reconciler.h"

/* Limits the time that readiness waits for the map: a working server answers in far less. */
static const double timeout_s = 2.0;

/* Limits the settings without effect that are logged: a map may have thousands. */
enum { TOLD_MAX = 10 };

struct config_source {
    struct config_source_config config;
    ev_timer timeout;
    struct kube_object *last; /* the latest state; NULL: there is no map */
    struct config_map map;    /* scratch buffer */
    struct err refusal;       /* msg "": the latest state is accepted */
};

static void config_source_on_timeout(struct ev_loop *loop UNUSED, ev_timer *timer,
                                     int revents UNUSED)
{
    config_source_lack(timer->data);
}

struct config_source *config_source_new(const struct config_source_config *config)
{
    struct config_source *source = xcalloc(1, sizeof(*source));
    source->config = *config;
    config_map_init(&source->map);
    ev_timer_init(&source->timeout, config_source_on_timeout, timeout_s, 0.0);
    source->timeout.data = source;
    ev_timer_start(config->loop, &source->timeout);
    return source;
}

void config_source_free(struct config_source *source)
{
    if (source) {
        ev_timer_stop(source->config.loop, &source->timeout);
        config_map_fini(&source->map);
        kube_object_free(source->last);
        free(source);
    }
}

/* ---- Settings without effect ---- */

static bool had_setting(const struct kube_object *map, const char *key)
{
    bool had = false;
    for (size_t i = 0; map && i < map->config_map.setting_count && !had; i++) {
        had = strcmp(map->config_map.settings[i].key, key) == 0;
    }
    return had;
}

/* Logs settings without effect, once each until the map has been without it. */
static void tell_without_effect(const struct config_source *source, const struct kube_object *map)
{
    size_t told = 0;
    for (size_t i = 0; i < map->config_map.setting_count && told < TOLD_MAX; i++) {
        const char *key = map->config_map.settings[i].key;
        enum config_map_setting setting = config_map_setting_of(key);
        told += setting != CONFIG_MAP_KNOWN;
        if (setting == CONFIG_MAP_KNOWN || had_setting(source->last, key)) {
            continue;
        }
        if (setting == CONFIG_MAP_FEDERATIONS) {
            log_warn("setting of the ConfigMap ignored: there are no federations any more",
                     LOG_STR("key", key));
        } else {
            log_warn("setting of the ConfigMap ignored: unknown", LOG_STR("key", key));
        }
    }
}

/* ---- States ---- */

static void config_source_refuse(struct config_source *source, const struct kube_object *map)
{
    log_warn("ConfigMap refused, its last good settings stay", LOG_STR("namespace", map->ns),
             LOG_STR("name", map->name), LOG_STR("error", source->refusal.msg));
    reconciler_lack_config(source->config.reconciler);
}

static int read_map(struct config_source *source, const struct kube_object *map, struct err *err)
{
    const struct config_map_rules rules = {
        .domain = source->config.domain,
        .ttl_s = source->config.ttl_s,
        .zones = source->config.zones,
    };
    if (map->is_garbled) {
        return err_set(err, ERR_SYNTAX, "%s", map->faults);
    }
    return config_map_read(&rules, &map->config_map, &source->map, err);
}

static void accept_map(struct config_source *source)
{
    log_info("ConfigMap read", LOG_INT("keys", (int64_t)source->map.keys.count),
             LOG_SLICE("nameservers", buf_slice(&source->map.nameservers)));
    source->refusal.msg[0] = '\0';
    reconciler_want_config(source->config.reconciler, &source->map);
}

void config_source_take(struct config_source *source, struct kube_object *map)
{
    struct err err = {.code = 0};
    ev_timer_stop(source->config.loop, &source->timeout);
    if (!map) {
        if (source->last || source->refusal.msg[0]) {
            log_info("ConfigMap is gone, removing its keys");
        }
        config_map_clear(&source->map);
        source->refusal.msg[0] = '\0';
        reconciler_want_config(source->config.reconciler, &source->map);
    } else if (source->last && kube_object_equal(source->last, map)) {
        kube_object_free(source->last); /* listed again, or changed in another annotation only */
        source->last = map;
        return;
    } else {
        tell_without_effect(source, map);
        if (read_map(source, map, &err) < 0) {
            source->refusal = err;
            config_source_refuse(source, map);
        } else {
            accept_map(source);
        }
    }
    kube_object_free(source->last);
    source->last = map;
}

void config_source_lack(struct config_source *source)
{
    reconciler_lack_config(source->config.reconciler);
}

/* ---- Getters ---- */

bool kube2sky_config_source_is_refused(const struct config_source *source)
{
    return source->refusal.msg[0] != '\0';
}

bool config_source_explain(const struct config_source *source, struct buf *out)
{
    if (kube2sky_config_source_is_refused(source)) {
        buf_append_str(out, "ConfigMap refused, its last good settings stay: ");
    }
    for (const char *at = source->refusal.msg; *at; at++) { /* it quotes the map's text */
        bool is_control = (unsigned char)*at < ' ' || *at == 0x7f;
        buf_append_char(out, is_control ? '?' : *at);
    }
    return kube2sky_config_source_is_refused(source);
}
