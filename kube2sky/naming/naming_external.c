/* Names a Service in the zone of --external-zone: external addresses, or the host names of its load
 * balancer, each with its ports. */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/naming_records_internal.h"

bool naming_is_external(const struct naming_config *config, const struct kube_object *service)
{
    return config->external.zone && service && naming_may_be_external(slice_str(service->ns)) &&
           (service->service.external_count ||
            (config->external.has_headless && service->service.is_headless));
}

bool naming_may_be_external(struct slice ns)
{
    return !slice_equal(ns, slice_str("dns")) && !slice_equal(ns, slice_str(POD_LABEL)) &&
           !slice_equal(ns, slice_str(SERVICE_LABEL));
}

void naming_build_public(const struct naming_config *config, bool is_wanted,
                         struct desired *ret_desired)
{
    struct buf key;
    buf_init(&key, 2 * RECORD_JSON_MAX);
    desired_clear(ret_desired);
    if (is_wanted) {
        record_key_from_name(slice_str(SKYDNS_TREE), slice_str(config->external.zone), &key);
        buf_append_str(&key, "/" EXTERNAL_PUBLIC_SUFFIX);
        desired_add(ret_desired, buf_slice(&key), slice_str(EXTERNAL_PUBLIC_VALUE));
    }
    desired_seal(ret_desired);
    buf_fini(&key);
}

/* The targets of a Service's ports: its own name, under the label of its first address; or each
 * host name, under the label of that. */
struct external_target {
    struct label label;
    char *host; /* NULL: its own name */
};

static bool is_external_host(const char *text)
{
    size_t n = strlen(text);
    return n && text[n - 1] == '.';
}

/* Adds the addresses. Returns how many targets they make: one, or none. */
static size_t add_external_addresses(struct build *b, const struct kube_service *service,
                                     struct external_target *ret_target)
{
    size_t count = 0;
    for (size_t i = 0; i < service->external_count; i++) {
        struct address address;
        struct label label;
        if (!is_external_host(service->external[i]) &&
            naming_records_take_address(b, service->external[i], &address)) {
            add_hashed_address(b, &address, &label);
            ret_target->label = count++ ? ret_target->label : label;
        }
    }
    return count > 0;
}

/* Adds the host names, each a target. Beside addresses they are left out: a name that has a CNAME
 * has nothing else (RFC 1034, section 3.6.2). */
static size_t add_external_hosts(struct build *b, const struct kube_service *service,
                                 bool has_addresses, struct external_target *ret_targets)
{
    size_t count = 0;
    for (size_t i = 0; i < service->external_count; i++) {
        if (!is_external_host(service->external[i])) {
            continue;
        }
        if (has_addresses) {
            build_drop(b, "host name beside addresses", service->external[i]);
            continue;
        }
        char *host = naming_take_host(b, "host name", service->external[i]);
        if (host) {
            naming_records_add_hashed_host(b, host, &ret_targets[count].label);
            ret_targets[count++].host = host;
        }
    }
    return count;
}

static void add_external_ports(struct build *b, const struct kube_service *service,
                               const struct external_target *targets, size_t target_count)
{
    struct named_port *ports = xcalloc(service->port_count, sizeof(*ports));
    size_t count = target_count ? take_ports(b, service->ports, service->port_count, ports) : 0;
    struct srv *srvs = xcalloc(count * target_count, sizeof(*srvs));
    for (size_t i = 0; i < count * target_count; i++) {
        const struct external_target *target = &targets[i % target_count];
        srvs[i] = (struct srv){
            .port = &ports[i / target_count], .label = &target->label, .host = target->host};
    }
    add_srvs(b, srvs, count * target_count, false);
    free(srvs);
    free(ports);
}

int build_external(struct build *b, const struct owner_objects *objects, struct err *err)
{
    const struct kube_service *service = &objects->service->service;
    size_t most = service->external_count * (1 + (size_t)service->port_count);
    if (!service->external_count) {
        return build_headless(b, objects, err);
    }
    if (most > naming_records_max(b->config)) {
        return err_set(err, ERR_TOO_LARGE,
                       "%u external addresses and %u ports of each: expected at most %zu records",
                       service->external_count, service->port_count, naming_records_max(b->config));
    }
    struct external_target *targets = xcalloc(service->external_count, sizeof(*targets));
    size_t count = add_external_addresses(b, service, targets);
    count += add_external_hosts(b, service, count > 0, targets + count);
    add_external_ports(b, service, targets, count);
    for (size_t i = 0; i < count; i++) {
        free(targets[i].host);
    }
    free(targets);
    return 0;
}
