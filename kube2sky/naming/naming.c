#include "kube2sky/naming/naming.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/naming_records_internal.h"
#include "kube2sky/naming/node_names_internal.h"

/* ---- A Service with cluster IPs ---- */

size_t naming_records_max(const struct naming_config *config)
{
    return config->records_max ? config->records_max : DESIRED_MAX;
}

size_t naming_bytes_max(const struct naming_config *config)
{
    return config->bytes_max ? config->bytes_max : DESIRED_BYTES_MAX;
}

/* Adds the addresses; returns their number and the first one's label in *ret_first. */
static size_t add_cluster_ips(struct build *b, const struct kube_service *service,
                              struct label *ret_first)
{
    size_t count = 0;
    for (size_t i = 0; i < service->cluster_ip_count; i++) {
        struct address address;
        struct label label;
        if (naming_records_take_address(b, service->cluster_ips[i], &address)) {
            add_hashed_address(b, &address, &label);
            add_claim(b, &address, CLAIM_CLUSTER_IP, NULL);
            *ret_first = count ? *ret_first : label;
            count++;
        }
    }
    return count;
}

static int build_cluster_ips(struct build *b, const struct kube_service *service, struct err *err)
{
    struct label first;
    if (service->cluster_ip_count + service->port_count > naming_records_max(b->config)) {
        return err_set(
            err, ERR_TOO_LARGE, "%u cluster IPs and %u ports: expected at most %zu together",
            service->cluster_ip_count, service->port_count, naming_records_max(b->config));
    }
    if (add_cluster_ips(b, service, &first) == 0) {
        return 0;
    }
    struct named_port *ports = xcalloc(service->port_count, sizeof(*ports));
    size_t count = take_ports(b, service->ports, service->port_count, ports);
    struct srv *srvs = xcalloc(count, sizeof(*srvs));
    for (size_t i = 0; i < count; i++) {
        srvs[i] = (struct srv){.port = &ports[i], .label = &first};
    }
    add_srvs(b, srvs, count);
    free(srvs);
    free(ports);
    return 0;
}

/* ---- An ExternalName ---- */

/* Returns whether it is a host name that the API accepts, RFC 1123, with or without a trailing
 * dot. */
static bool naming_is_host_name(struct slice name)
{
    struct dname wire;
    const bool has_dot = slice_has_suffix(name, slice_str("."));
    return dname_is_host(slice_of(name.ptr, name.len - has_dot)) && dname_from_text(name, &wire);
}

/* Takes a host name that the API accepts. Returns it in lower case with a dot at its end, owned by
 * the caller. NULL: invalid, and reported. */
static char *naming_take_host(const struct build *b, const char *what, const char *text)
{
    size_t n = strlen(text);
    if (!naming_is_host_name(slice_of(text, n))) {
        build_drop(b, what, text);
        return NULL;
    }
    char *host = xasprintf("%s%s", text, text[n - 1] == '.' ? "" : ".");
    ascii_lower_copy(host, host, n);
    return host;
}

static void build_external_name(struct build *b, const char *external_name)
{
    char *host = naming_take_host(b, "external name", external_name);
    if (host) {
        naming_records_add_host(b, host);
        free(host);
    }
}

/* ---- A Service in the external zone ---- */

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
    add_srvs(b, srvs, count * target_count);
    free(srvs);
    free(ports);
}

static int build_external(struct build *b, const struct owner_objects *objects, struct err *err)
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

/* ---- A pod ---- */

void naming_pod_label(const struct ip *ip, struct buf *out)
{
    char text[INET6_ADDRSTRLEN];
    (void)ip_format(ip, text);
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        text[i] = text[i] == '.' || text[i] == ':' ? '-' : text[i];
    }
    buf_append_str(out, n && text[0] == '-' ? "0" : "");
    buf_append(out, text, n);
    buf_append_str(out, n && text[n - 1] == '-' ? "0" : "");
}

/* More than the longest: an IPv6 address with a 0 at either end. */
enum { ADDRESS_LABEL_SIZE = INET6_ADDRSTRLEN + 2 };

static bool parse_dashed(struct slice text, char separator, struct ip *ret_ip)
{
    char address[ADDRESS_LABEL_SIZE];
    struct buf label;
    for (size_t i = 0; i < text.len; i++) {
        address[i] = (char)(text.ptr[i] == '-' ? separator : text.ptr[i]);
    }
    if (!ip_parse(slice_of(address, text.len), ret_ip)) {
        return false;
    }
    buf_init(&label, ADDRESS_LABEL_SIZE);
    naming_pod_label(ret_ip, &label);
    bool is_it = slice_equal(buf_slice(&label), text);
    buf_fini(&label);
    return is_it;
}

bool naming_parse_pod_label(struct slice text, struct ip *ret_ip)
{
    bool has_hyphen = text.len > 0 && memchr(text.ptr, '-', text.len);
    return has_hyphen && text.len < ADDRESS_LABEL_SIZE &&
           (parse_dashed(text, '.', ret_ip) || parse_dashed(text, ':', ret_ip));
}

bool naming_is_address_label(struct slice text)
{
    struct ip ip;
    return naming_parse_pod_label(text, &ip);
}

static void build_pod(struct build *b, const struct ip *ip)
{
    struct label ns, name, hash;
    struct address address = {.ip = *ip};
    if (!ip->family_bytes) {
        build_drop(b, "address", b->object.name);
        return;
    }
    if (!naming_records_take_label(b, "namespace", b->object.ns, DNAME_LABEL_MAX, &ns) ||
        !naming_records_take_label(b, "address", b->object.name, DNAME_LABEL_MAX, &name)) {
        return;
    }
    build_set_name(b, &name, &ns, POD_LABEL);
    (void)ip_format(ip, address.text);
    add_hashed_address(b, &address, &hash);
}

/* ---- A Node ---- */

static int build_node(struct build *b, const struct owner_objects *objects, struct err *err)
{
    const struct kube_node *node = &objects->node->node;
    struct slice name = slice_str(objects->node->name);
    struct address address;
    struct label label;
    if (!dname_is_host(name)) {
        build_drop(b, "node name", name.ptr);
        return 0;
    }
    if (*objects->node_above) {
        build_drop(b, "name below another node's", objects->node_above);
        return 0;
    }
    if (node->ip_count > naming_records_max(b->config)) {
        return err_set(err, ERR_TOO_LARGE, "%zu addresses: expected at most %zu", node->ip_count,
                       naming_records_max(b->config));
    }
    build_set_node_name(b, name);
    for (size_t i = 0; i < node->ip_count; i++) {
        if (naming_records_take_address(b, node->ips[i], &address)) {
            add_hashed_address(b, &address, &label);
        }
    }
    return 0;
}

/* ---- An owner ---- */

static int build_service(struct build *b, const struct owner_objects *objects, struct err *err)
{
    const struct kube_object *object = objects->service;
    const struct kube_service *service = &object->service;
    struct label ns, name;
    if (objects->is_external && !naming_is_external(b->config, object)) {
        return 0;
    }
    if (!naming_records_take_label(b, "namespace", object->ns, DNAME_LABEL_MAX, &ns) ||
        !naming_records_take_label(b, "service name", object->name, DNAME_LABEL_MAX, &name)) {
        return 0;
    }
    if (objects->is_external) {
        build_set_external_name(b, &name, &ns);
        return build_external(b, objects, err);
    }
    build_set_name(b, &name, &ns, SERVICE_LABEL);
    if (strcmp(service->type, "ExternalName") == 0) {
        build_external_name(b, service->external_name); /* an address that is left in it does not
                                                         * count */
        return 0;
    }
    return service->is_headless ? build_headless(b, objects, err)
                                : build_cluster_ips(b, service, err);
}

struct naming_job {
    struct naming_config config;
    struct build build;
    char *ns; /* of the object, for the parts that are dropped */
    char *name;
    bool is_external;
    int result; /* below 0: has failed, as err says */
    struct err err;
};

static void job_open(struct naming_job *job, const char *kind, struct slice ns, struct slice name,
                     struct desired *desired, struct claims *claims)
{
    job->ns = xstrndup(ns.ptr, ns.len);
    job->name = xstrndup(name.ptr, name.len);
    const struct naming_drop object = {.kind = kind, .ns = job->ns, .name = job->name};
    build_init(&job->build, &job->config, &object, desired, claims);
}

struct naming_job *naming_begin(const struct naming_config *config,
                                const struct owner_objects *objects, struct desired *desired,
                                struct claims *claims)
{
    struct naming_job *job = xcalloc(1, sizeof(*job));
    struct build *b = &job->build;
    const struct kube_object *service = objects->service, *node = objects->node;
    bool is_import = service && service->service.is_import;
    job->config = *config;
    job->is_external = objects->is_external;
    desired->bytes_max = naming_bytes_max(config);
    desired_clear(desired);
    claims_clear(claims);
    if (service) {
        job_open(job, is_import ? "serviceimports" : "services", slice_str(service->ns),
                 slice_str(service->name), desired, claims);
        b->is_import = is_import;
        b->domain = is_import ? config->import_domain : config->domain;
        job->result = build_service(b, objects, &job->err);
    } else if (objects->pod_ns.ptr) {
        job_open(job, "pods", objects->pod_ns, objects->pod_name, desired, claims);
        build_pod(b, &objects->pod_ip);
    } else if (node) {
        job_open(job, "nodes", slice_str(""), slice_str(node->name), desired, claims);
        job->result = build_node(b, objects, &job->err);
    } else {
        job_open(job, "", slice_str(""), slice_str(""), desired, claims);
    }
    return job;
}

bool naming_go_on(struct naming_job *job, size_t *budget)
{
    return job->result < 0 || build_headless_go_on(&job->build, budget);
}

void naming_free(struct naming_job *job)
{
    if (job) {
        build_fini(&job->build);
        free(job->ns);
        free(job->name);
        free(job);
    }
}

int naming_end(struct naming_job *job, struct err *err)
{
    struct desired *desired = job->build.desired;
    struct claims *claims = job->build.claims;
    int r = job->result;
    if (r < 0) {
        *err = job->err;
    } else if (desired->is_beyond) {
        r = err_set(err, ERR_TOO_LARGE, "more than %zu bytes of keys and values",
                    desired->bytes_max);
    }
    if (job->is_external) { /* reverse names are those of the domain */
        claims_clear(claims);
    }
    desired_seal(desired);
    claims_seal(claims);
    naming_free(job);
    return r;
}

int naming_build(const struct naming_config *config, const struct owner_objects *objects,
                 struct desired *ret_desired, struct claims *ret_claims, struct err *err)
{
    struct naming_job *job = naming_begin(config, objects, ret_desired, ret_claims);
    size_t unlimited = SIZE_MAX;
    (void)naming_go_on(job, &unlimited);
    return naming_end(job, err);
}
