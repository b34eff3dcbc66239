/* Tells how the program is: when it is ready, and what its pages show. */
#include "common/base/buf.h"
#include "common/base/log.h"
#include "skydns/answering.h"
#include "skydns/config/certificate.h"
#include "skydns/config/live_config.h"
#include "skydns/http_pages.h"
#include "skydns/pages/client_figures.h"
#include "skydns/pages/explain.h"
#include "skydns/program_internal.h"
#include "skydns/publish/publisher.h"
#include "skydns/snapshot_keeper.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"
#include "skydns/transfer_source.h"

/* ---- Readiness ---- */

void program_log_ready(const struct program *p)
{
    const struct options *now = live_config_options(p->live);
    for (size_t i = 0; i < now->domain_count; i++) {
        struct buf keys;
        buf_init(&keys, OPTIONS_DNSSEC_MAX);
        live_config_signing(p->live, &now->domains[i], &keys);
        answering_log_ready(p->answering, &now->domains[i], buf_cstr(&keys), now->scache);
        buf_fini(&keys);
    }
}

void program_on_ready(void *data)
{
    struct program *p = data;
    p->followed.away_line = "etcd away, answering from memory";
    if (p->status.sync && p->status.serving == SERVING_HERE && !p->awaits_serials) {
        program_log_ready(p);
        service_manager_status(&p->manager, "ready for queries");
    }
}

void program_on_serials_known(void *data)
{
    struct program *p = data;
    if (p->awaits_serials) {
        p->awaits_serials = p->status.awaits_serials = false;
        if (p->status.serving == SERVING_HERE) {
            program_log_ready(p);
            service_manager_status(&p->manager, "ready for queries");
        }
    }
}

/* Notes that nothing is answered from the snapshot any more. */
void program_on_caught_up(void *data)
{
    const struct program *p = data;
    log_info("caught up with etcd", LOG_INT("revision", store_sync_counts(p->sync).revision));
    if (store_sync_is_ready(p->sync)) {
        service_manager_status(&p->manager, "ready for queries");
    }
}

/* ---- Pages ---- */

static struct config_refusals skydns_refusals(const void *data)
{
    const struct program *p = data;
    struct config_refusals now = live_config_refusals(p->live);
    now.certificate = certificate_is_refused(p->certificate);
    return now;
}

static int64_t certificate_ends(const void *certificate)
{
    return certificate_not_after_s(certificate);
}

/* Explains denied reads of documents of settings, else of bases of serials: one denial is enough to
 * be told. */
static bool explain_denied(const void *program, struct buf *out)
{
    const struct program *p = program;
    return writer_documents_explain_denied(p->documents, out) ||
           transfer_source_explain_denied(p->transfer_source, out);
}

static void open_client_figures(struct program *p)
{
    struct client_figures_config config = {
        .loop = p->loop,
        .tap = answering_tap(p->answering),
        .index = store_sync_clients(p->sync),
        .labels_max = p->options.namespace_metrics,
        .workers = p->status.workers,
        .worker_count = p->status.worker_count,
    };
    config.counts = answering_clients(p->answering, &config.count);
    if (config.count > 0) {
        p->status.clients = client_figures_new(&config);
    }
}

/* Adds what there is once the threads answer. */
void program_complete_status(struct program *p)
{
    unsigned worker_count;
    p->status.workers = answering_workers(p->answering, &worker_count);
    p->status.worker_count = worker_count;
    p->status.keeper = p->keeper;
    p->status.serving = SERVING_HERE;
    open_client_figures(p);
}

void program_set_status(struct program *p)
{
    const struct explainer_sources explained = {
        .sync = p->sync,
        .publisher = p->publisher,
        .resolver = answering_resolver(p->answering),
        .outage = &p->outage,
        .rates = answering_rate_limit(p->answering),
        .namespace_rates = answering_namespace_rate(p->answering),
        .transfer_source = p->transfer_source,
        .serials = transfer_source_origin,
    };
    p->status = (struct metrics_sources){
        .refusals = skydns_refusals,
        .settings = p,
        .explain_denied = explain_denied,
        .documents = p,
        .certificate_ends = p->certificate ? certificate_ends : NULL,
        .certificate = p->certificate,
        .streams = answering_streams(p->answering),
        .transfers = answering_transfers(p->answering),
        .dnstap = answering_dnstap(p->answering),
        .snapshot = snapshot_keeper_counts,
        .serving = SERVING_WAITS,
        .start_s = p->start_s,
        .awaits_serials = p->awaits_serials,
        .skydns_prefix = http_pages_skydns_prefix(p->http),
        .publisher = p->publisher,
        .waiters = p->status.waiters,
        .watched = p->status.watched,
        .watch = p->status.watch,
        .past = p->status.past,
        .tap = answering_tap(p->answering),
        .explainer = p->options.has_http ? explainer_new(&explained) : NULL,
        .etcd = p->etcd,
        .outage = &p->outage,
        .followed = &p->followed,
        .sync = p->sync,
        .resolver = answering_resolver(p->answering),
    };
}
