/* The document in etcd: whatever it contains, the options stay valid, or unchanged. */
#include "skydns/settings/config_doc_internal.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/stub_zones.h"
#include "tests/fuzz/fuzz_target.h"

static void config_doc_check(const struct options *o)
{
    struct engine_config *config = options_engine_config(o);
    fuzz_check(o->domain_count != 0 && config->zone_count != 0 && o->rtimeout_ms != 0 &&
               o->engine.ttl_s != 0 && o->engine.priority != 0 &&
               o->nameserver_count <= OPTIONS_NAMESERVERS_MAX && o->rcache <= CACHE_ENTRIES_MAX &&
               o->rcache_ttl_s != 0 && option_check_stubs(o, NULL) >= 0 &&
               o->engine.search_count <= ENGINE_SEARCH_MAX &&
               o->clients.public_count <= VISIBILITY_PUBLIC_MAX &&
               o->engine.admitted_count <= ENGINE_ADMITTED_MAX &&
               o->http_allowed_count <= HTTP_ACCESS_NETWORKS_MAX &&
               o->engine.is_restricted == (o->engine.admitted_count > 0) &&
               (o->engine.rate == 0) == (o->engine.rate_burst == 0) &&
               o->engine.rate <= ENGINE_RATE_MAX && o->engine.rate_burst <= ENGINE_RATE_MAX &&
               (o->engine.rate_namespace == 0) == (o->engine.rate_namespace_burst == 0) &&
               o->engine.rate_namespace <= ENGINE_RATE_MAX &&
               o->engine.rate_namespace_burst <= ENGINE_RATE_MAX);
    free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct options flags;
    static char name[] = "skydns", *const argv[] = {name, NULL};
    struct config_doc_report report;
    struct err err;
    fuzz_check(flags.domain_count != 0 || skydns_options_parse(1, argv, &flags, &err) == 0);
    struct options o = flags;
    if (config_doc_apply_writers(slice_of(data, size), &o, &report, &err) == 0) {
        config_doc_check(&o);
        o.nameserver_count = flags.nameserver_count;
        memcpy(o.nameservers, flags.nameservers, sizeof(o.nameservers));
    }
    if (memcmp(&o, &flags, sizeof(o)) != 0) {
        abort(); /* nothing else may change */
    }
    if (config_doc_apply(slice_of(data, size), &o, &report, &err) < 0) {
        fuzz_check(memcmp(&o, &flags, sizeof(o)) == 0 && err.msg[0] != '\0');
    }
    config_doc_check(&o);
    stub_zones_unref(o.stubs);
    return 0;
}
