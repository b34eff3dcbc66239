/* Wires kube2sky together and handles its signals. One thread, one loop: the reflectors fill the
 * inventory, the reconciler writes it to etcd, and the HTTP server reports on both. Other threads
 * only look up host names and write the log. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/outage.h"
#include "common/base/privileges.h"
#include "common/base/process_metrics.h"
#include "common/base/service_manager.h"
#include "common/base/version.h"
#include "common/base/xalloc.h"
#include "common/dns/record_json.h"
#include "common/etcd/etcd.h"
#include "common/health/healthcheck.h"
#include "common/live/live_view.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/config_source.h"
#include "kube2sky/dry_run.h"
#include "kube2sky/event_writer.h"
#include "kube2sky/explain.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/live_figures.h"
#include "kube2sky/metrics_table.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/naming/event_queue.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/options.h"
#include "kube2sky/reconcile/flaw_list.h"
#include "kube2sky/reconcile/reconciler.h"
#include "kube2sky/status.h"

/* Timeout of a request to etcd, where a transaction takes milliseconds. One that a follower
 * forwarded to a dying leader is lost silently, while the next leader is elected within one or two
 * seconds. If a disk stalls for longer, the transaction still happens, and the mirror shows it. */
enum { ETCD_CALL_TIMEOUT_MS = 2500 };

/* kube2sky 1.15's exit status when etcd failed for too long. */
enum { ETCD_TIMEOUT_STATUS = 255 };

/* Time for transactions in flight at shutdown. */
static const double stop_grace_s = 1.0;

static const char service_account_dir[] = "/var/run/secrets/kubernetes.io/serviceaccount";

static const struct privileges_user same_user = {.is_set = false};

struct app {
    struct ev_loop *loop;
    int64_t start_s;
    struct kube_client *kube;
    struct etcd *etcd;
    struct inventory *inventory;
    struct inventory *imports; /* NULL without --multicluster */
    struct client_keys *client_keys;
    struct reconciler *reconciler;
    struct config_source *config_source; /* NULL: no ConfigMap is followed */
    struct kube_source *kube_source;
    struct flaw_list flaws;
    struct event_queue *events; /* NULL, as the writer: no events are written */
    struct event_writer *event_writer;
    struct outage etcd_outage;
    struct metrics_sources sources;
    struct status *status;   /* NULL in a dry run */
    struct dry_run *dry_run; /* NULL otherwise */
    int exit_status;
    struct service_manager manager;
    ev_signal stop_signals[2];
    ev_signal hangup;
    ev_timer grace;
};

static const struct cause_object *current_cause(const void *data)
{
    const struct app *app = data;
    return app->kube_source ? kube_source_cause(app->kube_source) : NULL;
}

static void on_owner_changed(void *data, struct slice owner)
{
    struct app *app = data;
    reconciler_owner_changed(app->reconciler, owner);
    reconciler_note_cause(app->reconciler, owner);
}

static void on_slice_changed(void *data, struct slice owner, const struct slice_change *change)
{
    struct app *app = data;
    reconciler_slice_changed(app->reconciler, owner, change);
    reconciler_note_cause(app->reconciler, owner);
}

static void on_triggered(void *data, struct slice owner, enum inventory_trigger trigger,
                         int64_t since_us)
{
    struct app *app = data;
    reconciler_note_trigger(app->reconciler, owner, trigger, since_us);
}

static void on_parts_wanted(void *data, const char *ns, const char *service)
{
    struct app *app = data;
    kube_source_want_parts(app->kube_source, ns, service);
}

static void on_import_parts_wanted(void *data, const char *ns, const char *service UNUSED)
{
    struct app *app = data;
    kube_source_want_imports(app->kube_source, ns);
}

static void on_config_map(void *data, struct kube_object *map)
{
    struct app *app = data;
    config_source_take(app->config_source, map);
}

static void on_config_map_lacks(void *data)
{
    struct app *app = data;
    config_source_lack(app->config_source);
}

/* ---- Start ---- */

static void end_loop(struct app *app)
{
    ev_break(app->loop, EVBREAK_ALL);
}

static void on_etcd_overdue(void *data)
{
    struct app *app = data;
    app->exit_status = ETCD_TIMEOUT_STATUS;
    end_loop(app);
}

/* Opens everything that can fail, before anything is started. */
static int open_clients(struct app *app, const struct options *o, struct err *err)
{
    const struct kube_client_config kube = {
        .loop = app->loop,
        .kubecfg_file = o->kubecfg_file,
        .kube_master_url = o->kube_master_url,
        .service_account_dir = service_account_dir,
    };
    const struct etcd_config etcd = {
        .loop = app->loop,
        .endpoints = o->etcd_server,
        .call_timeout_ms = ETCD_CALL_TIMEOUT_MS,
        .tls = {.ca = o->etcd_cafile, .cert = o->etcd_certfile, .key = o->etcd_keyfile},
        .username = o->etcd_username,
        .password_file = o->etcd_password_file,
    };
    int r = etcd_new(&etcd, &app->etcd, err);
    if (r < 0) {
        return err_wrap(err, r, "%s",
                        r == ERR_USAGE ? "flag -etcd-server"
                                       : "-etcd-cafile, -etcd-certfile, -etcd-keyfile");
    }
    return kube_client_new(&kube, &app->kube, err);
}

/* Drops privileges when everything is open, and no request has been made yet. */
static int kube2sky_drop_privileges(const struct app *app, const struct options *o, struct err *err)
{
    const char *files[KUBE_CLIENT_FILES_MAX + 4] = {o->etcd_cafile, o->etcd_certfile,
                                                    o->etcd_keyfile, o->etcd_password_file};
    size_t count = 4 + kube_client_files(app->kube, files + 4);
    return privileges_drop(&same_user, files, count, err);
}

static void start_etcd_outage(struct app *app, const struct options *o)
{
    outage_init(
        &app->etcd_outage, app->loop, "etcd", o->etcd_mutation_timeout_ms,
        o->exit_on_etcd_timeout
            ? "etcd has been failing for longer than etcd-mutation-timeout, exiting"
            : "etcd has been failing for longer than etcd-mutation-timeout, still retrying");
    if (o->exit_on_etcd_timeout && !app->dry_run) {
        outage_when_overdue(&app->etcd_outage, on_etcd_overdue, app);
    }
}

static void start_config_source(struct app *app, const struct options *o)
{
    if (o->config_map) {
        app->config_source = config_source_new(&(struct config_source_config){
            .loop = app->loop,
            .reconciler = app->reconciler,
            .domain = o->domain,
            .ttl_s = (uint32_t)o->ttl_s,
            .zones = o->override_zones,
        });
    }
}

/* Returns whether another writer has the ConfigMap's keys. Of several writers with --namespaces,
 * only the one with the map's namespace follows it, and removes keys that an earlier map left. */
static bool leaves_config(const struct options *o)
{
    return !o->config_map && o->namespace_count > 0 &&
           !slice_is_among(slice_str(o->config_map_namespace), (const char *const *)o->namespaces,
                           o->namespace_count);
}

static struct inventory *new_imports(struct app *app, const struct options *o)
{
    return o->import_domain ? inventory_new(&(struct inventory_config){
                                  .is_narrowed = true, /* it never has default/kubernetes */
                                  .has_imports = true,
                                  .selects_namespaces = *o->namespace_labels,
                                  .namespaces = (const char *const *)o->namespaces,
                                  .namespace_count = o->namespace_count,
                                  .changed = on_owner_changed,
                                  .slice_changed = on_slice_changed,
                                  .parts_wanted = on_import_parts_wanted,
                                  .data = app,
                              })
                            : NULL;
}

static void start_middle(struct app *app, const struct options *o)
{
    start_etcd_outage(app, o);
    kube_object_keep((struct kube_kept){.pods = o->endpoint_names == ENDPOINT_NAMES_POD,
                                        .aliases = o->override_zones != NULL,
                                        .placement = o->wants_client_records,
                                        .uids = o->wants_events,
                                        .external = o->external_zone != NULL,
                                        .topology = o->wants_topology});
    app->events = o->wants_events && !app->dry_run ? event_queue_new() : NULL;
    app->inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = o->namespace_count > 0 || *o->label_selector,
        .is_selected = *o->label_selector,
        .selects_namespaces = *o->namespace_labels,
        .namespaces = (const char *const *)o->namespaces,
        .namespace_count = o->namespace_count,
        .changed = on_owner_changed,
        .slice_changed = on_slice_changed,
        .triggered = on_triggered,
        .parts_wanted = on_parts_wanted,
        .data = app,
    });
    app->imports = new_imports(app, o);
    app->client_keys = client_keys_new(&(struct client_keys_config){
        .domain = o->domain,
        .is_wanted = {[CLIENT_KEYS_NODE_ADDRESS] = o->wants_pods,
                      [CLIENT_KEYS_VISIBLE] = o->wants_visibility,
                      [CLIENT_KEYS_RECORD] = o->wants_client_records},
        .are_pods_narrowed = o->namespace_count > 0 || *o->label_selector,
        .are_namespaces_narrowed = o->namespace_count > 0 || *o->namespace_labels,
        .namespaces = (const char *const *)o->namespaces,
        .namespace_count = o->namespace_count,
    });
    app->reconciler = reconciler_start(&(struct reconciler_config){
        .loop = app->loop,
        .etcd = app->etcd,
        .inventory = app->inventory,
        .imports = app->imports,
        .import_domain = o->import_domain,
        .client_keys = app->client_keys,
        .outage = &app->etcd_outage,
        .flaws = &app->flaws,
        .events = app->events,
        .domain = o->domain,
        .ttl_s = (uint32_t)o->ttl_s,
        .endpoint_names = o->endpoint_names,
        .txn_ops_max = (size_t)o->etcd_max_txn_ops,
        .etcd_space_bytes = (uint64_t)o->etcd_space_mib << 20,
        .owner_keys_max = (uint32_t)o->max_owner_keys,
        .ns_keys_max = (uint64_t)o->max_namespace_keys,
        .namespaces = (const char *const *)o->namespaces,
        .namespace_count = o->namespace_count,
        .own_only_written = o->own_only_written,
        .has_nodes = o->wants_nodes,
        .no_reverse = !o->wants_reverse,
        .has_topology = o->wants_topology,
        .leader_lease_s = app->dry_run ? 0 : o->leader_lease_s,
        .zones = o->override_zones,
        .external = {.zone = o->external_zone,
                     .has_headless = o->has_external_headless,
                     .is_public = o->is_external_public},
        .cause = current_cause,
        .cause_data = app,
        .has_config_map = o->config_map != NULL,
        .leaves_config = leaves_config(o),
        .planned = app->dry_run ? dry_run_planned : NULL,
        .data = app->dry_run,
    });
    start_config_source(app, o);
    app->kube_source = kube_source_start(&(struct kube_source_config){
        .loop = app->loop,
        .client = app->kube,
        .inventory = app->inventory,
        .imports = app->imports,
        .endpoints_mode = o->endpoints_mode,
        .client_keys = app->client_keys,
        .flaws = &app->flaws,
        .events = app->events,
        .wants_pods = o->wants_pods,
        .wants_nodes = o->wants_nodes,
        .wants_namespaces = o->wants_visibility || *o->namespace_labels,
        .has_client_records = o->wants_client_records,
        .namespaces = (const char *const *)o->namespaces,
        .namespace_count = o->namespace_count,
        .label_selector = o->label_selector,
        .namespace_labels = o->namespace_labels,
        .route_rules = o->route_rules,
        .aliases = reconciler_aliases(app->reconciler),
        .config_map_namespace = o->config_map_namespace,
        .config_map_name = o->config_map ? o->config_map : "",
        .config_map = on_config_map,
        .config_map_lacks = on_config_map_lacks,
        .data = app,
        .is_dry_run = app->dry_run != NULL,
        .timeout_ms = o->etcd_mutation_timeout_ms,
    });
    if (app->events) {
        app->event_writer = event_writer_start(&(struct event_writer_config){
            .loop = app->loop,
            .client = app->kube,
            .queue = app->events,
            .kube_source = app->kube_source,
            .reconciler = app->reconciler,
        });
    }
    app->sources = (struct metrics_sources){
        .start_s = app->start_s,
        .etcd = app->etcd,
        .etcd_outage = &app->etcd_outage,
        .kube_source = app->kube_source,
        .flaws = &app->flaws,
        .inventory = app->inventory,
        .reconciler = app->reconciler,
        .config_source = app->config_source,
        .event_writer = app->event_writer,
        .waiters = app->sources.waiters,
        .domain = o->domain,
        .namespaces = (const char *const *)o->namespaces,
        .namespace_count = o->namespace_count,
        .label_selector = o->label_selector,
        .namespace_labels = o->namespace_labels,
    };
}

/* ---- End ---- */

static void on_grace_over(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    log_warn("stopping before everything is written");
    end_loop(timer->data);
}

static void on_drained(void *data)
{
    end_loop(data);
}

/* Handles the first signal: takes no more work, and finishes transactions in flight. The second
 * exits at once. */
static void kube2sky_on_stop_signal(struct ev_loop *loop, ev_signal *w, int revents UNUSED)
{
    struct app *app = w->data;
    if (ev_is_active(&app->grace)) {
        end_loop(app);
        return;
    }
    log_info("stopping", LOG_STR("signal", strsignal(w->signum)));
    service_manager_stopping(&app->manager);
    kube_source_stop(app->kube_source);
    reconciler_drain(app->reconciler, on_drained, app);
    ev_now_update(loop);
    ev_timer_init(&app->grace, on_grace_over, stop_grace_s, 0.0);
    app->grace.data = app;
    ev_timer_start(loop, &app->grace);
}

static void kube2sky_on_hangup(struct ev_loop *loop UNUSED, ev_signal *w, int revents UNUSED)
{
    struct app *app = w->data;
    log_info("reloading the credential files");
    kube_client_reload(app->kube);
    if (app->kube_source) {
        kube_source_ask_refused(app->kube_source);
    }
}

static void kube2sky_watch_signal(struct app *app, ev_signal *w,
                                  void (*fn)(struct ev_loop *loop, ev_signal *w, int revents),
                                  int number)
{
    ev_signal_init(w, fn, number);
    w->data = app;
    ev_signal_start(app->loop, w);
}

/* Installs the signal handlers, first of all: PID 1 of a container never receives a signal without
 * a handler. Signals are handled once the loop runs. */
static void kube2sky_watch_signals(struct app *app)
{
    kube2sky_watch_signal(app, &app->stop_signals[0], kube2sky_on_stop_signal, SIGTERM);
    kube2sky_watch_signal(app, &app->stop_signals[1], kube2sky_on_stop_signal, SIGINT);
    kube2sky_watch_signal(app, &app->hangup, kube2sky_on_hangup, SIGHUP);
}

static void kube2sky_stop_all(struct app *app)
{
    status_free(app->status);
    dry_run_free(app->dry_run);
    event_writer_free(app->event_writer);
    kube_source_free(app->kube_source);
    config_source_free(app->config_source);
    if (app->reconciler) {
        reconciler_stop(app->reconciler);
        outage_fini(&app->etcd_outage);
    }
    event_queue_free(app->events);
    client_keys_free(app->client_keys);
    inventory_free(app->inventory);
    inventory_free(app->imports);
    kube_client_free(app->kube);
    etcd_free(app->etcd);
    ev_timer_stop(app->loop, &app->grace);
    for (size_t i = 0; i < ARRAY_LEN(app->stop_signals); i++) {
        ev_signal_stop(app->loop, &app->stop_signals[i]);
    }
    ev_signal_stop(app->loop, &app->hangup);
    service_manager_fini(&app->manager);
    ev_loop_destroy(app->loop);
}

/* Runs until the loop is broken. */
static void kube2sky_run(struct app *app, const struct options *o)
{
    log_info("started", LOG_STR("version", version_string), LOG_STR("domain", o->domain),
             LOG_STR("etcd", o->etcd_server), LOG_STR("api", kube_client_server(app->kube)),
             LOG_INT("healthz_port", app->status ? addr_port(&o->healthz) : 0));
    start_middle(app, o);
    if (app->dry_run) {
        dry_run_start(app->dry_run, &app->sources);
    }
    service_manager_ready(&app->manager, "following the cluster");
    ev_run(app->loop, 0);
    if (app->dry_run) {
        app->exit_status = dry_run_result(app->dry_run);
    }
}

/* Returns the exit status. */
static int kube2sky_serve(const struct options *o)
{
    struct app app = {.loop = ev_loop_new(EVFLAG_AUTO), .start_s = clock_wall_s()};
    struct err err = {.code = 0};
    if (!app.loop) {
        xalloc_out_of_memory(); /* out of memory or descriptors, impossible at start */
    }
    service_manager_init(&app.manager, app.loop);
    kube2sky_watch_signals(&app);
    int r = open_clients(&app, o, &err);
    if (r == 0 && o->is_dry_run) {
        app.dry_run = dry_run_new(app.loop);
    } else if (r == 0) {
        r = status_new(&(struct status_config){app.loop, o->healthz, o->http_hosts, &app.sources},
                       &app.status, &err);
    }
    if (r == 0) {
        r = kube2sky_drop_privileges(&app, o, &err);
    }
    if (r == 0) {
        kube2sky_run(&app, o);
    } else {
        log_plain("kube2sky", err.msg);
    }
    kube2sky_stop_all(&app);
    return r == 0 ? app.exit_status : r == ERR_USAGE ? 2 : 1;
}

/* Allocates for libev: realloc, and free for size 0. */
static void *kube2sky_allocate(void *ptr, long size)
{
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return xrealloc(ptr, (size_t)size);
}

static void start_log(const struct options *o)
{
    log_set_level((enum log_level)o->log_level);
    log_set_format((enum log_format)o->log_format);
    log_start();
    for (size_t i = 0; i < o->without_effect.count; i++) {
        log_warn("flag ignored: everything is logged to stderr, at one level",
                 LOG_STR("flag", o->without_effect.items[i]));
    }
}

/* Returns the exit status. */
static int show_top(const struct options *o)
{
    struct err err = {.code = 0};
    const struct live_view view = {.flag = "-top", .server = o->healthz, .screen = &top_view};
    int r = live_view_run(&view, &err);
    if (r < 0) {
        log_plain("kube2sky", err.msg);
    }
    return r == 0 ? 0 : 1;
}

/* Asks the running kube2sky. */
static int kube2sky_explain(const struct options *o)
{
    struct err err;
    int r = kube2sky_explain_client(&o->healthz, o->explain, &err);
    if (r < 0) {
        log_plain("kube2sky", err.msg);
    }
    return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct options options;
    struct err err = {.code = 0};
    int r = kube2sky_options_parse(argc, argv, &options, &err);
    if (r == FLAGS_HELP) {
        return 0;
    }
    if (r < 0) {
        log_plain("kube2sky", err.msg);
        return 2;
    }
    if (options.want_version) {
        printf("kube2sky %s\n", version_string);
        r = 0;
    } else if (options.healthcheck) {
        r = healthcheck_main("kube2sky", options.healthcheck);
    } else if (options.wants_top) {
        r = show_top(&options);
    } else if (*options.explain) {
        r = kube2sky_explain(&options);
    } else {
        (void)signal(SIGPIPE, SIG_IGN); /* makes a broken connection an error code, not a signal */
        process_metrics_open();
        privileges_begin(&same_user);
        start_log(&options);
        ev_set_allocator(kube2sky_allocate);
        record_json_use_xalloc();
        r = kube2sky_serve(&options);
        log_stop(LOG_STOP_MS);
    }
    options_fini(&options);
    return r;
}
