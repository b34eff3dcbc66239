#include "skydns/config/live_config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "skydns/config/client_settings_internal.h"
#include "skydns/config/dnssec_files.h"
#include "skydns/config/forward_settings_internal.h"
#include "skydns/config/hosts_files_internal.h"
#include "skydns/config/secret_file_internal.h"
#include "skydns/config/watched_file_internal.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/publish/cookie_secrets.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/publish/reverse_zone.h"
#include "skydns/settings/config_documents.h"
#include "skydns/settings/config_layers.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/stub_zones.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"
#include "skydns/tsig/tsig_keys.h"

/* Time that the sockets wait for the document: a healthy etcd takes milliseconds. */
static const double read_timeout_s = 1.0;

/* Key that is being read at the start. */
struct reading {
    struct live_config *live;
    struct etcd_call *call; /* NULL: answered */
    struct dname domain;    /* of kube2sky's document; len 0: SkyDNS's own document */
};

struct live_config {
    struct live_config_config config;
    struct config_layers *layers;
    struct forward_settings *external;
    struct client_settings *clients;
    struct watched_file *file; /* of -config; NULL: none */
    struct buf text;           /* its text */
    bool is_file_lost;         /* it has changed, but cannot be read */
    struct hosts_files *hosts;
    struct secret_file *cookies, *tsig; /* NULL: none */
    struct tsig_keys *tsig_keys;        /* of the latter */
    struct dnssec_files *dnssec;
    ev_stat resolv_conf;
    bool wants_resolv_conf; /* nothing else names upstreams */
    bool has_begun;
    struct options now;     /* in force */
    struct options started; /* the settings that need a restart, as opened; no others count */

    /* Fields used while reading etcd's documents at the start. */
    size_t awaited;
    struct reading readings[ENGINE_ZONES_MAX];
    ev_timer timeout;
    struct err unread; /* why the document was not read; code 0: it was */
};

static void on_keys(void *data);

struct live_config *live_config_new(const struct live_config_config *config)
{
    struct live_config *live = xcalloc(1, sizeof(*live));
    live->config = *config;
    live->layers = config_layers_new(config->flags);
    live->external = forward_settings_new(config->tally);
    live->clients = client_settings_new();
    live->dnssec = dnssec_files_new(
        &(struct dnssec_files_config){.loop = config->loop, .changed = on_keys, .data = live});
    buf_init(&live->text, CONFIG_DOCUMENT_MAX + 1);
    return live;
}

void live_config_free(struct live_config *live)
{
    if (!live) {
        return;
    }
    ev_stat_stop(live->config.loop, &live->resolv_conf);
    watched_file_free(live->file);
    hosts_files_free(live->hosts);
    secret_file_free(live->cookies);
    secret_file_free(live->tsig);
    tsig_keys_unref(live->tsig_keys);
    dnssec_files_free(live->dnssec);
    forward_settings_free(live->external);
    client_settings_free(live->clients);
    config_layers_free(live->layers);
    buf_fini(&live->text);
    stub_zones_unref(live->now.stubs);
    free(live);
}

const struct options *live_config_options(const struct live_config *live)
{
    return &live->now;
}

/* ---- What changed ---- */

/* Logs settings="domain ttl" domain="a. -> b." ttl="60 -> 30". */
static void log_each(enum log_level level, const char *message, bool needs_restart,
                     const struct options *before, const struct options *now)
{
    struct log_field fields[SETTINGS_MAX + 1];
    struct option_changes changes;
    option_changes_init(&changes, needs_restart, before, now);
    fields[0] = LOG_STR("settings", buf_cstr(&changes.names));
    for (size_t i = 0; i < changes.count; i++) {
        fields[i + 1] = LOG_STR(changes.items[i].name, buf_cstr(&changes.items[i].text));
    }
    if (changes.count > 0 && log_takes(level)) {
        log_write(level, message, changes.count + 1, fields);
    }
    option_changes_fini(&changes);
}

/* ---- Applying ---- */

/* Sets serials: zones that can be transferred have their own. */
static void set_serials(const struct live_config *live, struct engine_config *config)
{
    struct dname apex;
    if (config->settings.transfer_count == 0 || !live->config.serials) {
        return;
    }
    for (size_t i = 0; i < config->zone_count; i++) {
        config->zones[i].serial = zone_serials_of(live->config.serials, &config->zones[i].domain);
    }
    for (size_t i = 0; i < config->settings.reverse_zone_count; i++) {
        config->reverse_serials[i] = reverse_zone_apex(&config->settings.reverse_zones[i], &apex)
                                         ? zone_serials_of(live->config.serials, &apex)
                                         : NULL;
    }
}

/* Returns the domain whose writer fills the zone: the first one for external zones. */
static const struct dname *writers_domain(const struct engine_config *config,
                                          const struct engine_zone *zone)
{
    return zone->is_external ? &config->first_domain : &zone->domain;
}

static bool live_config_knows_clients(const struct live_config *live,
                                      const struct engine_config *config)
{
    bool does_know = true;
    for (size_t i = 0; i < config->zone_count && does_know && live->config.knows_clients; i++) {
        does_know = live->config.knows_clients(live->config.data,
                                               writers_domain(config, &config->zones[i]));
    }
    return does_know;
}

static void live_config_publish(struct live_config *live, const struct options *options)
{
    struct engine_config *config = options_engine_config(options);
    forward_settings_fill(live->external, options, config);
    client_settings_fill(live->clients, options, live_config_knows_clients(live, config), config);
    config->dnssec =
        dnssec_files_keys(live->dnssec) ? dnssec_ref(dnssec_files_keys(live->dnssec)) : NULL;
    config->tsig = tsig_keys_ref(live->tsig_keys);
    set_serials(live, config);
    for (size_t i = 0; i < config->zone_count && live->config.is_incomplete; i++) {
        struct engine_zone *zone = &config->zones[i];
        zone->is_incomplete =
            live->config.is_incomplete(live->config.data, writers_domain(config, zone));
    }
    publisher_configure(live->config.publisher, config);
}

static int add_resolv_conf(const struct live_config *live, struct options *options, struct err *err)
{
    return options->nameserver_count ? 0 : resolv_conf_read(options, live->config.resolv_conf, err);
}

/* Returns whether resolv.conf is still being written: it suddenly lists no upstream. */
static bool is_being_written(const struct live_config *live, const struct options *before,
                             const struct options *now, struct err *err)
{
    const char *path = live->config.resolv_conf;
    if (before->nameserver_count == 0 || now->nameserver_count > 0 || access(path, F_OK) < 0) {
        return false;
    }
    (void)err_set(err, ERR_SYNTAX, "`%s` lists no upstream; expected a line `nameserver ADDRESS`",
                  path); /* only for its text */
    return true;
}

static void live_config_apply(struct live_config *live)
{
    struct options before = live->now, now = config_layers_settings(live->layers);
    struct err err;
    live->wants_resolv_conf = now.nameserver_count == 0;
    if (add_resolv_conf(live, &now, &err) < 0 || is_being_written(live, &before, &now, &err)) {
        log_warn("cannot use the changed resolv.conf, keeping the upstreams",
                 LOG_STR("error", err.msg));
        memcpy(now.nameservers, before.nameservers, sizeof(now.nameservers));
        now.nameserver_count = before.nameserver_count;
    }
    live->now = now;
    dnssec_files_set(live->dnssec, &now);
    live_config_publish(live, &now);
    log_each(LOG_LEVEL_INFO, "configuration changed", false, &before, &now);
    log_each(LOG_LEVEL_WARN, "changed settings need a restart", true, &live->started, &now);
    if (live->config.changed) {
        live->config.changed(live->config.data, &before, &now);
    }
    stub_zones_unref(before.stubs);
}

void live_config_take(struct live_config *live, struct slice value)
{
    if (config_layers_take(live->layers, CONFIG_DOCUMENT, NULL, value)) {
        live_config_apply(live);
    }
}

void live_config_take_writers(struct live_config *live, const struct dname *domain,
                              struct slice value)
{
    bool is_new = config_layers_take(live->layers, CONFIG_WRITERS, domain, value);
    if (is_new && live->has_begun) { /* else _begin does */
        live_config_apply(live);
    }
}

void live_config_take_stubs(struct live_config *live, const struct forward_zone *zones,
                            size_t count)
{
    forward_settings_set_keys(live->external, zones, count);
    live_config_publish(live, &live->now);
}

void live_config_set_clients(struct live_config *live, const struct client_index *index)
{
    client_settings_set_index(live->clients, index);
}

void live_config_take_visible(struct live_config *live, const struct visible_namespace *listed,
                              size_t count)
{
    client_settings_set_listed(live->clients, listed, count);
    if (live->has_begun && live->now.clients.is_own) {
        live_config_publish(live, &live->now);
    }
}

void live_config_republish(struct live_config *live)
{
    live_config_publish(live, &live->now);
}

/* Returns true if the file of -config says something else that can be used. */
static bool live_config_read_file(struct live_config *live)
{
    struct err err;
    live->is_file_lost = watched_file_read(live->file, &live->text, &err) < 0;
    if (live->is_file_lost) {
        log_error("cannot use the configuration file, keeping the settings in force",
                  LOG_STR("file", watched_file_path(live->file)), LOG_STR("error", err.msg));
        return false;
    }
    return config_layers_take(live->layers, CONFIG_FILE, NULL,
                              slice_of(buf_cstr(&live->text), live->text.len));
}

static void read_files(struct live_config *live)
{
    if (live->file) {
        (void)live_config_read_file(live); /* what is in force is applied in any case */
    }
    if (live->hosts) {
        hosts_files_reload(live->hosts);
        forward_settings_set_hosts(live->external, hosts_files_table(live->hosts));
    }
    secret_file_reload(live->cookies);
    secret_file_reload(live->tsig);
    dnssec_files_reload(live->dnssec);
}

void live_config_reload(struct live_config *live)
{
    log_info("configuration reloaded", LOG_STR("key", config_layers_key(live->layers)),
             LOG_STR("document", config_layers_has_document(live->layers) ? "present" : "none"));
    read_files(live);
    forward_settings_renew(live->external);
    live_config_apply(live);
}

/* ---- Files that change ---- */

static void on_resolv_conf(struct ev_loop *loop UNUSED, ev_stat *stat, int events UNUSED)
{
    struct live_config *live = stat->data;
    if (live->wants_resolv_conf || live->config.flags->nameserver_count == 0) {
        live_config_apply(live);
    }
}

static void live_config_on_file(void *data)
{
    struct live_config *live = data;
    if (live_config_read_file(live) && live->has_begun) { /* else _begin does */
        live_config_apply(live);
    }
}

/* Publishes what changed; before _begin, that does. */
static void take_effect(struct live_config *live)
{
    if (live->has_begun) {
        live_config_publish(live, &live->now);
    }
}

static void on_hosts(void *data)
{
    struct live_config *live = data;
    forward_settings_set_hosts(live->external, hosts_files_table(live->hosts));
    take_effect(live);
}

static int take_cookies(void *data, struct slice text, struct err *err)
{
    struct live_config *live = data;
    struct cookie_secrets secrets;
    int r = cookie_secrets_parse(text, &secrets, err);
    if (r == 0) {
        client_settings_set_cookies(live->clients, &secrets);
        explicit_bzero(&secrets, sizeof(secrets));
        take_effect(live);
    }
    return r;
}

static int take_tsig_keys(void *data, struct slice text, struct err *err)
{
    struct live_config *live = data;
    struct tsig_keys *keys;
    int r = tsig_keys_parse(text, &keys, err);
    if (r == 0) {
        tsig_keys_unref(live->tsig_keys);
        live->tsig_keys = keys;
        take_effect(live);
    }
    return r;
}

static void on_keys(void *data)
{
    struct live_config *live = data;
    live_config_publish(live, &live->now);
}

void live_config_signing(const struct live_config *live, const struct dname *zone, struct buf *out)
{
    dnssec_files_text(live->dnssec, zone, out);
}

struct config_refusals live_config_refusals(const struct live_config *live)
{
    return (struct config_refusals){
        .etcd = config_layers_is_refused(live->layers, CONFIG_DOCUMENT),
        .kube2sky = config_layers_is_refused(live->layers, CONFIG_WRITERS),
        .file = live->is_file_lost || config_layers_is_refused(live->layers, CONFIG_FILE),
        .hosts = hosts_files_is_refused(live->hosts),
        .cookies = secret_file_is_refused(live->cookies),
        .tsig = secret_file_is_refused(live->tsig),
        .dnssec = dnssec_files_is_refused(live->dnssec),
        .unusable_keys = dnssec_files_unusable(live->dnssec),
    };
}

static int open_file(struct live_config *live, struct err *err)
{
    live->file = watched_file_new(&(struct watched_file_config){
        .loop = live->config.loop,
        .path = live->config.flags->config_file,
        .bytes_max = CONFIG_DOCUMENT_MAX,
        .changed = live_config_on_file,
        .data = live,
    });
    int r = watched_file_read(live->file, &live->text, err);
    if (r == 0) {
        r = config_layers_take_file(live->layers, slice_of(buf_cstr(&live->text), live->text.len),
                                    err);
    }
    return r < 0 ? err_wrap(err, r, "flag -config") : 0;
}

int live_config_offline(const struct options *flags, struct options *ret_options, struct err *err)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO); /* never runs */
    struct live_config *live =
        live_config_new(&(struct live_config_config){.loop = loop, .flags = flags});
    int r = *flags->config_file ? open_file(live, err) : 0;
    if (r == 0) {
        *ret_options = config_layers_settings(live->layers);
    }
    live_config_free(live);
    ev_loop_destroy(loop);
    return r;
}

/* Opens the key files that the flag names, or -config's file. */
static int open_keys(struct live_config *live, struct err *err)
{
    struct options options = config_layers_settings(live->layers);
    int r = dnssec_files_open(live->dnssec, &options, err);
    stub_zones_unref(options.stubs);
    return r;
}

static int open_secrets(struct live_config *live, struct err *err)
{
    const struct secret_file_config cookies = {
        .loop = live->config.loop,
        .path = live->config.flags->cookie_secret,
        .flag = "-cookie-secret",
        .refused = "cannot use the file of cookie secrets, keeping the secrets in force",
        .changed = "cookie secrets changed",
        .bytes_max = COOKIE_SECRETS_FILE_MAX,
        .take = take_cookies,
        .data = live,
    };
    const struct secret_file_config tsig = {
        .loop = live->config.loop,
        .path = live->config.flags->tsig_keys,
        .flag = "-tsig-keys",
        .refused = "cannot use the file of TSIG keys, keeping the keys in force",
        .changed = "TSIG keys changed",
        .bytes_max = TSIG_KEYS_FILE_MAX,
        .take = take_tsig_keys,
        .data = live,
    };
    int r = *cookies.path ? secret_file_new(&cookies, &live->cookies, err) : 0;
    return r == 0 && *tsig.path ? secret_file_new(&tsig, &live->tsig, err) : r;
}

/* Checks the flag, and -config's file. A key that is missing later makes no error. */
static int check_transfer_keys(const struct live_config *live, struct err *err)
{
    struct options options = config_layers_settings(live->layers);
    const struct transfer_who *lacking = option_transfer_lacks_key(&options, live->tsig_keys);
    stub_zones_unref(options.stubs);
    char text[DNAME_TEXT_MAX];
    return lacking ? err_set(err, ERR_USAGE,
                             "flag -transfer-to: `key:%s`: expected a key that is in the file of "
                             "-tsig-keys",
                             dname_to_text(&lacking->key, text))
                   : 0;
}

int live_config_open_files(struct live_config *live, struct err *err)
{
    const struct options *flags = live->config.flags;
    int r = *flags->config_file ? open_file(live, err) : 0;
    if (r == 0) {
        r = open_keys(live, err);
    }
    if (r == 0) {
        r = hosts_files_new(
            &(struct hosts_files_config){.loop = live->config.loop,
                                         .paths = &flags->hosts,
                                         .table_bytes_max = (size_t)flags->hosts_max_mib << 20,
                                         .changed = on_hosts,
                                         .data = live},
            &live->hosts, err);
    }
    if (r == 0) {
        forward_settings_set_hosts(live->external, hosts_files_table(live->hosts));
    }
    if (r == 0) {
        r = open_secrets(live, err);
    }
    return r == 0 ? check_transfer_keys(live, err) : r;
}

/* ---- The start ---- */

/* Takes a document that etcd returned. If etcd returns no document of kube2sky's, the mirror brings
 * it. */
static void live_config_on_reply(void *data, const struct etcd_range_reply *reply,
                                 const struct err *err)
{
    struct reading *reading = data;
    struct live_config *live = reading->live;
    const bool is_writers = reading->domain.len > 0;
    reading->call = NULL;
    if (!err) {
        (void)config_layers_take(live->layers, is_writers ? CONFIG_WRITERS : CONFIG_DOCUMENT,
                                 is_writers ? &reading->domain : NULL,
                                 reply->count ? reply->kvs[0].value : slice_of(NULL, 0));
    } else if (!is_writers) {
        live->unread = *err;
    }
    if (--live->awaited == 0) {
        ev_break(live->config.loop, EVBREAK_ONE);
    }
}

static void live_config_on_timeout(struct ev_loop *loop, ev_timer *timer, int events UNUSED)
{
    struct live_config *live = timer->data;
    (void)err_set(&live->unread, ERR_TIMEOUT,
                  "no answer within a second"); /* noted, not returned */
    ev_break(loop, EVBREAK_ONE);
}

/* Asks for a key; at most ENGINE_ZONES_MAX at once. */
static void live_config_ask(struct live_config *live, struct etcd *etcd, const char *key,
                            const struct dname *domain)
{
    const struct etcd_range range = {.key = slice_str(key)};
    struct reading *reading = &live->readings[live->awaited++];
    *reading = (struct reading){.live = live};
    if (domain) {
        reading->domain = *domain;
    }
    reading->call = etcd_range(etcd, &range, live_config_on_reply, reading);
}

static void live_config_wait_for_documents(struct live_config *live)
{
    ev_run(live->config.loop, 0);
    for (size_t i = 0; i < ENGINE_ZONES_MAX; i++) {
        if (live->readings[i].call) {
            etcd_call_cancel(STEAL(live->readings[i].call));
        }
    }
    live->awaited = 0;
}

static void ask_writers(struct live_config *live, struct etcd *etcd)
{
    struct options now = config_layers_settings(live->layers);
    stub_zones_unref(now.stubs);
    for (size_t i = 0; i < now.domain_count; i++) {
        CLEANUP_FREE char *key = writer_document_key(&now.domains[i], "config");
        live_config_ask(live, etcd, key, &now.domains[i]);
    }
}

void live_config_read(struct live_config *live, struct etcd *etcd)
{
    live_config_ask(live, etcd, config_layers_key(live->layers), NULL);
    ev_timer_init(&live->timeout, live_config_on_timeout, read_timeout_s, 0.);
    live->timeout.data = live;
    ev_timer_start(live->config.loop, &live->timeout);
    live_config_wait_for_documents(live);
    if (live->unread.code == 0) { /* the document may name other domains */
        ask_writers(live, etcd);
        live_config_wait_for_documents(live);
        live->unread = (struct err){0}; /* what is late comes with the mirrors */
    }
    ev_timer_stop(live->config.loop, &live->timeout);
}

struct options live_config_preview(struct live_config *live, struct slice document)
{
    return config_layers_preview(live->layers, document);
}

static void live_config_settle(struct live_config *live)
{
    stub_zones_unref(live->now.stubs);
    live->now = config_layers_settings(live->layers);
}

void live_config_seed(struct live_config *live, struct slice document)
{
    (void)config_layers_take(live->layers, CONFIG_DOCUMENT, NULL, document); /* logs if not */
    live_config_settle(live);
}

int live_config_begin(struct live_config *live, struct err *err)
{
    live_config_settle(live);
    live->has_begun = true;
    live->wants_resolv_conf = live->now.nameserver_count == 0;
    int r = add_resolv_conf(live, &live->now, err);
    if (r == 0) {
        r = dnssec_files_begin(live->dnssec, &live->now, live->unread.code == 0, err);
    }
    if (r < 0) {
        return r;
    }
    live->started = live->now;
    ev_stat_init(&live->resolv_conf, on_resolv_conf, live->config.resolv_conf, 0.);
    live->resolv_conf.data = live;
    ev_stat_start(live->config.loop, &live->resolv_conf); /* inotify, plus a stat() now and then */
    live_config_publish(live, &live->now);
    return 0;
}

void live_config_opened(const struct live_config *live)
{
    if (live->unread.code != 0) {
        log_warn("falling back to default configuration, could not read from etcd",
                 LOG_STR("key", config_layers_key(live->layers)),
                 LOG_STR("error", live->unread.msg));
    }
}
