#include <assert.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/settings/options.h"

static bool same_nameservers(const struct options *a, const struct options *b)
{
    for (size_t i = 0; i < a->nameserver_count && i < b->nameserver_count; i++) {
        if (!nameserver_equal(&a->nameservers[i], &b->nameservers[i])) {
            return false;
        }
    }
    return a->nameserver_count == b->nameserver_count;
}

bool options_same_upstream(const struct options *a, const struct options *b)
{
    return same_nameservers(a, b) && a->ns_rotate == b->ns_rotate &&
           a->rtimeout_ms == b->rtimeout_ms && a->ndots == b->ndots;
}

struct engine_config *options_engine_config(const struct options *o)
{
    struct engine_config *config = xcalloc(1, sizeof(*config));
    *config = (struct engine_config){
        .local = o->local,
        .ttl_s = o->ttl_s,
        .min_ttl_s = o->min_ttl_s,
        .priority = o->priority,
        .max_udp_size = o->max_udp_size,
        .schema = o->schema,
        .pods = o->pods,
        .round_robin = o->round_robin,
        .no_rec = o->no_rec,
        .no_chaos = !o->chaos,
        .any_is_hinfo = o->any_is_hinfo,
        .has_nameservers = o->nameserver_count > 0,
        .ndots = o->ndots,
        .reverse_zone_count = o->reverse_zone_count,
        .transfer_count = o->transfer_count,
    };
    client_options_fill(&o->clients, config);
    memcpy(config->transfers, o->transfers, o->transfer_count * sizeof(config->transfers[0]));
    memcpy(config->reverse_zones, o->reverse_zones, sizeof(config->reverse_zones));
    for (size_t i = 0; i < o->domain_count; i++) {
        const struct dname *hostmaster = o->hostmaster.len ? &o->hostmaster : NULL;
        bool fits = engine_config_add_domain(config, &o->domains[i], hostmaster);
        assert(fits); /* domains has the same size */
        (void)fits;
    }
    return config;
}
