/* exechealthz: wiring and signals. One thread, one loop: the probe's timer and child, the HTTP
 * server that tells its last result. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/attributes.h"
#include "common/clock.h"
#include "common/flags.h"
#include "common/http_server.h"
#include "common/log.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "exechealthz/options.h"
#include "exechealthz/probe.h"
#include "exechealthz/reaper.h"

static const char probe_path[] = "/healthz";

struct health {
    const struct options *options;
    struct probe *probe;
};

static void handle_healthz(void *data, const struct http_request *request UNUSED,
                           struct http_reply *reply)
{
    const struct health *health = data;
    reply->status = probe_report(health->probe, clock_monotonic_ms(), &reply->body) ? 200 : 503;
    if (!health->options->is_quiet) {
        log_info("request", LOG_STR("path", probe_path), LOG_INT("status", reply->status));
    }
}

static void on_stop_signal(struct ev_loop *loop, ev_signal *w, int events UNUSED)
{
    log_info("stopping", LOG_STR("signal", strsignal(w->signum)));
    ev_break(loop, EVBREAK_ALL);
}

/* Until a signal says stop. */
static void run(struct ev_loop *loop, struct probe *probe)
{
    ev_signal stop[2];
    ev_signal_init(&stop[0], on_stop_signal, SIGTERM);
    ev_signal_init(&stop[1], on_stop_signal, SIGINT);
    for (size_t i = 0; i < ARRAY_LEN(stop); i++) {
        ev_signal_start(loop, &stop[i]);
    }
    probe_start(probe);
    ev_run(loop, 0);
    for (size_t i = 0; i < ARRAY_LEN(stop); i++) {
        ev_signal_stop(loop, &stop[i]);
    }
}

/* Returns the exit status. */
static int serve(const struct options *o)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct reaper reaper;
    const struct probe_config config = {
        .path = probe_path,
        .command = o->command,
        .period_ms = o->period_ms,
        .latency_ms = o->latency_ms,
        .timeout_ms = o->timeout_ms,
        .want_output = o->want_output,
        .is_quiet = o->is_quiet,
    };
    if (!loop) {
        xalloc_out_of_memory(); /* of memory or descriptors, and none is in use yet */
    }
    reaper_start(&reaper, loop);
    struct health health = {.options = o, .probe = probe_new(loop, &reaper, &config)};
    const struct http_route routes[] = {{probe_path, handle_healthz, &health}};
    const struct addr any = {
        .v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)o->port)},
        .len = sizeof(any.v4),
    };
    struct http_server *server = NULL;
    struct err err = {0};
    int r = http_server_new(loop, &any, routes, ARRAY_LEN(routes), &server, &err);
    if (r < 0) {
        fprintf(stderr, "exechealthz: %s; --port names another port\n", err.msg);
    } else {
        log_info("started", LOG_STR("cmd", o->command), LOG_INT("port", o->port));
        run(loop, health.probe);
    }
    http_server_free(server);
    probe_free(health.probe);
    reaper_stop(&reaper);
    ev_loop_destroy(loop);
    return r < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct options options;
    struct err err = {0};
    int r = options_parse(argc, argv, &options, &err);
    if (r == FLAGS_HELP) {
        return 0;
    }
    if (r < 0) {
        fprintf(stderr, "exechealthz: %s\n", err.msg);
        return 2;
    }
    if (options.want_version) {
        printf("exechealthz %s\n", version_string);
        return 0;
    }
    (void)signal(SIGPIPE, SIG_IGN); /* a log that nobody reads any more must not end the probe */
    return serve(&options);
}
