/* Runs skydns, which answers DNS queries from the records in etcd. Wiring and signals only.
 *
 * This thread runs etcd, the record store and HTTP on its loop; workers answer UDP; the resolver
 * thread answers TCP and waits for upstreams. Everything is opened before the first thread starts,
 * so that an unusable address ends the program with one line. */
#include <ev.h>
#include <signal.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/outage.h"
#include "common/base/privileges.h"
#include "common/base/process_metrics.h"
#include "common/base/service_manager.h"
#include "common/dns/record_json.h"
#include "common/etcd/etcd.h"
#include "skydns/answering.h"
#include "skydns/commands.h"
#include "skydns/config/certificate.h"
#include "skydns/config/live_config.h"
#include "skydns/confine/confinement.h"
#include "skydns/confine/process_limits.h"
#include "skydns/external/cache_counts.h"
#include "skydns/handover/handover.h"
#include "skydns/http_pages.h"
#include "skydns/pages/client_figures.h"
#include "skydns/pages/explain.h"
#include "skydns/program_internal.h"
#include "skydns/publish/publisher.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/options.h"
#include "skydns/settings/stub_zones.h"
#include "skydns/snapshot/snapshot.h"
#include "skydns/snapshot_keeper.h"
#include "skydns/snapshot_start.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"
#include "skydns/transfer_source.h"

/* ---- Opening ---- */

/* Wakes the loop from the transfers' thread. */
static void wake_transfer_source(void *data)
{
    struct program *p = data;
    ev_async_send(p->loop, &p->transfers_ready);
}

static void on_transfers_ready(struct ev_loop *loop, ev_async *ready, int revents UNUSED)
{
    (void)loop;
    (void)ready; /* before it sleeps again, the loop asks the transfer source */
}

static int open_all(struct program *p, struct err *err)
{
    const struct answering_wake wake = {.fn = wake_transfer_source, .data = p};
    privileges_raise_bind();
    int r = answering_open(&p->options, p->publisher, certificate_server(p->certificate), &wake,
                           handover_passed(p->handover), &p->answering, err);
    if (r == 0) {
        r = http_pages_open(p->loop, &p->options, &p->status, p->etcd, handover_passed(p->handover),
                            &p->http, err);
    }
    return r;
}

static int settle_and_open(struct program *p, struct err *err)
{
    int r = program_settle(p, err);
    return r == 0 ? open_all(p, err) : r;
}

/* Opens without the snapshot: an address in its document may be one that etcd no longer names. */
static int open_without_snapshot(struct program *p, struct err *err)
{
    snapshot_start_refused(p->flags.snapshot, err->msg);
    p->has_snapshot = p->is_settled = false;
    p->refuses_snapshot = true;
    snapshot_content_fini(&p->snapshot);
    http_pages_free(STEAL(p->http));
    writer_documents_free(STEAL(p->documents));
    etcd_free(STEAL(p->etcd));
    answering_free(STEAL(p->answering));
    live_config_free(STEAL(p->live));
    publisher_free(p->publisher);
    p->publisher = publisher_new(); /* without the readers that were opened */
    return settle_and_open(p, err);
}

/* ---- Running ---- */

static void start_transfer_source(struct program *p)
{
    struct transfers *transfers = answering_transfers(p->answering);
    if (transfers) {
        p->transfer_source = transfer_source_new(&(struct transfer_source_config){
            .loop = p->loop,
            .etcd = p->etcd,
            .publisher = p->publisher,
            .sync = p->sync,
            .transfers = transfers,
            .stale_max_ms = p->options.stale_max_ms,
            .known = program_on_serials_known,
            .data = p,
        });
        p->awaits_serials = live_config_options(p->live)->engine.transfer_count > 0 &&
                            !store_sync_is_ready(p->sync);
    }
}

static void start_keeper(struct program *p)
{
    if (*p->flags.snapshot) {
        const struct options *now = live_config_options(p->live);
        p->keeper = snapshot_keeper_new(&(struct snapshot_keeper_config){
            .loop = p->loop,
            .publisher = p->publisher,
            .sync = p->sync,
            .documents = p->documents,
            .path = p->flags.snapshot,
            .schema = p->options.engine.schema,
            .interval_ms = now->snapshot_interval_ms,
            .max_ms = now->snapshot_max_ms,
            .start = p->has_snapshot ? &p->snapshot : NULL,
            .caught_up = program_on_caught_up,
            .data = p,
        });
    }
    snapshot_content_fini(&p->snapshot); /* all of it has been taken */
}

/* Logs the start; the threads answer already. */
static void tell_started(struct program *p)
{
    live_config_opened(p->live);
    CLEANUP_BUF struct buf addresses = buf_of(OPTION_TEXT_MAX);
    answering_addresses(p->answering, &addresses);
    option_text_log_start(&p->options, buf_cstr(&addresses));
    service_manager_ready(&p->manager, p->has_snapshot ? "answering from a snapshot"
                                                       : "answering, waiting for etcd's records");
    if (store_sync_is_ready(p->sync) && !p->awaits_serials) {
        program_log_ready(p);
    }
}

/* Lets a running skydns answer until this one can. */
static int wait_to_take_over(struct program *p, struct err *err)
{
    int r = 0;
    if (handover_is_joined(p->handover)) {
        service_manager_status(&p->manager, "another skydns answers until this one can");
    }
    while (r == 0 && !p->is_stopping && handover_is_joined(p->handover) &&
           (!store_sync_is_ready(p->sync) || p->awaits_serials)) {
        ev_run(p->loop, EVRUN_ONCE);
        r = handover_look(p->handover, err);
    }
    return r;
}

/* Starts to answer, alone from then on. */
static int start_serving(struct program *p, struct err *err)
{
    int r = answering_start(p->answering, err);
    if (r == 0) {
        http_pages_serve(p->http);
        tell_started(p);
        start_keeper(p);
        program_complete_status(p);
    }
    if (r == 0 && p->handover) {
        p->offered = *answering_offer(p->answering);
        http_pages_offer(p->http, &p->offered);
        r = handover_serve(p->handover, &p->offered, program_on_taken, p, err);
        p->status.handovers_refused = handover_offer_refused;
        p->status.offer = handover_its_offer(p->handover);
    }
    return r;
}

static int skydns_run(struct program *p, struct err *err)
{
    program_start_sync(p); /* what a snapshot knows is answered from the first query on */
    start_transfer_source(p);
    program_set_status(p);
    int r = wait_to_take_over(p, err);
    if (r < 0 || (p->is_stopping && handover_is_joined(p->handover))) {
        return r;
    }
    r = start_serving(p, err);
    if (r == 0 && !p->is_stopping) {
        ev_run(p->loop, 0);
    }
    /* Lets a further signal end the process at once. */
    ev_timer_stop(p->loop, &p->lameduck_end);
    ev_timer_stop(p->loop, &p->leaving);
    ev_signal_stop(p->loop, &p->on_term);
    ev_signal_stop(p->loop, &p->on_int);
    if (p->keeper) {
        size_t bytes = snapshot_keeper_counts(p->keeper).bytes; /* of the file as it is */
        snapshot_keeper_finish(p->keeper, snapshot_keeper_end_ms(bytes));
    }
    answering_stop(p->answering);
    return r;
}

static void close_all(struct program *p)
{
    http_pages_free(p->http);
    explainer_free(p->status.explainer);
    client_figures_free(p->status.clients);
    handover_free(p->handover);
    transfer_source_free(p->transfer_source);
    ev_async_stop(p->loop, &p->transfers_ready);
    snapshot_keeper_free(p->keeper);
    snapshot_content_fini(&p->snapshot);
    writer_documents_free(p->documents);
    store_sync_stop(p->sync);
    if (p->sync) {
        outage_fini(&p->outage);
    }
    etcd_free(p->etcd);
    answering_free(p->answering);
    certificate_free(p->certificate);
    live_config_free(p->live);
    publisher_free(p->publisher);
    zone_serials_free(p->serials);
    cache_tally_free(p->tally);
    stub_zones_unref(p->flags.stubs);
    service_manager_fini(&p->manager);
    ev_loop_destroy(p->loop);
}

static void confine_to_files(const struct program *p)
{
    const char *const written[] = {p->flags.snapshot, p->place.socket, p->flags.http_socket};
    struct option_files *files = option_files_new(&p->flags);
    confine_files((const char *const *)files->paths, files->count, program_resolv_conf, written,
                  ARRAY_LEN(written));
    option_files_free(files);
}

/* Drops privileges; the file of -snapshot has been read, and is not read again. */
static int skydns_drop_privileges(const struct options *flags, struct err *err)
{
    struct option_files *files = option_files_new(flags);
    int r = privileges_drop(&flags->user, (const char *const *)files->paths, files->count, err);
    option_files_free(files);
    return r;
}

int main(int argc, char **argv)
{
    static struct program program;
    struct program *p = &program;
    struct err err = {0};
    int r = skydns_options_parse(argc, argv, &p->flags, &err);
    if (r != 0) {
        return r == FLAGS_HELP ? 0 : commands_fail(&err);
    }
    if (commands_run(&p->flags, &r)) {
        return r;
    }
    log_set_level((enum log_level)p->flags.log_level);
    log_set_format((enum log_format)p->flags.log_format);
    (void)signal(SIGPIPE, SIG_IGN); /* writing to a closed peer is an error, not a signal */
    process_metrics_open();
    const uid_t user = p->flags.user.is_set ? p->flags.user.uid : geteuid();
    r = p->flags.reuse_port
            ? handover_place_find(p->flags.snapshot, &p->flags.addresses[0], user, &p->place, &err)
            : 0;
    if (r < 0) {
        return commands_fail(&err);
    }
    privileges_begin(&p->flags.user);
    confine_to_files(p);
    descriptor_table_make();
    log_start();
    record_json_use_xalloc();
    p->start_s = clock_wall_s();
    p->loop = ev_default_loop(EVFLAG_AUTO);
    p->tally = cache_tally_new();
    p->publisher = publisher_new();
    p->serials = zone_serials_new();
    ev_async_init(&p->transfers_ready, on_transfers_ready);
    ev_async_start(p->loop, &p->transfers_ready);
    service_manager_init(&p->manager, p->loop);
    program_watch_signals(p);
    option_text_log_ignored(&p->flags.ignored);
    r = *p->flags.cert ? certificate_new(p->loop, &p->flags, &p->certificate, &err) : 0;
    if (r == 0 && p->flags.reuse_port) {
        r = handover_open(p->loop, &p->place, user, &p->handover, &err);
    }
    if (r == 0) {
        r = settle_and_open(p, &err);
    }
    if (r < 0 && p->has_snapshot && snapshot_start_document(&p->snapshot).ptr) {
        r = open_without_snapshot(p, &err);
    }
    if (r == 0) {
        handover_opened(p->handover);
        r = skydns_drop_privileges(&p->flags, &err);
    }
    if (r == 0) {
        confine_calls();
        r = skydns_run(p, &err);
    }
    close_all(p);
    r = r == 0 ? 0 : commands_fail(&err);
    log_stop(LOG_STOP_MS);
    return r;
}
