/* How old the records are that an explanation is about. */
#include "common/base/clock.h"
#include "common/base/outage.h"
#include "skydns/pages/explain.h"
#include "skydns/sync/store_sync.h"

struct explain_etcd explain_etcd(const struct store_sync *sync, const struct outage *outage)
{
    const struct etcd_mirror_counts mirror = store_sync_counts(sync).mirror;
    int64_t heard_ms = store_sync_heard_ms(sync), now_ms = clock_wall_ms();
    struct explain_etcd etcd = {
        .is_away = outage && outage_is_away(outage),
        .reason = outage ? outage_why(outage) : "",
        .has_records = store_sync_store(sync) != NULL,
        .age_s = heard_ms > 0 && now_ms > heard_ms ? (now_ms - heard_ms) / 1000 : 0,
        .is_holding_old = mirror.is_holding_old,
        .holding_s = mirror.holding_ms / 1000,
    };
    if (etcd.is_away) {
        etcd.away_s = outage_away_ms(outage) / 1000;
    }
    return etcd;
}
