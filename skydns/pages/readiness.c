#include "skydns/pages/readiness_internal.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/duration.h"
#include "common/base/outage.h"
#include "common/etcd/etcd_metrics.h"
#include "common/etcd/etcd_store_id.h"
#include "skydns/external/hosts_table.h"
#include "skydns/publish/publisher.h"
#include "skydns/sync/store_keys.h"
#include "skydns/sync/store_sync.h"

/* Returns true, with the reason, if answers may differ from what etcd holds. */
static bool explain_holding(const struct etcd_mirror_counts *mirror, struct buf *out)
{
    if (mirror->is_holding_old) {
        buf_printf(out,
                   "etcd came back without its data or with older data; for %lld s answers have "
                   "come from records it lacks, since it has no new store key yet",
                   (long long)(mirror->holding_ms / 1000));
    }
    return mirror->is_holding_old;
}

static void append_missing_key(const struct store_keys *keys, const struct dname *domain,
                               struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    char *key = etcd_store_key(slice_str(dname_to_text(domain, text)));
    buf_printf(out, "%s is incomplete: etcd has no %s (expected: %s)", text, key,
               store_keys_reason(keys, domain));
    free(key);
}

/* Appends each domain whose store key is missing. */
static void explain_missing(const struct store_sync *sync, struct buf *out)
{
    const struct store_keys *keys = store_sync_keys(sync);
    for (size_t i = 0; i < store_keys_count(keys); i++) {
        const struct dname *domain = store_keys_domain(keys, i);
        if (store_keys_is_missing(keys, domain)) {
            buf_append_str(out, out->len ? "; " : "");
            append_missing_key(keys, domain, out);
        }
    }
}

/* Returns true, with the reason, if names that are not found are SERVFAIL. */
static bool explain_incomplete(const struct store_sync *sync, struct buf *out)
{
    const struct store_keys *keys = store_sync_keys(sync);
    bool is_incomplete = false;
    for (size_t i = 0; i < store_keys_count(keys); i++) {
        is_incomplete = is_incomplete || store_sync_is_incomplete(sync, store_keys_domain(keys, i));
    }
    if (is_incomplete) {
        explain_missing(sync, out);
        buf_append_str(out, "; names that etcd lacks are SERVFAIL");
    }
    return is_incomplete;
}

/* Returns true, with the reason, until what changed in etcd since the snapshot is known. Comes
 * first: etcd may be away meanwhile, which would hide where the answers come from. */
static bool explain_snapshot(const struct store_sync *sync, struct buf *out)
{
    char age[DURATION_TEXT_MAX];
    int64_t heard_ms;
    bool is_from_snapshot = store_sync_is_from_snapshot(sync, &heard_ms);
    if (is_from_snapshot) {
        buf_printf(out, "answers from a snapshot of %s ago",
                   duration_text_s(clock_wall_s() - heard_ms / 1000, age));
    }
    return is_from_snapshot;
}

/* Returns true, with the reason, if names of hosts files are answered as if they were not there. */
static bool explain_hosts(const struct metrics_sources *sources, struct buf *out)
{
    const struct hosts_table *hosts = publisher_newest_config(sources->publisher)->hosts;
    const size_t left_out = hosts ? hosts_table_left_out(hosts) : 0;
    if (left_out > 0) {
        buf_printf(out, "%zu names of hosts files are left out: -hosts-max has no room for them",
                   left_out);
    }
    return left_out > 0;
}

static void explain_unready(const struct metrics_sources *sources, struct buf *out)
{
    if (store_sync_is_ready(sources->sync)) {
        buf_append_str(out, "etcd has not said yet above which base serials of zones are counted");
        outage_explain(sources->outage, out);
    } else if (store_sync_store(sources->sync)) { /* of etcd, or of a snapshot */
        explain_missing(sources->sync, out);
        if (store_sync_awaits_clients(sources->sync)) {
            buf_printf(out, "%skeys about clients have not been read yet", out->len ? "; " : "");
        }
    } else {
        buf_append_str(out, "etcd has not been read yet");
        outage_explain(sources->outage, out);
    }
}

bool readiness_explain(const struct metrics_sources *sources, bool is_strict, struct buf *out)
{
    if (sources->serving != SERVING_HERE) {
        buf_append_str(out, sources->serving == SERVING_LEFT
                                ? "handed over: another skydns answers at these addresses"
                                : "another skydns answers at these addresses until this one can");
        return true;
    }
    if (sources->is_lame_duck) {
        buf_append_str(out, "stopping: still answering, for clients that have not seen this");
        return true;
    }
    if (!store_sync_is_ready(sources->sync) || sources->awaits_serials) {
        explain_unready(sources, out);
        return true;
    }
    const struct etcd_mirror_counts mirror = store_sync_counts(sources->sync).mirror;
    return is_strict &&
           (explain_snapshot(sources->sync, out) || outage_explain_overdue(sources->outage, out) ||
            etcd_metrics_explain_behind(sources->outage, &mirror, out) ||
            explain_holding(&mirror, out) || explain_incomplete(sources->sync, out) ||
            store_sync_explain_client_keys(sources->sync, out) ||
            (sources->explain_denied && sources->explain_denied(sources->documents, out)) ||
            explain_hosts(sources, out));
}
