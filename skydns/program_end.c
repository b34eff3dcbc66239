/* Ends the program: signals, the time as a lame duck, and clients that leave after a handover. */
#include <signal.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "skydns/answering.h"
#include "skydns/config/certificate.h"
#include "skydns/config/live_config.h"
#include "skydns/http_pages.h"
#include "skydns/program_internal.h"
#include "skydns/snapshot_keeper.h"

enum {
    /* After a handover, a client that goes on asking keeps its TCP connection for LEAVING_MS. Then
     * it is closed in its first pause of LEAVING_PAUSE_MS: longer than a round trip in a cluster,
     * so that no query of a client that waits for answers is on its way. */
    LEAVING_MS = 10000,
    LEAVING_IDLE_MS = 2000,
    LEAVING_PAUSE_MS = 3,
    LEAVING_END_MS = 20000, /* for those that never pause */
    LEAVING_LOOK_MS = 250,  /* whether all connections are closed */
};

static void on_lameduck_end(struct ev_loop *loop, ev_timer *timer UNUSED, int revents UNUSED)
{
    ev_break(loop, EVBREAK_ALL);
}

/* Gives clients that follow /readiness time to switch to another server. */
static void become_lame_duck(struct program *p)
{
    log_info("no longer ready, still answering", LOG_INT("lameduck_ms", p->flags.lameduck_ms));
    service_manager_status(&p->manager, "stopping, still answering");
    p->status.is_lame_duck = true;
    ev_timer_init(&p->lameduck_end, on_lameduck_end, (double)p->flags.lameduck_ms / 1000, 0.);
    ev_timer_start(p->loop, &p->lameduck_end);
}

/* ---- Handing over ---- */

/* Ends, or waits for SIGTERM, once all clients have left. */
static void on_leaving(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    struct program *p = timer->data;
    const int64_t past_ms = clock_monotonic_ms() - p->leaving_since_ms;
    if (past_ms >= LEAVING_MS) {
        answering_leave(p->answering, LEAVING_PAUSE_MS);
    }
    if (answering_connections(p->answering) > 0 && past_ms < LEAVING_END_MS) {
        return;
    }
    ev_timer_stop(loop, timer);
    if (!handover_must_stay() || p->is_stopping) {
        ev_break(loop, EVBREAK_ALL);
        return;
    }
    answering_stop(p->answering);
    log_info("handed over, waiting for SIGTERM: a container would be started again");
}

void program_on_taken(void *data, pid_t process)
{
    struct program *p = data;
    log_info("handed over to another skydns", LOG_INT("pid", process));
    service_manager_status(&p->manager, "handed over");
    p->status.serving = SERVING_LEFT;
    http_pages_leave(p->http);
    answering_leave(p->answering, LEAVING_IDLE_MS);
    p->status.keeper = NULL;
    snapshot_keeper_free(STEAL(p->keeper)); /* the other one writes it */
    p->leaving_since_ms = clock_monotonic_ms();
    timer_init_every(&p->leaving, on_leaving, p, LEAVING_LOOK_MS / 1000.0);
    ev_timer_start(p->loop, &p->leaving);
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int revents UNUSED)
{
    struct program *p = watcher->data;
    bool is_first = !p->is_stopping;
    bool is_term = watcher->signum == SIGTERM;
    p->is_stopping = true;
    log_info("stopping", LOG_STR("signal", is_term ? "TERM" : "INT"));
    service_manager_stopping(&p->manager);
    bool has_clients = p->status.serving == SERVING_HERE || ev_is_active(&p->leaving);
    if (is_term && ev_is_active(&p->leaving)) {
        answering_leave(p->answering, LEAVING_PAUSE_MS);
    }
    if (is_first && is_term && p->sync && p->flags.lameduck_ms > 0 && has_clients) {
        become_lame_duck(p);
    } else {
        ev_break(loop, EVBREAK_ALL);
    }
}

static void program_on_hangup(struct ev_loop *loop UNUSED, ev_signal *watcher, int revents UNUSED)
{
    const struct program *p = watcher->data;
    certificate_reload(p->certificate);
    if (p->is_settled) {
        live_config_reload(p->live);
        answering_set_nameservers(p->answering, live_config_options(p->live)); /* perhaps fixed */
    }
}

static void program_watch_signal(struct program *p, ev_signal *watcher,
                                 void (*cb)(struct ev_loop *, ev_signal *, int), int number)
{
    ev_signal_init(watcher, cb, number);
    watcher->data = p;
    ev_signal_start(p->loop, watcher);
}

void program_watch_signals(struct program *p)
{
    program_watch_signal(p, &p->on_term, on_signal, SIGTERM);
    program_watch_signal(p, &p->on_int, on_signal, SIGINT);
    program_watch_signal(p, &p->on_hup, program_on_hangup, SIGHUP);
}
