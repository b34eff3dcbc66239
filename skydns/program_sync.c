/* Opens etcd and follows it: the settings in its documents, which hold while the program runs, and
 * the records. */
#include "common/base/attributes.h"
#include "common/base/log.h"
#include "common/etcd/etcd.h"
#include "skydns/answering.h"
#include "skydns/config/live_config.h"
#include "skydns/http_pages.h"
#include "skydns/program_internal.h"
#include "skydns/publish/engine_config.h"
#include "skydns/settings/option_text.h"
#include "skydns/snapshot_keeper.h"
#include "skydns/snapshot_start.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"

const char program_resolv_conf[] = "/etc/resolv.conf";

/* Timeout of an etcd call: a page of 5,000 keys takes 10 ms, on a busy etcd a hundred times that.
 * After this time without a byte, the client tries another endpoint. */
enum { ETCD_CALL_TIMEOUT_MS = 5000 };

static void skydns_on_document(void *data, struct slice value)
{
    struct program *p = data;
    live_config_take(p->live, value);
}

static void skydns_on_writers_document(void *data, const struct dname *domain, struct slice value,
                                       int64_t revision UNUSED)
{
    struct program *p = data;
    live_config_take_writers(p->live, domain, value);
    if (p->keeper) {
        snapshot_keeper_note(p->keeper);
    }
}

/* Follows kube2sky's documents; those of a snapshot are told at once. */
static void follow_writers(struct program *p, struct slice saved, const struct options *now)
{
    p->documents = writer_documents_new(&(struct writer_documents_config){
        .loop = p->loop,
        .etcd = p->etcd,
        .name = "config",
        .stale_max_ms = p->flags.stale_max_ms,
        .saved = saved,
        .changed = skydns_on_writers_document,
        .data = p,
    });
    writer_documents_set_domains(p->documents, now->domains, now->domain_count);
}

static uint32_t override_ttl_s(const struct options *options)
{
    const uint32_t ttl_s = options->engine.ttl_s;
    return ttl_s == ENGINE_TTL_DEFAULT_S ? ENGINE_OVERRIDE_TTL_S : ttl_s;
}

static enum client_want program_wants_clients_for(const struct options *options)
{
    return options_answer_by_client(options)    ? CLIENTS_FOR_ANSWERS
           : options_want_client_index(options) ? CLIENTS_FOR_LOGS
           : options_count_namespaces(options)  ? CLIENTS_FOR_METRICS
                                                : CLIENTS_UNKNOWN;
}

static void on_config(void *data, const struct options *before, const struct options *now)
{
    struct program *p = data;
    bool same =
        dname_lists_equal(before->domains, before->domain_count, now->domains, now->domain_count);
    if (p->sync) { /* else the start is in progress and will see it */
        store_sync_set_default_ttl(p->sync, now->engine.ttl_s);
        store_sync_set_domains(p->sync, now->domains, now->domain_count, now->require_store_key);
    }
    if (p->sync && !same) {
        writer_documents_set_domains(p->documents, now->domains, now->domain_count);
    }
    if (p->sync && now->stubzones != before->stubzones) {
        store_sync_set_stubs(p->sync, now->stubzones);
    }
    if (p->sync) {
        store_sync_set_clients(p->sync, program_wants_clients_for(now), now->clients.wants_near);
        store_sync_set_overrides(p->sync, now->engine.overrides, override_ttl_s(now));
    }
    if (p->keeper) {
        snapshot_keeper_set(p->keeper, now->snapshot_interval_ms, now->snapshot_max_ms);
    }
    if (!same && p->sync && store_sync_is_ready(p->sync) && !p->awaits_serials) {
        program_log_ready(p);
    }
    if (p->http) {
        http_pages_set_access(p->http, now);
    }
    if (p->answering) {
        answering_set_query_log(p->answering, now->query_log);
        answering_set_domain(p->answering, &now->domains[0]);
    }
    if (!option_same_upstream(before, now)) {
        answering_set_nameservers(p->answering, now);
    }
}

static void on_stubs(void *data, const struct forward_zone *zones, size_t count)
{
    struct program *p = data;
    log_info("stub zones in etcd changed", LOG_INT("zones", (int64_t)count));
    live_config_take_stubs(p->live, zones, count);
}

static void skydns_on_visible(void *data, const struct visible_namespace *listed, size_t count)
{
    struct program *p = data;
    if (live_config_options(p->live)->clients.is_own) {
        log_info("namespaces that others may see changed", LOG_INT("namespaces", (int64_t)count));
    }
    live_config_take_visible(p->live, listed, count);
}

/* Returns whether clients are known. Before there are records, they are not needed. */
static bool skydns_knows_clients(void *data, const struct dname *domain)
{
    const struct program *p = data;
    return !p->sync || store_sync_knows_clients(p->sync, domain);
}

/* Returns whether a domain is incomplete. With -visibility=own, names that a client would see are
 * not denied before the client is known. */
static bool is_incomplete(void *data, const struct dname *domain)
{
    const struct program *p = data;
    bool hides = live_config_options(p->live)->clients.is_own;
    return p->sync && /* else there are no records */
           (store_sync_is_incomplete(p->sync, domain) ||
            (hides && !skydns_knows_clients(data, domain)));
}

static void on_completeness(void *data)
{
    struct program *p = data;
    live_config_republish(p->live);
}

/* Reads etcd's documents from a snapshot, or from etcd if it can be reached. */
static void read_documents(struct program *p)
{
    p->has_snapshot = *p->flags.snapshot && !p->refuses_snapshot &&
                      snapshot_start_read(p->live, p->flags.snapshot, &p->snapshot);
    if (!p->has_snapshot) {
        live_config_read(p->live, p->etcd);
        return;
    }
    live_config_seed(p->live, snapshot_start_document(&p->snapshot));
    follow_writers(p, buf_slice(&p->snapshot.sections[SNAPSHOT_WRITERS]),
                   live_config_options(p->live));
}

/* Opens etcd's client. Reads the files for TLS, which are followed: changed ones that cannot be
 * used are logged. */
static int open_etcd(struct program *p, struct err *err)
{
    const struct options *flags = &p->flags; /* borrowed for as long as the client lives */
    const struct etcd_config config = {
        .loop = p->loop,
        .endpoints = flags->machines,
        .call_timeout_ms = ETCD_CALL_TIMEOUT_MS,
        .tls = {.ca = flags->ca_cert, .cert = flags->tls_pem, .key = flags->tls_key},
        .username = flags->username,
        .password = flags->password,
        .password_file = flags->password_file,
    };
    int r = etcd_new(&config, &p->etcd, err);
    if (r < 0) {
        return err_wrap(err, r, "%s",
                        r == ERR_USAGE ? "flag -machines" : "-ca-cert, -tls-pem, -tls-key");
    }
    return 0;
}

/* Settles the settings needed for opening first: from the flags, and from etcd or a snapshot. */
int program_settle(struct program *p, struct err *err)
{
    const struct live_config_config config = {
        .loop = p->loop,
        .flags = &p->flags,
        .publisher = p->publisher,
        .resolv_conf = program_resolv_conf,
        .tally = p->tally,
        .serials = p->serials,
        .is_incomplete = is_incomplete,
        .knows_clients = skydns_knows_clients,
        .changed = on_config,
        .data = p,
    };
    p->live = live_config_new(&config);
    int r = live_config_open_files(p->live, err);
    if (r == 0) {
        r = open_etcd(p, err);
    }
    if (r == 0) {
        read_documents(p);
        r = live_config_begin(p->live, err);
    }
    if (r == 0) {
        p->options = *live_config_options(p->live);
        p->options.stubs = NULL; /* those change */
        p->is_settled = true;
    }
    return r;
}

/* Refuses a snapshot whose sections make sense, but not with its records. */
static void refuse_snapshot(struct program *p)
{
    snapshot_start_refused(p->flags.snapshot, "what is in it does not fit together");
    snapshot_content_fini(&p->snapshot);
    p->has_snapshot = false;
    skydns_on_document(p, slice_of(NULL, 0)); /* until etcd says */
}

static const char *current_endpoint(const void *etcd)
{
    return etcd_endpoint(etcd);
}

/* Begins to tell whether etcd is followed: it counts as away until the mirror reports it back. */
static void watch_etcd(struct program *p)
{
    outage_init(&p->outage, p->loop, "etcd", p->options.etcd_timeout_ms,
                "etcd has been away for longer than etcd-timeout, still retrying");
    p->followed.away_line = "etcd away, no records yet";
    p->followed.back_line = "etcd is followed";
    p->followed.endpoint = current_endpoint;
    p->followed.data = p->etcd;
    outage_join(&p->outage, &p->followed, true);
}

/* Starts the mirror. The records of a snapshot are published at once. */
void program_start_sync(struct program *p)
{
    const struct store_sync_config config = {
        .loop = p->loop,
        .etcd = p->etcd,
        .publisher = p->publisher,
        .path_prefix = p->options.path_prefix,
        .skips_wildcards = p->options.engine.schema == ENGINE_SCHEMA_KUBERNETES,
        .followed = &p->followed,
        .default_ttl_s = p->options.engine.ttl_s,
        .domains = p->options.domains,
        .domain_count = p->options.domain_count,
        .requires_store_key = p->options.require_store_key,
        .start = p->has_snapshot ? &p->snapshot : NULL,
        .on_completeness = on_completeness,
        .stale_max_ms = p->options.stale_max_ms,
        .on_config = skydns_on_document,
        .wants_stubs = p->options.stubzones,
        .on_stubs = on_stubs,
        .wants_gone = p->options.has_http,
        .wants_marks = p->options.has_http,
        .wants_overrides = p->options.engine.overrides,
        .override_ttl_s = override_ttl_s(&p->options),
        .wants_clients = program_wants_clients_for(&p->options),
        .wants_topology = p->options.clients.wants_near,
        .on_visible = skydns_on_visible,
        .on_ready = program_on_ready,
        .data = p};
    watch_etcd(p);
    p->sync = store_sync_start(&config);
    if (p->has_snapshot && !store_sync_is_from_snapshot(p->sync, &(int64_t){0})) {
        refuse_snapshot(p);
    }
    live_config_set_clients(p->live, store_sync_clients(p->sync));
    live_config_republish(p->live); /* with them, and what a snapshot knows to be incomplete */
    if (!p->documents) {
        follow_writers(p, slice_of(NULL, 0), &p->options);
    }
}
