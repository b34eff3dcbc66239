/* A cluster in a few small arrays, and the keys it must have, computed naively: each by a loop over
 * everything. Shares no code with naming. For test_naming_model.c. */
#ifndef TESTS_UNIT_KUBE2SKY_NAMING_NAMING_MODEL_H
#define TESTS_UNIT_KUBE2SKY_NAMING_NAMING_MODEL_H

#include "tests/unit/kube2sky/objects.h"

#include "common/base/buf.h"
#include "kube2sky/naming/naming.h"

enum {
    NAMESPACES = 2,
    SERVICES = 4, /* per namespace, like the others */
    SLICES = 5,
    PODS = 5,
    ADDRESSES_MAX = 4, /* of a subset or slice */
    SUBSETS = 2,
    PORTS_MAX = 3,
    POD_IPS_MAX = 2,
    LINES_MAX = 4096,
};

/* ---- Parts of objects ---- */

static const struct {
    const char *given, *text, *pod, *arpa;
} ips[] = {
    {"10.0.0.1", "10.0.0.1", "10-0-0-1", "in-addr/10/0/0/1"},
    {"10.0.0.9", "10.0.0.9", "10-0-0-9", "in-addr/10/0/0/9"},
    {"10.00.000.026", "10.0.0.26", "10-0-0-26", "in-addr/10/0/0/26"},
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
    const char *label; /* NULL: not allowed in a key */
} hostnames[] = {
    {"", ""},      {"web", "web"}, {"DB", "db"}, {"c88f1059", "c88f1059"},
    {"a_b", NULL}, {"", ""},       {"", ""},     {"web-81", "web-81"},
};

static const char *const pods[] = {"", "", "web-x7k2p", "web", "10-0-0-9", "no.label"};

static const struct {
    const char *name, *protocol;
    unsigned number;
    const char *path; /* NULL: no key */
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
    uint8_t pod;
    bool is_ready;
};

/* A subset or a slice. */
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

static inline const char *ns_name(unsigned ns)
{
    return ns ? "beta" : "alpha";
}

/* ---- Lines "key value\n" ---- */

struct lines {
    char *items[LINES_MAX];
    size_t count;
};

static inline int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void add_line(struct lines *lines, char *line)
{
    assert_in_range(lines->count, 0, LINES_MAX - 1);
    lines->items[lines->count++] = line;
}

/* Sorts and deduplicates. */
static inline void sort_lines(struct lines *lines)
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

static inline void free_lines(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->items[i]);
    }
    lines->count = 0;
}

/* ---- The model: the key layout, rule by rule ---- */

static inline char *value_of(const char *host, unsigned port)
{
    CLEANUP_FREE char *with_port = port ? xasprintf(",\"port\":%u", port) : xstrdup("");
    char *value =
        xasprintf("{\"host\":\"%s\"%s,\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}",
                  host, with_port);
    return value;
}

/* FNV-1a of the value with the address. */
static inline void hash_of_value(const char *host, unsigned port, char out[9])
{
    CLEANUP_FREE char *value = value_of(host, port);
    uint32_t hash = 0x811c9dc5;
    for (const char *c = value; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * 0x01000193;
    }
    (void)snprintf(out, 9, "%x", hash);
}

static inline void hash_of(unsigned ip, char out[9])
{
    hash_of_value(ips[ip].text, 0, out);
}

/* Takes ownership of the key. */
static inline void expect(struct lines *lines, char *key, const char *host, unsigned port)
{
    CLEANUP_FREE char *value = value_of(host, port);
    add_line(lines, xasprintf("/skydns/%s %s\n", key, value));
    free(key);
}

struct wish {
    unsigned rank;
    char *host;
};

/* Claims on the addresses; owned. */
struct wishes {
    unsigned ns;                                    /* of the Service that wishes now */
    struct wish allocated[ARRAY_LEN(ips)];          /* the best cluster IP */
    struct wish best[ARRAY_LEN(ips)][NAMESPACES];   /* of all of the namespace */
    struct lines hosts[ARRAY_LEN(ips)][NAMESPACES]; /* all of the namespace */
};

static inline void wish_better(struct wish *best, unsigned rank, const char *host)
{
    bool is_better =
        !best->host || rank < best->rank || (rank == best->rank && strcmp(host, best->host) < 0);
    if (is_better) {
        free(best->host);
        *best = (struct wish){rank, xstrdup(host)};
    }
}

/* Takes ownership of the host. */
static inline void wish(struct wishes *wishes, unsigned ip, unsigned rank, char *host)
{
    if (rank == 1) {
        wish_better(&wishes->allocated[ip], rank, host);
    }
    wish_better(&wishes->best[ip][wishes->ns], rank, host);
    add_line(&wishes->hosts[ip][wishes->ns], host);
}

static inline void free_wishes(struct wishes *wishes)
{
    for (size_t ip = 0; ip < ARRAY_LEN(ips); ip++) {
        free(wishes->allocated[ip].host);
        for (unsigned ns = 0; ns < NAMESPACES; ns++) {
            free(wishes->best[ip][ns].host);
            free_lines(&wishes->hosts[ip][ns]);
        }
    }
    free(wishes);
}

/* Whether a pod of the namespace has the address. */
static inline bool has_pod(const struct cluster *cluster, unsigned ip)
{
    bool has = false;
    for (unsigned i = 0; i < PODS; i++) {
        const struct pod *pod = &cluster->pods[i];
        for (unsigned j = 0; j < pod->ip_count && pod->exists && !pod->has_ended; j++) {
            has |= pod->ips[j] == ip;
        }
    }
    return has;
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

static inline void label_of(enum endpoint_names names, const struct endpoint *endpoint,
                            char out[64])
{
    const char *pod = pods[endpoint->pod];
    if (names == ENDPOINT_NAMES_HASH) {
        hash_of(endpoint->ip, out);
    } else if (names == ENDPOINT_NAMES_POD && *pod && !strchr(pod, '.')) {
        (void)snprintf(out, 64, "%s", pod);
    } else {
        (void)snprintf(out, 64, "%s", ips[endpoint->ip].pod);
    }
}

static inline void count_part(struct headless *headless, enum endpoint_names names,
                              const struct part *part, bool takes_all)
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
            label_of(names, endpoint, counted->label);
        }
    }
}

static inline bool is_shared(const struct headless *headless, const struct counted *counted)
{
    for (size_t i = 0; i < headless->count; i++) {
        if (strcmp(headless->items[i].label, counted->label) == 0 &&
            headless->items[i].ip != counted->ip) {
            return true;
        }
    }
    return false;
}

/* Whether some endpoint of this label has such a port, with a number below the limit. */
static inline bool has_port(const struct headless *headless, const char *label, const char *path,
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

static inline void expect_port(struct lines *lines, const struct headless *headless,
                               const struct counted *counted, unsigned port, const char *name,
                               const char *base)
{
    char *host = xasprintf("%s.%s", counted->label, name), numbered[80];
    const char *label = counted->label;
    if (has_port(headless, label, ports[port].path, ports[port].number)) {
        (void)snprintf(numbered, sizeof(numbered), "%s-%u", label, ports[port].number);
        if (has_port(headless, numbered, ports[port].path, 65536)) {
            hash_of_value(host, ports[port].number, numbered);
        }
        label = numbered;
    }
    expect(lines, xasprintf("%s/%s/%s", base, ports[port].path, label), host, ports[port].number);
    free(host);
}

static inline void expect_headless(struct lines *lines, struct wishes *wishes,
                                   const struct headless *headless, const char *name,
                                   const char *base)
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

static inline void expect_cluster_ips(struct lines *lines, struct wishes *wishes,
                                      const struct service *service, const char *name,
                                      const char *base)
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
        CLEANUP_FREE char *label =
            is_second ? xasprintf("%s-%u", first, ports[port].number) : xstrdup(first);
        if (ports[port].path) {
            expect(lines, xasprintf("%s/%s/%s", base, ports[port].path, label), name,
                   ports[port].number);
        }
    }
}

static inline void expect_service(struct lines *lines, struct wishes *wishes,
                                  enum endpoint_names names, const struct cluster *cluster,
                                  bool by_slices, unsigned ns, unsigned i)
{
    const struct service *service = &cluster->services[i];
    CLEANUP_FREE char *name = xasprintf("s%u.%s.svc.cluster.local.", i, ns_name(ns));
    CLEANUP_FREE char *base = xasprintf("local/cluster/svc/%s/s%u", ns_name(ns), i);
    struct headless headless = {.count = 0};
    if (service->type == CLUSTER_IP) {
        expect_cluster_ips(lines, wishes, service, name, base);
    } else if (service->type == EXTERNAL_NAME) {
        expect(lines, xstrdup(base), "db.example.com.", 0);
    } else if (service->type == HEADLESS) {
        for (unsigned j = 0; j < SLICES && by_slices; j++) {
            const struct slice_object *slice = &cluster->slices[j];
            if (slice->exists && !slice->is_fqdn && slice->service == i) {
                count_part(&headless, names, &slice->part, service->takes_all);
            }
        }
        for (unsigned j = 0; j < SUBSETS && !by_slices && cluster->has_endpoints[i]; j++) {
            count_part(&headless, names, &cluster->endpoints[i][j], service->takes_all);
        }
        expect_headless(lines, wishes, &headless, name, base);
    }
}

static inline void expect_pods(struct lines *lines, const struct cluster *cluster, unsigned ns)
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

#endif
