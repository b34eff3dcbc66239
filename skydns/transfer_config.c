#include "skydns/transfer_config.h"

#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/external/zone_table.h"

struct engine_config *transfer_config(const struct engine_config *published)
{
    struct engine_config *config = xcalloc(1, sizeof(*config));
    config->zone_count = published->zone_count;
    memcpy(config->zones, published->zones, sizeof(config->zones));
    memcpy(config->reverse_serials, published->reverse_serials, sizeof(config->reverse_serials));
    config->zones_of_others = zone_table_ref(published->zones_of_others);
    config->is_for_transfers = true;
    config->settings = published->settings;
    config->settings.round_robin = false; /* one order of addresses */
    config->settings.no_rec = false;      /* about clients' questions; nobody asks here */
    config->settings.autopath = false;
    config->settings.any_is_hinfo = false;
    for (size_t i = 0; i < config->zone_count; i++) {
        config->zones[i].is_incomplete = false; /* each step says so */
    }
    return config;
}

static bool same_domains(const struct engine_config *a, const struct engine_config *b)
{
    for (size_t i = 0; i < a->zone_count && i < b->zone_count; i++) {
        if (!dname_equal(&a->zones[i].domain, &b->zones[i].domain) ||
            !dname_equal(&a->zones[i].hostmaster, &b->zones[i].hostmaster) ||
            a->zones[i].serial != b->zones[i].serial) {
            return false;
        }
    }
    return a->zone_count == b->zone_count;
}

/* What lies in a stub zone is not ours. */
static bool same_stubs(const struct zone_table *a, const struct zone_table *b)
{
    size_t a_count = 0, b_count = 0;
    const struct foreign_zone *as = a ? zone_table_items(a, &a_count) : NULL;
    const struct foreign_zone *bs = b ? zone_table_items(b, &b_count) : NULL;
    for (size_t i = 0; i < a_count && i < b_count; i++) {
        if (!dname_equal(&as[i].name, &bs[i].name)) {
            return false;
        }
    }
    return a_count == b_count;
}

bool transfer_config_same(const struct engine_config *a, const struct engine_config *b)
{
    return same_domains(a, b) && same_stubs(a->zones_of_others, b->zones_of_others) &&
           a->settings.reverse_zone_count == b->settings.reverse_zone_count &&
           memcmp(a->settings.reverse_zones, b->settings.reverse_zones,
                  sizeof(a->settings.reverse_zones)) == 0 &&
           memcmp(a->reverse_serials, b->reverse_serials, sizeof(a->reverse_serials)) == 0 &&
           dname_equal(&a->settings.local, &b->settings.local) &&
           a->settings.ttl_s == b->settings.ttl_s &&
           a->settings.min_ttl_s == b->settings.min_ttl_s &&
           a->settings.priority == b->settings.priority &&
           a->settings.schema == b->settings.schema && a->settings.pods == b->settings.pods &&
           a->settings.ndots == b->settings.ndots;
}
