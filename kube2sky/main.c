/* kube2sky: wiring and signals. One thread, one loop: reflectors fill the inventory, the reconciler
 * carries it into etcd, the HTTP server tells whether it has. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/attributes.h"
#include "common/clock.h"
#include "common/etcd.h"
#include "common/flags.h"
#include "common/http_server.h"
#include "common/log.h"
#include "common/outage.h"
#include "common/record_json.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "kube2sky/inventory.h"
#include "kube2sky/kube_client.h"
#include "kube2sky/metrics_table.h"
#include "kube2sky/options.h"
#include "kube2sky/readiness.h"
#include "kube2sky/reconciler.h"
#include "kube2sky/reflector.h"

/* What every record of kube2sky has said. */
enum { RECORD_TTL_S = 30 };

/* A transaction takes etcd milliseconds. One that a follower had handed to a leader that died is
 * lost without a word, while the next leader is elected within one or two seconds. On a disk that
 * stalls for longer the transaction still happens, and the mirror tells. */
enum { ETCD_CALL_TIMEOUT_MS = 2500 };

/* For what is in hand when the end is asked for. */
static const double stop_grace_s = 1.0;

static const char service_account_dir[] = "/var/run/secrets/kubernetes.io/serviceaccount";

struct app {
    struct ev_loop *loop;
    int64_t start_s;
    struct kube_client *kube;
    struct etcd *etcd;
    struct inventory *inventory;
    struct reconciler *reconciler;
    struct reflector *reflectors[KUBE_KIND_COUNT];
    struct outage etcd_outage;
    struct outage api_outage;
    struct outage_source followed[KUBE_KIND_COUNT]; /* of the API, by kind */
    uint64_t skipped[KUBE_KIND_COUNT];
    struct readiness readiness;
    struct metrics_sources metrics;
    struct http_server *http;
    ev_signal stop_signals[2];
    ev_timer grace;
};

/* ---- Reflectors to inventory to reconciler ---- */

static void on_list_begin(void *data, enum kube_kind kind)
{
    struct app *app = data;
    inventory_list_begin(app->inventory, kind);
}

static void on_upsert(void *data, struct kube_object *object)
{
    struct app *app = data;
    inventory_upsert(app->inventory, object);
}

static void on_remove(void *data, enum kube_kind kind, const char *ns, const char *name)
{
    struct app *app = data;
    inventory_remove(app->inventory, kind, ns, name);
}

static void on_list_end(void *data, enum kube_kind kind)
{
    struct app *app = data;
    inventory_list_end(app->inventory, kind);
    log_info("listed", LOG_STR("kind", kube_kind_name(kind)),
             LOG_INT("objects", (int64_t)inventory_count(app->inventory, kind)));
}

static void on_bad(void *data, enum kube_kind kind, const char *name, const struct err *err)
{
    static struct log_limit limit = {.burst = 10};
    struct app *app = data;
    if (log_limit_pass(&limit)) {
        log_warn("object cannot be understood, its keys stay as they are",
                 LOG_STR("kind", kube_kind_name(kind)), LOG_STR("name", name),
                 LOG_STR("error", err->msg));
    }
    app->skipped[kind]++;
    inventory_bad(app->inventory, kind, name);
}

static void on_api_state(void *data, enum kube_kind kind, const struct err *err)
{
    struct app *app = data;
    if (err) {
        outage_away(&app->followed[kind], err);
    } else {
        outage_back(&app->followed[kind]);
    }
}

static void on_owner_changed(void *data, struct slice owner)
{
    struct app *app = data;
    reconciler_owner_changed(app->reconciler, owner);
}

static void start_reflectors(struct app *app)
{
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        app->reflectors[kind] = reflector_start(&(struct reflector_config){
            .loop = app->loop,
            .client = app->kube,
            .kind = (enum kube_kind)kind,
            .list_begin = on_list_begin,
            .upsert = on_upsert,
            .remove = on_remove,
            .list_end = on_list_end,
            .bad = on_bad,
            .state = on_api_state,
            .data = app,
        });
    }
}

static void stop_reflectors(struct app *app)
{
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        reflector_stop(app->reflectors[kind]);
        app->reflectors[kind] = NULL;
    }
}

/* ---- HTTP ---- */

/* That the loop turns is what it says. */
static void on_healthz(void *data UNUSED, const struct http_request *request UNUSED,
                       struct http_reply *reply)
{
    buf_append_str(&reply->body, "ok\n");
}

static void on_metrics(void *data, const struct http_request *request UNUSED,
                       struct http_reply *reply)
{
    reply->content_type = metrics_content_type;
    metrics_table_write(data, &reply->body);
}

/* ---- Start ---- */

/* Every address, IPv6 too where the kernel has it. */
static int listen_http(struct app *app, uint16_t port, const struct http_route *routes,
                       size_t count, struct err *err)
{
    const struct addr both = {
        .v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)},
        .len = sizeof(both.v6),
    };
    const struct addr v4 = {
        .v4 = {.sin_family = AF_INET, .sin_port = htons(port)},
        .len = sizeof(v4.v4),
    };
    int r = http_server_new(app->loop, &both, routes, count, &app->http, err);
    if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) {
        r = http_server_new(app->loop, &v4, routes, count, &app->http, err);
    }
    return r < 0 ? err_wrap(err, r, "flag -healthz-port") : 0;
}

static void on_credentials(void *data UNUSED, const struct err *err)
{
    if (err) {
        log_warn("changed credential files cannot be used, keeping the old ones",
                 LOG_STR("error", err->msg));
    } else {
        log_info("credential files read again");
    }
}

/* What can fail, before anything is started. */
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
        .on_credentials = on_credentials,
        .username = o->etcd_username,
        .password_file = o->etcd_password_file,
    };
    int r = etcd_new(&etcd, &app->etcd, err);
    return r < 0 ? r : kube_client_new(&kube, &app->kube, err);
}

static void start_outages(struct app *app, int64_t patience_ms)
{
    outage_init(&app->etcd_outage, app->loop, "etcd", patience_ms,
                "etcd has been failing for longer than etcd-mutation-timeout, trying on");
    outage_init(&app->api_outage, app->loop, "the Kubernetes API", patience_ms,
                "the API has been failing for longer than etcd-mutation-timeout, trying on");
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        app->followed[kind] = (struct outage_source){
            .away_line = "API cannot be followed, trying again",
            .back_line = "API is followed",
            .kind = kube_kind_name((enum kube_kind)kind),
        };
        outage_join(&app->api_outage, &app->followed[kind], true);
    }
}

static void start_middle(struct app *app, const struct options *o)
{
    start_outages(app, o->etcd_mutation_timeout_ms);
    app->inventory = inventory_new(&(struct inventory_config){
        .changed = on_owner_changed,
        .data = app,
    });
    app->reconciler = reconciler_start(&(struct reconciler_config){
        .loop = app->loop,
        .etcd = app->etcd,
        .inventory = app->inventory,
        .outage = &app->etcd_outage,
        .domain = o->domain,
        .ttl_s = RECORD_TTL_S,
    });
    app->readiness = (struct readiness){
        .inventory = app->inventory,
        .reconciler = app->reconciler,
        .etcd = &app->etcd_outage,
        .api = &app->api_outage,
    };
    app->metrics = (struct metrics_sources){
        .start_s = app->start_s,
        .etcd = app->etcd,
        .etcd_outage = &app->etcd_outage,
        .api_outage = &app->api_outage,
        .followed = app->followed,
        .skipped = app->skipped,
        .reflectors = app->reflectors,
        .inventory = app->inventory,
        .reconciler = app->reconciler,
    };
}

/* ---- End ---- */

static void end_loop(struct app *app)
{
    ev_break(app->loop, EVBREAK_ALL);
}

static void on_grace_over(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    log_warn("stopping before everything is written");
    end_loop(timer->data);
}

static void on_drained(void *data)
{
    end_loop(data);
}

/* The first signal: take nothing more, finish what is in hand. The second: end at once. */
static void on_stop_signal(struct ev_loop *loop, ev_signal *w, int revents UNUSED)
{
    struct app *app = w->data;
    if (ev_is_active(&app->grace)) {
        end_loop(app);
        return;
    }
    log_info("stopping", LOG_STR("signal", strsignal(w->signum)));
    stop_reflectors(app);
    reconciler_drain(app->reconciler, on_drained, app);
    ev_now_update(loop);
    ev_timer_init(&app->grace, on_grace_over, stop_grace_s, 0.0);
    app->grace.data = app;
    ev_timer_start(loop, &app->grace);
}

/* From the very start, and heard once the loop runs: PID 1 of a container never gets a signal that
 * it does not handle. */
static void watch_signals(struct app *app)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    for (size_t i = 0; i < ARRAY_LEN(app->stop_signals); i++) {
        ev_signal_init(&app->stop_signals[i], on_stop_signal, numbers[i]);
        app->stop_signals[i].data = app;
        ev_signal_start(app->loop, &app->stop_signals[i]);
    }
}

static void stop_all(struct app *app)
{
    stop_reflectors(app);
    http_server_free(app->http);
    reconciler_stop(app->reconciler);
    inventory_free(app->inventory);
    if (app->reconciler) {
        outage_fini(&app->api_outage);
        outage_fini(&app->etcd_outage);
    }
    kube_client_free(app->kube);
    etcd_free(app->etcd);
    ev_timer_stop(app->loop, &app->grace);
    for (size_t i = 0; i < ARRAY_LEN(app->stop_signals); i++) {
        ev_signal_stop(app->loop, &app->stop_signals[i]);
    }
    ev_loop_destroy(app->loop);
}

/* Returns the exit status. */
static int serve(const struct options *o)
{
    struct app app = {.loop = ev_loop_new(EVFLAG_AUTO), .start_s = clock_wall_s()};
    const struct http_route routes[] = {
        {"/healthz", on_healthz, NULL},
        {"/readiness", readiness_handle, &app.readiness},
        {"/metrics", on_metrics, &app.metrics},
    };
    struct err err = {.code = 0};
    if (!app.loop) {
        xalloc_out_of_memory(); /* of memory or descriptors, and none is in use yet */
    }
    watch_signals(&app);
    int r = open_clients(&app, o, &err);
    if (r == 0) {
        r = listen_http(&app, (uint16_t)o->healthz_port, routes, ARRAY_LEN(routes), &err);
    }
    if (r == 0) {
        log_info("started", LOG_STR("version", version_string), LOG_STR("domain", o->domain),
                 LOG_STR("etcd", o->etcd_server), LOG_STR("api", kube_client_server(app.kube)),
                 LOG_INT("healthz_port", o->healthz_port));
        start_middle(&app, o);
        start_reflectors(&app);
        ev_run(app.loop, 0);
    } else {
        fprintf(stderr, "kube2sky: %s\n", err.msg);
    }
    stop_all(&app);
    return r == 0 ? 0 : r == ERR_USAGE ? 2 : 1;
}

/* libev's allocator: realloc, and free for size 0. */
static void *allocate(void *ptr, long size)
{
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return xrealloc(ptr, (size_t)size);
}

int main(int argc, char **argv)
{
    struct options options;
    struct err err = {.code = 0};
    int r = options_parse(argc, argv, &options, &err);
    if (r == FLAGS_HELP) {
        return 0;
    }
    if (r < 0) {
        fprintf(stderr, "kube2sky: %s\n", err.msg);
        return 2;
    }
    if (options.want_version) {
        printf("kube2sky %s\n", version_string);
        r = 0;
    } else {
        log_set_level(options.verbosity >= OPTIONS_DEBUG_VERBOSITY ? LOG_LEVEL_DEBUG
                                                                   : LOG_LEVEL_INFO);
        ev_set_allocator(allocate);
        record_json_use_xalloc();
        (void)signal(SIGPIPE, SIG_IGN); /* a connection that breaks is an error code, not the end */
        r = serve(&options);
    }
    options_fini(&options);
    return r;
}
