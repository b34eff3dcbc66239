/* inventory, naming and reverse together against a naive model: random sequences of changes of all
 * four kinds of objects, relists that lost some, changes of the endpoints' source. After each step
 * only the owners named dirty are named anew; then all keys must be what the model works out from
 * nothing but the objects that exist, in its own way: each key by a loop over everything. */
#include "tests/unit/kube2sky/objects.h"

#include <stdio.h>

#include "common/attributes.h"
#include "common/buf.h"
#include "kube2sky/inventory.h"
#include "kube2sky/naming.h"
#include "kube2sky/reverse.h"

enum {
    NAMESPACES = 2,
    SERVICES = 4, /* of each namespace, and so for the others */
    SLICES = 5,
    PODS = 5,
    ADDRESSES_MAX = 4, /* of a subset or slice */
    SUBSETS = 2,
    PORTS_MAX = 3,
    POD_IPS_MAX = 2,
    STEPS = 6000,
    LINES_MAX = 4096,
};

/* ---- What objects are made of ---- */

static const struct {
    const char *given;
    const char *text;
    const char *pod;
    const char *arpa;
} ips[] = {
    {"10.0.0.1", "10.0.0.1", "10-0-0-1", "in-addr/10/0/0/1"},
    {"10.0.0.9", "10.0.0.9", "10-0-0-9", "in-addr/10/0/0/9"},
    {"10.0.0.26", "10.0.0.26", "10-0-0-26", "in-addr/10/0/0/26"},
    {"192.168.255.0", "192.168.255.0", "192-168-255-0", "in-addr/192/168/255/0"},
    {"FD00:0:0::0001", "fd00::1", "fd00--1",
     "ip6/f/d/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/1"},
    {"2001:db8::", "2001:db8::", "2001-db8--0",
     "ip6/2/0/0/1/0/d/b/8/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0"},
    {"no-address", NULL, NULL, NULL},
};

/* c88f1059 is the hash label of 10.0.0.1. */
static const struct {
    const char *given;
    const char *label; /* NULL: cannot be in a key */
} hostnames[] = {
    {"", ""},      {"web", "web"}, {"DB", "db"}, {"c88f1059", "c88f1059"},
    {"a_b", NULL}, {"", ""},       {"", ""},     {"web-81", "web-81"},
};

static const struct {
    const char *name;
    const char *protocol;
    unsigned number;
    const char *path; /* NULL: gives no key */
} ports[] = {
    {"http", "TCP", 80, "_tcp/_http"},
    {"HTTP", "TCP", 81, "_tcp/_http"},
    {"http", "TCP", 82, "_tcp/_http"},
    {"dns", "UDP", 53, "_udp/_dns"},
    {"", "TCP", 9, NULL},
    {"a.b", "TCP", 7, NULL},
};

enum service_type { NO_SERVICE, CLUSTER_IP, HEADLESS, EXTERNAL_NAME, NOT_ALLOCATED, TYPES };

struct endpoint {
    uint8_t ip;
    uint8_t hostname;
    bool is_ready;
};

/* A subset, or a slice. */
struct part {
    struct endpoint endpoints[ADDRESSES_MAX];
    uint8_t endpoint_count;
    uint8_t ports[PORTS_MAX];
    uint8_t port_count;
};

struct service {
    enum service_type type;
    bool takes_all;
    uint8_t ips[2];
    uint8_t ip_count;
    struct part part; /* its ports */
};

struct slice_object {
    bool exists;
    bool is_fqdn;
    uint8_t service; /* SERVICES: of none */
    struct part part;
};

struct pod {
    bool exists;
    bool has_ended;
    uint8_t ips[POD_IPS_MAX];
    uint8_t ip_count;
};

struct cluster {
    struct service services[SERVICES];
    bool has_endpoints[SERVICES];
    struct part endpoints[SERVICES][SUBSETS];
    struct slice_object slices[SLICES];
    struct pod pods[PODS];
};

static const char *ns_name(unsigned ns)
{
    return ns ? "beta" : "alpha";
}

/* ---- Lines "key value\n" ---- */

struct lines {
    char *items[LINES_MAX];
    size_t count;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_line(struct lines *lines, char *line)
{
    assert_in_range(lines->count, 0, LINES_MAX - 1);
    lines->items[lines->count++] = line;
}

/* Sorted, and every line once. */
static void sort_lines(struct lines *lines)
{
    size_t kept = 0;
    qsort(lines->items, lines->count, sizeof(lines->items[0]), compare_lines);
    for (size_t i = 0; i < lines->count; i++) {
        if (kept && strcmp(lines->items[kept - 1], lines->items[i]) == 0) {
            free(lines->items[i]);
        } else {
            lines->items[kept++] = lines->items[i];
        }
    }
    lines->count = kept;
}

static void free_lines(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->items[i]);
    }
    lines->count = 0;
}

/* ---- The model: keys.md read aloud ---- */

static char *value_of(const char *host, unsigned port)
{
    char *with_port = port ? xasprintf(",\"port\":%u", port) : xstrdup("");
    char *value =
        xasprintf("{\"host\":\"%s\"%s,\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}",
                  host, with_port);
    free(with_port);
    return value;
}

/* FNV-1a of the value that says the address. */
static void hash_of(unsigned ip, char out[9])
{
    char *value = value_of(ips[ip].text, 0);
    uint32_t hash = 0x811c9dc5;
    for (const char *c = value; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * 0x01000193;
    }
    (void)snprintf(out, 9, "%x", hash);
    free(value);
}

/* Takes the key. */
static void expect(struct lines *lines, char *key, const char *host, unsigned port)
{
    char *value = value_of(host, port);
    add_line(lines, xasprintf("/skydns/%s %s\n", key, value));
    free(value);
    free(key);
}

struct wish {
    unsigned rank;
    char *host;
};

/* The best claim on each address; owned. */
struct wishes {
    struct wish best[ARRAY_LEN(ips)];
};

/* Takes the host. */
static void wish(struct wishes *wishes, unsigned ip, unsigned rank, char *host)
{
    struct wish *best = &wishes->best[ip];
    bool is_better =
        !best->host || rank < best->rank || (rank == best->rank && strcmp(host, best->host) < 0);
    if (is_better) {
        free(best->host);
        *best = (struct wish){rank, host};
    } else {
        free(host);
    }
}

/* One endpoint that counts, with the ports of its part. */
struct counted {
    char label[64];
    unsigned ip;
    bool has_hostname;
    const struct part *part;
};

struct headless {
    struct counted items[(SUBSETS + SLICES) * ADDRESSES_MAX];
    size_t count;
};

static void count_part(struct headless *headless, const struct part *part, bool takes_all)
{
    for (unsigned i = 0; i < part->endpoint_count; i++) {
        const struct endpoint *endpoint = &part->endpoints[i];
        const char *label = hostnames[endpoint->hostname].label;
        if (!ips[endpoint->ip].text || !label || !(endpoint->is_ready || takes_all)) {
            continue;
        }
        struct counted *counted = &headless->items[headless->count++];
        *counted = (struct counted){.ip = endpoint->ip, .has_hostname = *label, .part = part};
        if (*label) {
            (void)snprintf(counted->label, sizeof(counted->label), "%s", label);
        } else {
            hash_of(endpoint->ip, counted->label);
        }
    }
}

static bool is_shared(const struct headless *headless, const struct counted *counted)
{
    for (size_t i = 0; i < headless->count; i++) {
        if (strcmp(headless->items[i].label, counted->label) == 0 &&
            headless->items[i].ip != counted->ip) {
            return true;
        }
    }
    return false;
}

/* Whether some endpoint of this label has such a port: of any number, or one below a limit. */
static bool has_port(const struct headless *headless, const char *label, const char *path,
                     unsigned below)
{
    for (size_t i = 0; i < headless->count; i++) {
        const struct counted *counted = &headless->items[i];
        for (unsigned j = 0; j < counted->part->port_count; j++) {
            unsigned port = counted->part->ports[j];
            if (ports[port].path && strcmp(ports[port].path, path) == 0 &&
                strcmp(counted->label, label) == 0 && ports[port].number < below) {
                return true;
            }
        }
    }
    return false;
}

static void expect_port(struct lines *lines, const struct headless *headless,
                        const struct counted *counted, unsigned port, const char *name,
                        const char *base)
{
    char *host = xasprintf("%s.%s", counted->label, name), numbered[80];
    const char *label = counted->label;
    if (has_port(headless, label, ports[port].path, ports[port].number)) {
        (void)snprintf(numbered, sizeof(numbered), "%s-%u", label, ports[port].number);
        label = has_port(headless, numbered, ports[port].path, 65536) ? NULL : numbered;
    }
    if (label) {
        expect(lines, xasprintf("%s/%s/%s", base, ports[port].path, label), host,
               ports[port].number);
    }
    free(host);
}

static void expect_headless(struct lines *lines, struct wishes *wishes,
                            const struct headless *headless, const char *name, const char *base)
{
    for (size_t i = 0; i < headless->count; i++) {
        const struct counted *counted = &headless->items[i];
        const char *ip = ips[counted->ip].text;
        if (is_shared(headless, counted)) {
            char hash[9];
            hash_of(counted->ip, hash);
            expect(lines, xasprintf("%s/%s/%s", base, counted->label, hash), ip, 0);
        } else {
            expect(lines, xasprintf("%s/%s", base, counted->label), ip, 0);
        }
        for (unsigned j = 0; j < counted->part->port_count; j++) {
            if (ports[counted->part->ports[j]].path) {
                expect_port(lines, headless, counted, counted->part->ports[j], name, base);
            }
        }
        wish(wishes, counted->ip, counted->has_hostname ? 2 : 3,
             xasprintf("%s.%s", counted->label, name));
    }
}

static void expect_cluster_ips(struct lines *lines, struct wishes *wishes,
                               const struct service *service, const char *name, const char *base)
{
    char first[9] = "";
    for (unsigned i = 0; i < service->ip_count; i++) {
        char hash[9];
        if (!ips[service->ips[i]].text) {
            continue;
        }
        hash_of(service->ips[i], hash);
        memcpy(first, *first ? first : hash, sizeof(first));
        expect(lines, xasprintf("%s/%s", base, hash), ips[service->ips[i]].text, 0);
        wish(wishes, service->ips[i], 1, xstrdup(name));
    }
    for (unsigned i = 0; i < service->part.port_count && *first; i++) {
        unsigned port = service->part.ports[i];
        bool is_second = false;
        for (unsigned j = 0; j < service->part.port_count && ports[port].path; j++) {
            unsigned other = service->part.ports[j];
            is_second = is_second ||
                        (ports[other].path && strcmp(ports[other].path, ports[port].path) == 0 &&
                         ports[other].number < ports[port].number);
        }
        char *label = is_second ? xasprintf("%s-%u", first, ports[port].number) : xstrdup(first);
        if (ports[port].path) {
            expect(lines, xasprintf("%s/%s/%s", base, ports[port].path, label), name,
                   ports[port].number);
        }
        free(label);
    }
}

static void expect_service(struct lines *lines, struct wishes *wishes,
                           const struct cluster *cluster, bool by_slices, unsigned ns, unsigned i)
{
    const struct service *service = &cluster->services[i];
    char *name = xasprintf("s%u.%s.svc.cluster.local.", i, ns_name(ns));
    char *base = xasprintf("local/cluster/svc/%s/s%u", ns_name(ns), i);
    struct headless headless = {.count = 0};
    if (service->type == CLUSTER_IP) {
        expect_cluster_ips(lines, wishes, service, name, base);
    } else if (service->type == EXTERNAL_NAME) {
        expect(lines, xstrdup(base), "db.example.com.", 0);
    } else if (service->type == HEADLESS) {
        for (unsigned j = 0; j < SLICES && by_slices; j++) {
            const struct slice_object *slice = &cluster->slices[j];
            if (slice->exists && !slice->is_fqdn && slice->service == i) {
                count_part(&headless, &slice->part, service->takes_all);
            }
        }
        for (unsigned j = 0; j < SUBSETS && !by_slices && cluster->has_endpoints[i]; j++) {
            count_part(&headless, &cluster->endpoints[i][j], service->takes_all);
        }
        expect_headless(lines, wishes, &headless, name, base);
    }
    free(base);
    free(name);
}

static void expect_pods(struct lines *lines, const struct cluster *cluster, unsigned ns)
{
    for (unsigned i = 0; i < PODS; i++) {
        const struct pod *pod = &cluster->pods[i];
        for (unsigned j = 0; j < pod->ip_count && pod->exists && !pod->has_ended; j++) {
            char hash[9];
            if (ips[pod->ips[j]].text) {
                hash_of(pod->ips[j], hash);
                expect(lines,
                       xasprintf("local/cluster/pod/%s/%s/%s", ns_name(ns), ips[pod->ips[j]].pod,
                                 hash),
                       ips[pod->ips[j]].text, 0);
            }
        }
    }
}

/* ---- The world ---- */

struct named_owner {
    char *id;
    struct lines lines;
};

enum { OWNERS_MAX = 256 };

struct world {
    uint32_t seed;
    struct cluster clusters[NAMESPACES]; /* one for each namespace */
    bool by_slices;
    bool wants_pods;
    struct inventory *inventory;
    struct reverse *reverse;
    struct buf dirty; /* owner ids, each with a NUL */
    uint8_t changed_ips[ARRAY_LEN(ips)];
    struct named_owner owners[OWNERS_MAX]; /* everybody ever heard of */
    size_t owner_count;
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
};

/* xorshift32: the same sequence every time. */
static uint32_t next_random(struct world *w, uint32_t below)
{
    w->seed ^= w->seed << 13;
    w->seed ^= w->seed >> 17;
    w->seed ^= w->seed << 5;
    return w->seed % below;
}

static void expected_lines(const struct world *w, struct lines *lines)
{
    struct wishes wishes = {.best = {{0}}};
    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        for (unsigned i = 0; i < SERVICES; i++) {
            expect_service(lines, &wishes, &w->clusters[ns], w->by_slices, ns, i);
        }
        if (w->wants_pods) {
            expect_pods(lines, &w->clusters[ns], ns);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
        if (wishes.best[i].host) {
            expect(lines, xasprintf("arpa/%s", ips[i].arpa), wishes.best[i].host, 0);
            free(wishes.best[i].host);
        }
    }
    sort_lines(lines);
}

/* ---- What is tested ---- */

static void mark_dirty(void *data, struct slice owner)
{
    struct world *w = data;
    buf_append_slice(&w->dirty, owner);
    buf_append_char(&w->dirty, '\0');
}

static struct named_owner *owner_of(struct world *w, const char *id)
{
    for (size_t i = 0; i < w->owner_count; i++) {
        if (strcmp(w->owners[i].id, id) == 0) {
            return &w->owners[i];
        }
    }
    assert_in_range(w->owner_count, 0, OWNERS_MAX - 1);
    struct named_owner *owner = &w->owners[w->owner_count++];
    *owner = (struct named_owner){.id = xstrdup(id)};
    return owner;
}

static void ignore_drop(void *data UNUSED, const struct naming_drop *drop UNUSED)
{
}

static void note_ip(void *data, const struct ip *ip)
{
    struct world *w = data;
    for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
        struct ip other;
        if (ip_parse(slice_str(ips[i].given), &other) && claim_compare_ips(ip, &other) == 0) {
            w->changed_ips[i] = 1;
        }
    }
}

static void name_owner(struct world *w, const char *id)
{
    struct named_owner *owner = owner_of(w, id);
    struct naming_config config = {.domain = "cluster.local.", .ttl_s = 30, .dropped = ignore_drop};
    struct err err;
    assert_true(inventory_get(w->inventory, slice_str(id), &w->objects));
    assert_int_equal(naming_build(&config, &w->objects, &w->desired, &w->claims, &err), 0);
    free_lines(&owner->lines);
    for (size_t i = 0; i < w->desired.count; i++) {
        struct desired_record record = desired_get(&w->desired, i);
        char *base = xasprintf("/skydns/local/cluster/%s", id);
        assert_true(slice_has_prefix(record.key, slice_str(base)));
        add_line(&owner->lines, xasprintf("%.*s %.*s\n", (int)record.key.len, record.key.ptr,
                                          (int)record.value.len, record.value.ptr));
        free(base);
    }
    reverse_set(w->reverse, slice_str(id), &w->claims, note_ip, w);
}

static void name_dirty(struct world *w)
{
    for (size_t at = 0; at < w->dirty.len; at += strlen((char *)w->dirty.data + at) + 1) {
        name_owner(w, (const char *)w->dirty.data + at);
    }
    buf_clear(&w->dirty);
}

static char *reverse_line(const struct world *w, size_t i)
{
    struct reverse_winner winner;
    struct ip ip;
    struct buf key;
    if (!ip_parse(slice_str(ips[i].given), &ip) || !reverse_winner(w->reverse, &ip, &winner)) {
        return xstrdup("");
    }
    buf_init(&key, REVERSE_KEY_MAX);
    reverse_key(&ip, &key);
    char *host = xstrndup(winner.host.ptr, winner.host.len), *value = value_of(host, 0);
    char *line = xasprintf("%s %s\n", buf_cstr(&key), value);
    free(value);
    free(host);
    buf_fini(&key);
    return line;
}

static void actual_lines(const struct world *w, struct lines *lines)
{
    for (size_t i = 0; i < w->owner_count; i++) {
        for (size_t j = 0; j < w->owners[i].lines.count; j++) {
            add_line(lines, xstrdup(w->owners[i].lines.items[j]));
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
        char *line = reverse_line(w, i);
        if (*line) {
            add_line(lines, line);
        } else {
            free(line);
        }
    }
    qsort(lines->items, lines->count, sizeof(lines->items[0]), compare_lines);
}

/* ---- Objects for the inventory ---- */

static void append_ports(const struct part *part, struct buf *out)
{
    buf_append_str(out, "'ports':[");
    for (unsigned i = 0; i < part->port_count; i++) {
        unsigned port = part->ports[i];
        buf_printf(out, "%s{'name':'%s','protocol':'%s','port':%u}", i ? "," : "", ports[port].name,
                   ports[port].protocol, ports[port].number);
    }
    buf_append_char(out, ']');
}

static struct kube_object *service_object(const struct service *service, unsigned ns, unsigned i)
{
    struct buf spec;
    buf_init(&spec, 1 << 16);
    append_ports(&service->part, &spec);
    buf_printf(&spec, ",'publishNotReadyAddresses':%s", service->takes_all ? "true" : "false");
    if (service->type == HEADLESS) {
        buf_append_str(&spec, ",'clusterIP':'None','clusterIPs':['None']");
    } else if (service->type == EXTERNAL_NAME) {
        buf_append_str(&spec, ",'type':'ExternalName','externalName':'DB.example.com'");
    } else if (service->type == CLUSTER_IP) {
        buf_append_str(&spec, ",'clusterIPs':[");
        for (unsigned j = 0; j < service->ip_count; j++) {
            buf_printf(&spec, "%s'%s'", j ? "," : "", ips[service->ips[j]].given);
        }
        buf_append_char(&spec, ']');
    }
    char *name = xasprintf("s%u", i);
    struct kube_object *object = service_from(ns_name(ns), name, buf_cstr(&spec));
    free(name);
    buf_fini(&spec);
    return object;
}

static void append_subset(const struct part *part, struct buf *out)
{
    for (int is_ready = 1; is_ready >= 0; is_ready--) {
        bool is_first = true;
        buf_printf(out, "'%s':[", is_ready ? "addresses" : "notReadyAddresses");
        for (unsigned i = 0; i < part->endpoint_count; i++) {
            const struct endpoint *endpoint = &part->endpoints[i];
            if (endpoint->is_ready == is_ready) {
                buf_printf(out, "%s{'ip':'%s','hostname':'%s'}", is_first ? "" : ",",
                           ips[endpoint->ip].given, hostnames[endpoint->hostname].given);
                is_first = false;
            }
        }
        buf_append_str(out, "],");
    }
    append_ports(part, out);
}

static struct kube_object *endpoints_object(const struct part *subsets, unsigned ns, unsigned i)
{
    struct buf text;
    char *name = xasprintf("s%u", i);
    buf_init(&text, 1 << 16);
    for (unsigned j = 0; j < SUBSETS; j++) {
        buf_append_str(&text, j ? ",{" : "{");
        append_subset(&subsets[j], &text);
        buf_append_char(&text, '}');
    }
    struct kube_object *object = endpoints_from(ns_name(ns), name, buf_cstr(&text));
    free(name);
    buf_fini(&text);
    return object;
}

/* A terminating endpoint counts by its ready condition, so it makes no difference here. */
static struct kube_object *slice_object(const struct slice_object *slice, unsigned ns, unsigned i)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_printf(&text, "'addressType':'%s','endpoints':[", slice->is_fqdn ? "FQDN" : "IPv4");
    for (unsigned j = 0; j < slice->part.endpoint_count; j++) {
        const struct endpoint *endpoint = &slice->part.endpoints[j];
        buf_printf(&text, "%s{'addresses':['%s'],'hostname':'%s','conditions':{%s}}", j ? "," : "",
                   ips[endpoint->ip].given, hostnames[endpoint->hostname].given,
                   endpoint->is_ready ? (j % 2 ? "" : "'ready':true,'terminating':true")
                                      : "'ready':false,'serving':true");
    }
    buf_append_str(&text, "],");
    append_ports(&slice->part, &text);
    char *name = xasprintf("slice%u", i);
    char *service = slice->service < SERVICES ? xasprintf("s%u", slice->service) : xstrdup("");
    struct kube_object *object = slice_from(ns_name(ns), name, service, buf_cstr(&text));
    free(service);
    free(name);
    buf_fini(&text);
    return object;
}

static struct kube_object *pod_object(const struct pod *pod, unsigned ns, unsigned i)
{
    static const char *const ended[] = {"Succeeded", "Failed"};
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_printf(&text, "'phase':'%s','podIPs':[", pod->has_ended ? ended[i % 2] : "Running");
    for (unsigned j = 0; j < pod->ip_count; j++) {
        buf_printf(&text, "%s{'ip':'%s'}", j ? "," : "", ips[pod->ips[j]].given);
    }
    buf_append_char(&text, ']');
    char *name = xasprintf("pod%u", i);
    struct kube_object *object = pod_from(ns_name(ns), name, buf_cstr(&text));
    free(name);
    buf_fini(&text);
    return object;
}

/* The number of objects of a kind that a namespace may have. */
static unsigned count_of(enum kube_kind kind)
{
    return kind == KUBE_SLICE ? SLICES : kind == KUBE_POD ? PODS : SERVICES;
}

/* NULL: it does not exist. */
static struct kube_object *object_of(const struct world *w, enum kube_kind kind, unsigned ns,
                                     unsigned i)
{
    const struct cluster *c = &w->clusters[ns];
    switch (kind) {
    case KUBE_SERVICE:
        return c->services[i].type ? service_object(&c->services[i], ns, i) : NULL;
    case KUBE_ENDPOINTS:
        return c->has_endpoints[i] ? endpoints_object(c->endpoints[i], ns, i) : NULL;
    case KUBE_SLICE:
        return c->slices[i].exists ? slice_object(&c->slices[i], ns, i) : NULL;
    case KUBE_POD:
        break;
    }
    return c->pods[i].exists ? pod_object(&c->pods[i], ns, i) : NULL;
}

/* ---- Steps ---- */

static void change_part(struct world *w, struct part *part)
{
    part->endpoint_count = (uint8_t)next_random(w, ADDRESSES_MAX + 1);
    for (unsigned i = 0; i < part->endpoint_count; i++) {
        part->endpoints[i] = (struct endpoint){
            .ip = (uint8_t)next_random(w, ARRAY_LEN(ips)),
            .hostname = (uint8_t)next_random(w, ARRAY_LEN(hostnames)),
            .is_ready = next_random(w, 4),
        };
    }
    part->port_count = (uint8_t)next_random(w, PORTS_MAX + 1);
    for (unsigned i = 0; i < part->port_count; i++) {
        part->ports[i] = (uint8_t)next_random(w, ARRAY_LEN(ports));
    }
}

static void change_service(struct world *w, struct service *service)
{
    service->type = (enum service_type)(1 + next_random(w, TYPES - 1));
    service->type = next_random(w, 2) ? HEADLESS : service->type;
    service->takes_all = next_random(w, 4) == 0;
    service->ip_count = (uint8_t)(1 + next_random(w, 2));
    service->ips[0] = (uint8_t)next_random(w, ARRAY_LEN(ips));
    service->ips[1] = (uint8_t)next_random(w, ARRAY_LEN(ips));
    change_part(w, &service->part);
}

static void change_pod(struct world *w, struct pod *pod)
{
    pod->exists = true;
    pod->has_ended = next_random(w, 4) == 0;
    pod->ip_count = (uint8_t)next_random(w, POD_IPS_MAX + 1);
    pod->ips[0] = (uint8_t)next_random(w, ARRAY_LEN(ips));
    pod->ips[1] = (uint8_t)next_random(w, ARRAY_LEN(ips));
}

static void change(struct world *w, enum kube_kind kind, unsigned ns, unsigned i)
{
    struct cluster *c = &w->clusters[ns];
    if (kind == KUBE_SERVICE) {
        change_service(w, &c->services[i]);
    } else if (kind == KUBE_ENDPOINTS) {
        c->has_endpoints[i] = true;
        change_part(w, &c->endpoints[i][0]);
        change_part(w, &c->endpoints[i][1]);
    } else if (kind == KUBE_SLICE) {
        c->slices[i].exists = true;
        c->slices[i].is_fqdn = next_random(w, 8) == 0;
        c->slices[i].service = (uint8_t)next_random(w, SERVICES + 1);
        change_part(w, &c->slices[i].part);
    } else {
        change_pod(w, &c->pods[i]);
    }
    inventory_upsert(w->inventory, object_of(w, kind, ns, i));
}

static void vanish(struct world *w, enum kube_kind kind, unsigned ns, unsigned i)
{
    struct cluster *c = &w->clusters[ns];
    if (kind == KUBE_SERVICE) {
        c->services[i].type = NO_SERVICE;
    } else if (kind == KUBE_ENDPOINTS) {
        c->has_endpoints[i] = false;
    } else if (kind == KUBE_SLICE) {
        c->slices[i].exists = false;
    } else {
        c->pods[i].exists = false;
    }
}

static char *name_of(enum kube_kind kind, unsigned i)
{
    return kind == KUBE_SLICE ? xasprintf("slice%u", i)
           : kind == KUBE_POD ? xasprintf("pod%u", i)
                              : xasprintf("s%u", i);
}

static void list_objects(struct world *w, enum kube_kind kind, unsigned ns_count)
{
    inventory_list_begin(w->inventory, kind);
    for (unsigned ns = 0; ns < ns_count; ns++) {
        for (unsigned i = 0; i < count_of(kind); i++) {
            struct kube_object *object = object_of(w, kind, ns, i);
            if (object) {
                inventory_upsert(w->inventory, object);
            }
        }
    }
}

/* Some objects were lost unseen; the first attempt at the list is cut off. */
static void relist(struct world *w, enum kube_kind kind)
{
    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        for (unsigned i = 0; i < count_of(kind); i++) {
            if (next_random(w, 4) == 0) {
                vanish(w, kind, ns, i);
            }
        }
    }
    list_objects(w, kind, next_random(w, NAMESPACES + 1));
    list_objects(w, kind, NAMESPACES);
    inventory_list_end(w->inventory, kind);
}

static void change_source(struct world *w)
{
    bool by_slices = !w->by_slices;
    enum kube_kind kind = by_slices ? KUBE_SLICE : KUBE_ENDPOINTS;
    inventory_use_endpoints(w->inventory, kind);
    if (next_random(w, 2)) { /* the list is cut off, and the change taken back meanwhile */
        list_objects(w, kind, 1);
        inventory_use_endpoints(w->inventory, by_slices ? KUBE_ENDPOINTS : KUBE_SLICE);
        inventory_use_endpoints(w->inventory, kind);
    }
    list_objects(w, kind, NAMESPACES);
    name_dirty(w); /* the old source still counts */
    inventory_list_end(w->inventory, kind);
    w->by_slices = by_slices;
}

static void toggle_pods(struct world *w)
{
    w->wants_pods = !w->wants_pods;
    inventory_want_pods(w->inventory, w->wants_pods);
    list_objects(w, KUBE_POD, NAMESPACES);
    inventory_list_end(w->inventory, KUBE_POD);
}

/* Objects that were understood before keep what they said; one that never was is gone again. */
static void garble(struct world *w, enum kube_kind kind, unsigned ns, unsigned i)
{
    char *own = name_of(kind, i), *name = xasprintf("%s/%s", ns_name(ns), own);
    struct kube_object *object = object_of(w, kind, ns, i);
    inventory_bad(w->inventory, kind, name);
    if (!object) {
        inventory_remove(w->inventory, kind, ns_name(ns), own);
    }
    kube_object_free(object);
    free(name);
    free(own);
}

static void take_step(struct world *w)
{
    enum kube_kind kind = (enum kube_kind)next_random(w, KUBE_KIND_COUNT);
    unsigned ns = next_random(w, NAMESPACES), i = next_random(w, count_of(kind));
    char *name = name_of(kind, i);
    switch (next_random(w, 24)) {
    case 0:
        relist(w, kind);
        break;
    case 1:
        garble(w, kind, ns, i);
        break;
    case 2:
        change_source(w);
        break;
    case 3:
        toggle_pods(w);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        vanish(w, kind, ns, i);
        inventory_remove(w->inventory, kind, ns_name(ns), name);
        break;
    default:
        change(w, kind, ns, i);
        break;
    }
    free(name);
}

/* ---- Checks ---- */

static void fail_with(const struct lines *got, const struct lines *want, unsigned step)
{
    size_t i = 0;
    while (i < got->count && i < want->count && strcmp(got->items[i], want->items[i]) == 0) {
        i++;
    }
    fail_msg("step %u, line %zu:\ngot  %swant %s", step, i,
             i < got->count ? got->items[i] : "nothing\n",
             i < want->count ? want->items[i] : "nothing\n");
}

/* before: the reverse keys as they were; who was not named as changed is the same. */
static void check(struct world *w, char *const before[], unsigned step)
{
    struct lines got = {.count = 0}, want = {.count = 0};
    expected_lines(w, &want);
    actual_lines(w, &got);
    bool is_equal = got.count == want.count;
    for (size_t i = 0; i < got.count && is_equal; i++) {
        is_equal = strcmp(got.items[i], want.items[i]) == 0;
    }
    if (!is_equal) {
        fail_with(&got, &want, step);
    }
    for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
        char *now = reverse_line(w, i);
        assert_true(w->changed_ips[i] || strcmp(before[i], now) == 0);
        free(now);
    }
    free_lines(&got);
    free_lines(&want);
}

static void run(uint32_t seed)
{
    struct world *w = xcalloc(1, sizeof(*w));
    w->seed = seed;
    w->wants_pods = true;
    w->inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = true,
        .changed = mark_dirty,
        .data = w,
    });
    w->reverse = reverse_new();
    buf_init(&w->dirty, 1 << 20);
    owner_objects_init(&w->objects);
    desired_init(&w->desired);
    claims_init(&w->claims);
    for (unsigned step = 0; step < STEPS; step++) {
        char *before[ARRAY_LEN(ips)];
        for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
            before[i] = reverse_line(w, i);
        }
        memset(w->changed_ips, 0, sizeof(w->changed_ips));
        take_step(w);
        name_dirty(w);
        check(w, before, step);
        for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
            free(before[i]);
        }
    }
    for (size_t i = 0; i < w->owner_count; i++) {
        free_lines(&w->owners[i].lines);
        free(w->owners[i].id);
    }
    desired_fini(&w->desired);
    claims_fini(&w->claims);
    owner_objects_fini(&w->objects);
    buf_fini(&w->dirty);
    reverse_free(w->reverse);
    inventory_free(w->inventory);
    free(w);
}

static void test_random_sequences(void **state)
{
    (void)state;
    run(20260301);
    run(7);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
