/* exechealthz: wiring and signals. One thread with one loop has the probes' timers, children and
 * sockets, and the HTTP server with their last results. Another only writes the log.
 *
 * It keeps its user and capabilities: commands are the operator's, and may need them. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/process_metrics.h"
#include "common/base/service_manager.h"
#include "common/base/version.h"
#include "common/base/xalloc.h"
#include "common/health/healthcheck.h"
#include "common/http/http_server.h"
#include "common/tls/tls_client.h"
#include "exechealthz/dns_probe.h"
#include "exechealthz/dnsmasq_poll.h"
#include "exechealthz/health_actions.h"
#include "exechealthz/options.h"
#include "exechealthz/pages.h"
#include "exechealthz/probe.h"
#include "exechealthz/shell_run.h"

/* Holds one probe per -cmd and per -dns, and -dnsmasq-metrics. */
struct probes {
    struct reaper reaper;
    struct probe *commands[FLAG_STRINGS_MAX];
    size_t command_count;
    struct dns_probe *dns[FLAG_STRINGS_MAX];
    size_t dns_count;
    struct dnsmasq_poll *dnsmasq; /* NULL: none */
    struct tls_client *tls;       /* NULL: no probe over TLS */
    struct health_actions *actions;
};

static void add_actions(struct probes *probes, struct ev_loop *loop, const struct options *o)
{
    struct health_actions_config config = o->actions;
    config.loop = loop;
    config.reaper = &probes->reaper;
    probes->actions = health_actions_new(&config);
}

static void add_commands(struct probes *probes, struct ev_loop *loop, const struct options *o)
{
    for (size_t i = 0; i < o->command_count; i++) {
        struct probe_config config = {
            .path = o->commands[i].url,
            .command = o->commands[i].command,
            .settings = o->probes,
        };
        config.settings.actions = probes->actions;
        probes->commands[probes->command_count++] = probe_new(loop, &probes->reaper, &config);
    }
}

static void exechealthz_add_dns(struct probes *probes, struct ev_loop *loop,
                                const struct options *o)
{
    for (size_t i = 0; i < o->dns_count; i++) {
        struct dns_probe_config config = {
            .target = &o->dns[i],
            .tls = probes->tls,
            .settings = o->probes,
        };
        config.settings.timeout_ms = o->dns_timeout_ms;
        config.settings.actions = probes->actions;
        probes->dns[probes->dns_count++] = dns_probe_new(loop, &config);
    }
}

static void add_dnsmasq(struct probes *probes, struct ev_loop *loop, const struct options *o)
{
    if (o->has_dnsmasq_metrics) {
        probes->dnsmasq = dnsmasq_poll_new(loop, &o->dnsmasq, o->probes.period_ms);
    }
}

static void start_probes(struct probes *probes)
{
    for (size_t i = 0; i < probes->command_count; i++) {
        probe_start(probes->commands[i]);
    }
    for (size_t i = 0; i < probes->dns_count; i++) {
        dns_probe_start(probes->dns[i]);
    }
    if (probes->dnsmasq) {
        dnsmasq_poll_start(probes->dnsmasq);
    }
}

static void free_probes(struct probes *probes)
{
    for (size_t i = 0; i < probes->command_count; i++) {
        probe_free(probes->commands[i]);
    }
    for (size_t i = 0; i < probes->dns_count; i++) {
        dns_probe_free(probes->dns[i]);
    }
    dnsmasq_poll_free(probes->dnsmasq);
    health_actions_free(probes->actions);
    tls_client_free(probes->tls);
}

/* Holds what a signal stops. */
struct stopping {
    struct service_manager *manager;
    struct health_actions *actions;
};

static void exechealthz_on_stop_signal(struct ev_loop *loop UNUSED, ev_signal *w, int events UNUSED)
{
    const struct stopping *stopping = w->data;
    log_info("stopping", LOG_STR("signal", strsignal(w->signum)));
    service_manager_stopping(stopping->manager);
    health_actions_stop(stopping->actions);
}

/* Runs until a signal or /quit. */
static void exechealthz_run(struct ev_loop *loop, struct probes *probes,
                            struct service_manager *manager)
{
    struct stopping stopping = {.manager = manager, .actions = probes->actions};
    ev_signal stop[2];
    ev_signal_init(&stop[0], exechealthz_on_stop_signal, SIGTERM);
    ev_signal_init(&stop[1], exechealthz_on_stop_signal, SIGINT);
    for (size_t i = 0; i < ARRAY_LEN(stop); i++) {
        stop[i].data = &stopping;
        ev_signal_start(loop, &stop[i]);
    }
    start_probes(probes);
    service_manager_ready(manager, "probing");
    ev_run(loop, 0);
    for (size_t i = 0; i < ARRAY_LEN(stop); i++) {
        ev_signal_stop(loop, &stop[i]);
    }
}

static struct pages *new_pages(const struct probes *probes, const struct options *o)
{
    const struct pages_config config = {
        .actions = probes->actions,
        .probes = probes->commands,
        .probe_count = probes->command_count,
        .dns_probes = probes->dns,
        .dns_count = probes->dns_count,
        .dnsmasq = probes->dnsmasq,
        .dns_url = o->dns_url,
        .has_legacy_pages = o->has_legacy_pages,
        .is_quiet = o->probes.is_quiet,
    };
    return pages_new(&config);
}

static void log_settings(const struct options *o)
{
    char address[ADDR_TEXT_MAX];
    log_info("started",
             LOG_STR("address", o->listen_path ? o->listen_path : addr_format(&o->listen, address)),
             LOG_INT("commands", (int64_t)o->command_count), LOG_INT("dns", (int64_t)o->dns_count));
    for (size_t i = 0; i < o->command_count; i++) {
        log_info("command", LOG_STR("cmd", o->commands[i].command),
                 LOG_STR("path", o->commands[i].url));
    }
}

static int listen_and_run(struct ev_loop *loop, struct probes *probes, const struct options *o,
                          struct service_manager *manager)
{
    struct pages *pages = new_pages(probes, o);
    size_t count;
    const struct http_route *routes = pages_routes(pages, &count);
    struct http_server *server = NULL;
    struct err err = {0};
    int r = o->listen_path ? http_server_listen_unix(o->listen_path, &err)
                           : http_server_listen(&o->listen, &err);
    if (r < 0) {
        struct err advice;
        (void)err_set(&advice, r, "flag -%s: %s; choose another -port or -address",
                      o->listen_path ? "address" : "port", err.msg);
        log_plain("exechealthz", advice.msg);
    } else {
        server = http_server_of(loop, r, routes, count);
        log_settings(o);
        exechealthz_run(loop, probes, manager);
    }
    http_server_free(server);
    pages_free(pages);
    return r < 0 ? r : 0;
}

/* Returns the exit status. */
static int exechealthz_serve(const struct options *o)
{
    static struct probes probes; /* zero; too large for a small stack */
    struct err err = {0};
    if (options_have_tls(o) && tls_client_new(&o->dns_files, &probes.tls, &err) != 0) {
        log_plain("exechealthz", err.msg);
        return 1;
    }
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    if (!loop) {
        xalloc_out_of_memory(); /* out of memory or descriptors, impossible at start */
    }
    struct service_manager manager;
    service_manager_init(&manager, loop);
    reaper_start(&probes.reaper, loop);
    add_actions(&probes, loop, o);
    add_commands(&probes, loop, o);
    exechealthz_add_dns(&probes, loop, o);
    add_dnsmasq(&probes, loop, o);
    int r = listen_and_run(loop, &probes, o, &manager);
    free_probes(&probes);
    reaper_stop(&probes.reaper);
    service_manager_fini(&manager);
    ev_loop_destroy(loop);
    return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct options options;
    struct err err = {0};
    int r = exechealthz_options_parse(argc, argv, &options, &err);
    if (r == FLAGS_HELP) {
        return 0;
    }
    if (r < 0) {
        log_plain("exechealthz", err.msg);
        return 2;
    }
    if (options.want_version) {
        printf("exechealthz %s\n", version_string);
        return 0;
    }
    if (options.healthcheck) {
        return healthcheck_main("exechealthz", options.healthcheck);
    }
    log_set_level((enum log_level)options.log_level);
    (void)signal(SIGPIPE, SIG_IGN); /* a closed log must not end the probe */
    process_metrics_open();
    log_start();
    r = exechealthz_serve(&options);
    log_stop(LOG_STOP_MS);
    return r;
}
