#include <assert.h>

#include "common/base/xalloc.h"
#include "skydns/settings/options.h"

struct engine_config *options_engine_config(const struct options *o)
{
    struct engine_config *config = xcalloc(1, sizeof(*config));
    config->settings = o->engine;
    config->has_nameservers = o->nameserver_count > 0;
    for (size_t i = 0; i < o->domain_count; i++) {
        const struct dname *hostmaster = o->hostmaster.len ? &o->hostmaster : NULL;
        bool fits = engine_config_add_domain(config, &o->domains[i], hostmaster);
        assert(fits); /* domains has the same size */
        (void)fits;
    }
    return config;
}
