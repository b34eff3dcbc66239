#include "kube2sky/naming.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/addr.h"
#include "common/dname.h"
#include "common/record_json.h"
#include "common/record_key.h"
#include "common/xalloc.h"

/* What every record of kube2sky has said since 1.9. */
enum { RECORD_PRIORITY = 10, RECORD_WEIGHT = 10 };

#define KEY_PREFIX "/skydns/"

struct label {
    char text[DNAME_LABEL_MAX + 1];
};

/* A named port with its protocol, folded. */
struct named_port {
    struct label name;
    struct label protocol;
    uint16_t number;
};

/* A ready address under its label. */
struct endpoint {
    struct label label;
    char ip[INET6_ADDRSTRLEN];
};

/* A port at an endpoint or cluster IP: one SRV record. */
struct srv {
    const struct named_port *port;
    const struct label *label;
};

/* One naming_build. */
struct build {
    const struct naming_config *config;
    const struct kube_object *service;
    struct desired *out;
    char *name;       /* "web.default.svc.cluster.local." */
    struct buf key;   /* "/skydns/local/cluster/svc/default/web", then what is added */
    size_t key_base;  /* its length */
    struct buf value; /* the value last made */

    struct srv *srvs;
    size_t srv_count;
};

bool naming_is_label(struct slice text)
{
    if (text.len == 0 || text.len > DNAME_LABEL_MAX || text.ptr[0] == '-' ||
        text.ptr[text.len - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = ascii_lower((uint8_t)text.ptr[i]);
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') {
            return false;
        }
    }
    return true;
}

static void drop(const struct build *b, const char *what, const char *value)
{
    b->config->dropped(b->config->data, &(struct naming_drop){
                                            .ns = b->service->ns,
                                            .name = b->service->name,
                                            .what = what,
                                            .value = value,
                                        });
}

/* Folded to lower case. False, reported, when it is no label of at most max bytes. */
static bool take_label(const struct build *b, const char *what, const char *text, size_t max,
                       struct label *ret_label)
{
    size_t n = strlen(text);
    if (n > max || !naming_is_label(slice_of(text, n))) {
        drop(b, what, text);
        return false;
    }
    for (size_t i = 0; i <= n; i++) {
        ret_label->text[i] = (char)ascii_lower((uint8_t)text[i]);
    }
    return true;
}

/* In RFC 5952 form. */
static bool take_address(const struct build *b, const char *text, char ret_ip[INET6_ADDRSTRLEN])
{
    struct ip ip;
    if (!ip_parse(slice_str(text), &ip)) {
        drop(b, "address", text);
        return false;
    }
    ip_format(&ip, ret_ip);
    return true;
}

/* ---- Records ---- */

static void make_value(struct build *b, char *host, uint16_t port)
{
    const struct record record = {
        .host = host,
        .port = port,
        .priority = RECORD_PRIORITY,
        .weight = RECORD_WEIGHT,
        .ttl_s = b->config->ttl_s,
    };
    buf_clear(&b->value);
    record_to_json(&record, &b->value);
}

/* The label of an address: the hash of the value that says it and nothing else. */
static void address_label(struct build *b, char *ip, struct label *ret_label)
{
    make_value(b, ip, 0);
    record_label(buf_slice(&b->value), ret_label->text);
}

/* The value last made, under the key built in b->key, which starts anew. */
static void add_record(struct build *b)
{
    struct dname name;
    if (record_key_to_name(slice_str(KEY_PREFIX), buf_slice(&b->key), &name)) {
        desired_add(b->out, buf_slice(&b->key), buf_slice(&b->value));
    } else {
        drop(b, "key beyond the limits of DNS names", buf_cstr(&b->key));
    }
    b->key.len = b->key_base;
}

static void add_address(struct build *b, const char *label, char *ip, const char *label_below)
{
    make_value(b, ip, 0);
    buf_printf(&b->key, "/%s", label);
    if (label_below) {
        buf_printf(&b->key, "/%s", label_below);
    }
    add_record(b);
}

/* `number` is part of the label when an equal port with a smaller number has the plain one. */
static void add_srv(struct build *b, const struct srv *srv, char *host, bool is_numbered)
{
    const struct named_port *port = srv->port;
    make_value(b, host, port->number);
    buf_printf(&b->key, "/_%s/_%s/%s", port->protocol.text, port->name.text, srv->label->text);
    if (is_numbered) {
        buf_printf(&b->key, "-%u", port->number);
    }
    add_record(b);
}

/* ---- Ports ---- */

/* The label has an underscore in front. */
enum { UNDERSCORED_MAX = DNAME_LABEL_MAX - 1 };

/* The ports that have a name and a protocol; the others have no SRV record. Returns their number;
 * ret_ports has room for count. */
static size_t take_ports(const struct build *b, const struct kube_port *ports, size_t count,
                         struct named_port *ret_ports)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        struct named_port *port = &ret_ports[n];
        if (!ports[i].name[0] || !ports[i].protocol[0]) {
            continue;
        }
        port->number = (uint16_t)ports[i].port;
        n += take_label(b, "port name", ports[i].name, UNDERSCORED_MAX, &port->name) &&
             take_label(b, "protocol", ports[i].protocol, UNDERSCORED_MAX, &port->protocol);
    }
    return n;
}

static int compare_srv_keys(const struct srv *a, const struct srv *b)
{
    int d = strcmp(a->port->protocol.text, b->port->protocol.text);
    d = d ? d : strcmp(a->port->name.text, b->port->name.text);
    return d ? d : strcmp(a->label->text, b->label->text);
}

static int compare_srvs(const void *a, const void *b)
{
    const struct srv *x = a, *y = b;
    int d = compare_srv_keys(x, y);
    return d ? d : (x->port->number > y->port->number) - (x->port->number < y->port->number);
}

/* Of one key's ports, in order of their numbers, the first has the label as it is. */
static void add_srvs(struct build *b, bool is_headless)
{
    const struct srv *previous = NULL;
    if (b->srv_count) {
        qsort(b->srvs, b->srv_count, sizeof(*b->srvs), compare_srvs);
    }
    for (size_t i = 0; i < b->srv_count; i++) {
        const struct srv *srv = &b->srvs[i];
        if (previous && compare_srvs(previous, srv) == 0) {
            continue;
        }
        bool is_numbered = previous && compare_srv_keys(previous, srv) == 0;
        char *host = is_headless ? xasprintf("%s.%s", srv->label->text, b->name) : xstrdup(b->name);
        add_srv(b, srv, host, is_numbered);
        free(host);
        previous = srv;
    }
}

/* ---- A Service with cluster IPs ---- */

static void build_cluster_ips(struct build *b)
{
    const struct kube_service *service = &b->service->service;
    struct label first = {""};
    for (size_t i = 0; i < service->cluster_ip_count; i++) {
        char ip[INET6_ADDRSTRLEN];
        struct label label;
        if (take_address(b, service->cluster_ips[i], ip)) {
            address_label(b, ip, &label);
            add_address(b, label.text, ip, NULL);
            first = first.text[0] ? first : label;
        }
    }
    if (!first.text[0]) {
        return;
    }
    struct named_port *ports = xcalloc(service->port_count, sizeof(*ports));
    b->srv_count = take_ports(b, service->ports, service->port_count, ports);
    b->srvs = xcalloc(b->srv_count, sizeof(*b->srvs));
    for (size_t i = 0; i < b->srv_count; i++) {
        b->srvs[i] = (struct srv){.port = &ports[i], .label = &first};
    }
    add_srvs(b, false);
    free(ports);
}

/* ---- A headless Service ---- */

/* The subsets' ready addresses and named ports, side by side with the subsets. */
struct ready_subset {
    struct endpoint *endpoints;
    size_t endpoint_count;
    struct named_port *ports;
    size_t port_count;
};

static bool take_endpoint(struct build *b, const struct kube_address *address,
                          struct endpoint *ret_endpoint)
{
    if (!address->is_ready && !b->service->service.publish_not_ready) {
        return false;
    }
    if (!take_address(b, address->ip, ret_endpoint->ip)) {
        return false;
    }
    if (address->hostname[0]) {
        return take_label(b, "hostname", address->hostname, DNAME_LABEL_MAX, &ret_endpoint->label);
    }
    address_label(b, ret_endpoint->ip, &ret_endpoint->label);
    return true;
}

static void take_subset(struct build *b, const struct kube_subset *subset,
                        struct ready_subset *ret_ready)
{
    ret_ready->endpoints = xcalloc(subset->address_count, sizeof(struct endpoint));
    for (size_t i = 0; i < subset->address_count; i++) {
        struct endpoint *next = &ret_ready->endpoints[ret_ready->endpoint_count];
        ret_ready->endpoint_count += take_endpoint(b, &subset->addresses[i], next);
    }
    ret_ready->ports = xcalloc(subset->port_count, sizeof(struct named_port));
    ret_ready->port_count = take_ports(b, subset->ports, subset->port_count, ret_ready->ports);
}

static int compare_endpoints(const void *a, const void *b)
{
    const struct endpoint *x = *(const struct endpoint *const *)a;
    const struct endpoint *y = *(const struct endpoint *const *)b;
    int d = strcmp(x->label.text, y->label.text);
    return d ? d : strcmp(x->ip, y->ip);
}

/* Sorted by label and address; an address in two subsets is there once. Returns how many. */
static size_t merge_endpoints(const struct ready_subset *ready, size_t subset_count,
                              const struct endpoint **ret_endpoints)
{
    size_t total = 0, kept = 0;
    for (size_t i = 0; i < subset_count; i++) {
        for (size_t j = 0; j < ready[i].endpoint_count; j++) {
            ret_endpoints[total++] = &ready[i].endpoints[j];
        }
    }
    if (total) {
        qsort(ret_endpoints, total, sizeof(*ret_endpoints), compare_endpoints);
    }
    for (size_t i = 0; i < total; i++) {
        if (kept == 0 || compare_endpoints(&ret_endpoints[kept - 1], &ret_endpoints[i]) != 0) {
            ret_endpoints[kept++] = ret_endpoints[i];
        }
    }
    return kept;
}

static bool same_label(const struct endpoint *a, const struct endpoint *b)
{
    return strcmp(a->label.text, b->label.text) == 0;
}

/* A label's only address is the label's value; several addresses lie below it, by their hashes. */
static void add_endpoints(struct build *b, const struct endpoint *const *endpoints, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct endpoint *endpoint = endpoints[i];
        bool is_shared = (i > 0 && same_label(endpoints[i - 1], endpoint)) ||
                         (i + 1 < count && same_label(endpoint, endpoints[i + 1]));
        struct endpoint copy = *endpoint;
        struct label hash;
        address_label(b, copy.ip, &hash);
        add_address(b, copy.label.text, copy.ip, is_shared ? hash.text : NULL);
    }
}

static void collect_srvs(struct build *b, const struct ready_subset *ready, size_t subset_count,
                         size_t total)
{
    b->srvs = xcalloc(total, sizeof(*b->srvs));
    for (size_t i = 0; i < subset_count; i++) {
        for (size_t j = 0; j < ready[i].endpoint_count; j++) {
            for (size_t k = 0; k < ready[i].port_count; k++) {
                b->srvs[b->srv_count++] = (struct srv){
                    .port = &ready[i].ports[k],
                    .label = &ready[i].endpoints[j].label,
                };
            }
        }
    }
}

static int build_headless(struct build *b, const struct kube_endpoints *endpoints, struct err *err)
{
    struct ready_subset *ready = xcalloc(endpoints->subset_count, sizeof(*ready));
    size_t addresses = 0, srvs = 0;
    int r = 0;
    for (size_t i = 0; i < endpoints->subset_count; i++) {
        take_subset(b, &endpoints->subsets[i], &ready[i]);
        addresses += ready[i].endpoint_count;
        srvs += ready[i].endpoint_count * ready[i].port_count;
    }
    if (addresses + srvs > DESIRED_MAX) {
        r = err_set(err, ERR_TOO_LARGE,
                    "%zu addresses and %zu address and port pairs: expected at most %d together",
                    addresses, srvs, DESIRED_MAX);
    } else {
        const struct endpoint **merged = xcalloc(addresses, sizeof(*merged));
        add_endpoints(b, merged, merge_endpoints(ready, endpoints->subset_count, merged));
        collect_srvs(b, ready, endpoints->subset_count, srvs);
        add_srvs(b, true);
        free(merged);
    }
    for (size_t i = 0; i < endpoints->subset_count; i++) {
        free(ready[i].endpoints);
        free(ready[i].ports);
    }
    free(ready);
    return r;
}

/* ---- The whole ---- */

/* An ExternalName service has no address of its own, a service without a cluster IP none yet. */
static int build_service(struct build *b, const struct kube_object *endpoints, struct err *err)
{
    const struct kube_service *service = &b->service->service;
    if (strcmp(service->type, "ExternalName") == 0) {
        return 0;
    }
    if (!service->is_headless) {
        if (service->cluster_ip_count + service->port_count > DESIRED_MAX) {
            return err_set(err, ERR_TOO_LARGE,
                           "%zu cluster IPs and %zu ports: expected at most %d together",
                           service->cluster_ip_count, service->port_count, DESIRED_MAX);
        }
        build_cluster_ips(b);
        return 0;
    }
    return endpoints ? build_headless(b, &endpoints->endpoints, err) : 0;
}

int naming_build(const struct naming_config *config, const struct kube_object *service,
                 const struct kube_object *endpoints, struct desired *ret_desired, struct err *err)
{
    struct build b = {.config = config, .service = service, .out = ret_desired};
    struct label ns, name;
    desired_clear(ret_desired);
    if (!service || !take_label(&b, "namespace", service->ns, DNAME_LABEL_MAX, &ns) ||
        !take_label(&b, "service name", service->name, DNAME_LABEL_MAX, &name)) {
        return 0;
    }
    b.name = xasprintf("%s.%s.svc.%s", name.text, ns.text, config->domain);
    buf_init(&b.key, 2048); /* prefix and a name of at most 4 labels more than the domain's 255 */
    buf_init(&b.value, RECORD_JSON_MAX);
    record_key_from_name(slice_str(KEY_PREFIX), slice_str(b.name), &b.key);
    b.key_base = b.key.len;

    int r = build_service(&b, endpoints, err);
    desired_seal(ret_desired);
    free(b.srvs);
    free(b.name);
    buf_fini(&b.key);
    buf_fini(&b.value);
    return r;
}
