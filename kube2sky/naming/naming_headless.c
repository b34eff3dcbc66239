/* Names a headless Service's endpoints: ready addresses of its Endpoints or slices, under their
 * labels. Those of an import are named cluster by cluster: only below its cluster is a label
 * unique. Endpoints are taken at once, since their number is limited by the size of the objects.
 * Their records, as many as addresses times ports, are added in portions. */
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "kube2sky/naming/naming_records_internal.h"

/* Holds a ready address under its label. */
struct endpoint {
    struct label label;
    struct address address;
    bool has_hostname;
};

/* Holds a subset of an Endpoints object, or a slice: addresses that share ports. */
struct group {
    struct endpoint *endpoints;
    size_t endpoint_count;
    struct named_port *ports;
    size_t port_count;
};

struct groups {
    struct group *items;
    size_t count;
    size_t endpoint_count; /* of all groups */
    size_t srv_count;      /* endpoints x ports */
    size_t earlier;        /* records of the clusters named before */
};

/* Parts whose endpoints are named together: all, or those of one cluster. */
struct run {
    const struct kube_object *const *parts;
    size_t count;
};

/* Holds a run's endpoints, copied: the objects may change before all records are added. */
struct headless_run {
    struct headless_run *next;
    struct groups groups;
    struct label cluster;
    bool has_cluster;
    const struct endpoint **endpoints; /* sorted by label and address, without duplicates */
    size_t endpoint_count;
    struct srv *srvs; /* sorted */
    size_t added;     /* of the endpoints, then of the ports */
};

/* ---- Collecting ---- */

static void dashed_label(const struct address *address, struct label *ret_label)
{
    struct buf text;
    buf_init(&text, sizeof(ret_label->text));
    naming_pod_label(&address->ip, &text);
    memcpy(ret_label->text, buf_cstr(&text), text.len + 1);
    buf_fini(&text);
}

/* Takes the pod's name if it is a label. A pod's name may have dots, and 253 bytes, so another one
 * is no error. */
static bool take_pod(const char *pod, struct label *ret_label)
{
    size_t n = strlen(pod);
    if (n > DNAME_LABEL_MAX || !dname_is_host_label(slice_of(pod, n))) {
        return false;
    }
    ascii_lower_copy(ret_label->text, pod, n + 1);
    return true;
}

/* Labels an endpoint without a hostname. */
static void name_endpoint(struct build *b, const char *pod, const struct address *address,
                          struct label *ret_label)
{
    switch (b->config->endpoint_names) {
    case ENDPOINT_NAMES_HASH:
        address_label(b, address, ret_label);
        return;
    case ENDPOINT_NAMES_POD:
        if (take_pod(pod, ret_label)) {
            return;
        }
        break;
    case ENDPOINT_NAMES_ADDRESS:
        break;
    }
    dashed_label(address, ret_label);
}

static bool naming_headless_take_endpoint(struct build *b, const char *ip, const char *hostname,
                                          const char *pod, struct endpoint *ret_endpoint)
{
    if (!naming_records_take_address(b, ip, &ret_endpoint->address)) {
        return false;
    }
    ret_endpoint->has_hostname = hostname[0] != '\0';
    if (ret_endpoint->has_hostname) {
        return naming_records_take_label(b, "hostname", hostname, DNAME_LABEL_MAX,
                                         &ret_endpoint->label);
    }
    name_endpoint(b, pod, &ret_endpoint->address, &ret_endpoint->label);
    return true;
}

static int compare_endpoint_labels(const void *a, const void *b)
{
    const struct endpoint *x = a, *y = b;
    return strcmp(x->label.text, y->label.text);
}

/* Sorts the group in the order in which its records are added. */
static void sort_group(struct group *group)
{
    if (group->endpoint_count) {
        qsort(group->endpoints, group->endpoint_count, sizeof(struct endpoint),
              compare_endpoint_labels);
    }
    if (group->port_count) {
        qsort(group->ports, group->port_count, sizeof(struct named_port), compare_named_ports);
    }
}

static void add_group(struct build *b, struct groups *groups, struct group *group,
                      const struct kube_port *ports, size_t port_count)
{
    group->ports = xcalloc(port_count, sizeof(struct named_port));
    group->port_count = take_ports(b, ports, port_count, group->ports);
    sort_group(group);
    groups->endpoint_count += group->endpoint_count;
    groups->srv_count += group->endpoint_count * group->port_count;
    groups->items[groups->count++] = *group;
}

static void take_subset(struct build *b, bool takes_all, const struct kube_subset *subset,
                        struct groups *groups)
{
    struct group group = {
        .endpoints = xcalloc(subset->address_count, sizeof(struct endpoint)),
    };
    for (size_t i = 0; i < subset->address_count; i++) {
        const struct kube_address *address = &subset->addresses[i];
        struct endpoint *next = &group.endpoints[group.endpoint_count];
        group.endpoint_count +=
            (address->is_ready || takes_all) &&
            naming_headless_take_endpoint(b, address->ip, address->hostname, address->pod, next);
    }
    add_group(b, groups, &group, subset->ports, subset->port_count);
}

/* Takes a slice. Skips FQDN addresses; `ready` already covers terminating endpoints. */
static void take_slice(struct build *b, bool takes_all, const struct kube_slice *slice,
                       struct groups *groups)
{
    struct group group = {.endpoints = NULL};
    size_t total = 0;
    if (slice->address_type != KUBE_IPV4 && slice->address_type != KUBE_IPV6) {
        return;
    }
    for (size_t i = 0; i < slice->endpoint_count; i++) {
        total += slice->endpoints[i].address_count;
    }
    group.endpoints = xcalloc(total, sizeof(struct endpoint));
    for (size_t i = 0; i < slice->endpoint_count; i++) {
        const struct kube_slice_endpoint *from = &slice->endpoints[i];
        for (size_t j = 0; j < from->address_count && (from->is_ready || takes_all); j++) {
            struct endpoint *next = &group.endpoints[group.endpoint_count];
            group.endpoint_count += naming_headless_take_endpoint(b, from->addresses[j],
                                                                  from->hostname, from->pod, next);
        }
    }
    add_group(b, groups, &group, slice->ports, slice->port_count);
}

static size_t count_groups(const struct run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct kube_object *part = run->parts[i];
        count += part->kind == KUBE_SLICE ? 1 : part->endpoints.subset_count;
    }
    return count;
}

static bool are_too_many(const struct build *b, const struct groups *groups)
{
    return groups->earlier + groups->endpoint_count + groups->srv_count >
           naming_records_max(b->config);
}

/* Gathers the groups, up to the slice or object that exceeds the limit. */
static void naming_headless_gather(struct build *b, bool takes_all, const struct run *run,
                                   struct groups *ret_groups)
{
    ret_groups->items = xcalloc(count_groups(run), sizeof(struct group));
    for (size_t i = 0; i < run->count && !are_too_many(b, ret_groups); i++) {
        const struct kube_object *part = run->parts[i];
        if (part->kind == KUBE_SLICE) {
            take_slice(b, takes_all, &part->slice, ret_groups);
            continue;
        }
        for (size_t j = 0; j < part->endpoints.subset_count && !are_too_many(b, ret_groups); j++) {
            take_subset(b, takes_all, &part->endpoints.subsets[j], ret_groups);
        }
    }
}

static void free_groups(struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        free(groups->items[i].endpoints);
        free(groups->items[i].ports);
    }
    free(groups->items);
}

/* ---- Addresses ---- */

static int compare_endpoints(const void *a, const void *b)
{
    const struct endpoint *x = *(const struct endpoint *const *)a;
    const struct endpoint *y = *(const struct endpoint *const *)b;
    int d = strcmp(x->label.text, y->label.text);
    return d ? d : claim_compare_ips(&x->address.ip, &y->address.ip);
}

/* Merges the groups' endpoints, sorted by label and address, without duplicates. Returns their
 * number. */
static size_t merge_endpoints(const struct groups *groups, const struct endpoint **ret_endpoints)
{
    size_t total = 0, kept = 0;
    for (size_t i = 0; i < groups->count; i++) {
        for (size_t j = 0; j < groups->items[i].endpoint_count; j++) {
            ret_endpoints[total++] = &groups->items[i].endpoints[j];
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

/* Adds an address. A single one is the label's value; several are below it, by their hashes. */
static void add_endpoint(struct build *b, const struct headless_run *run, size_t at)
{
    const struct endpoint *const *endpoints = run->endpoints;
    const struct endpoint *endpoint = endpoints[at];
    bool is_shared = (at > 0 && same_label(endpoints[at - 1], endpoint)) ||
                     (at + 1 < run->endpoint_count && same_label(endpoint, endpoints[at + 1]));
    struct label hash;
    if (is_shared) {
        address_label(b, &endpoint->address, &hash);
    }
    naming_records_add_address(b, endpoint->label.text, &endpoint->address,
                               is_shared ? hash.text : NULL);
}

/* Adds claims from every group, since merging dropped one of two addresses when one's hostname
 * equals the other's label. */
static void add_claims(struct build *b, const struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        for (size_t j = 0; j < groups->items[i].endpoint_count; j++) {
            const struct endpoint *endpoint = &groups->items[i].endpoints[j];
            add_claim(b, &endpoint->address, endpoint->has_hostname ? CLAIM_HOSTNAME : CLAIM_HASH,
                      endpoint->label.text);
        }
    }
}

/* ---- Ports ---- */

static struct srv *take_srvs(const struct groups *groups)
{
    struct srv *srvs = xcalloc(groups->srv_count, sizeof(*srvs));
    size_t count = 0;
    for (size_t i = 0; i < groups->count; i++) {
        const struct group *group = &groups->items[i];
        for (size_t k = 0; k < group->port_count; k++) {
            for (size_t j = 0; j < group->endpoint_count; j++) {
                srvs[count++] = (struct srv){
                    .port = &group->ports[k],
                    .label = &group->endpoints[j].label,
                };
            }
        }
    }
    sort_srvs(srvs, count);
    return srvs;
}

/* ---- Everything ---- */

static void headless_run_free(struct headless_run *run)
{
    free_groups(&run->groups);
    free(run->endpoints);
    free(run->srvs);
    free(run);
}

/* Takes the run's endpoints, and adds their claims, and their records to *count. */
static int naming_headless_take_run(struct build *b, bool takes_all, const struct run *parts,
                                    size_t *count, struct err *err)
{
    struct headless_run *run = xcalloc(1, sizeof(*run));
    struct groups *groups = &run->groups;
    groups->earlier = *count;
    naming_headless_gather(b, takes_all, parts, groups);
    *count += groups->endpoint_count + groups->srv_count;
    if (are_too_many(b, groups)) {
        int r = err_set(err, ERR_TOO_LARGE,
                        "%zu addresses and %zu address and port pairs, or more: expected at most "
                        "%zu together",
                        groups->endpoint_count, groups->srv_count, naming_records_max(b->config));
        headless_run_free(run);
        return r;
    }
    run->has_cluster = b->cluster != NULL;
    if (b->cluster) {
        run->cluster = *b->cluster;
    }
    run->endpoints = xcalloc(groups->endpoint_count, sizeof(struct endpoint *));
    run->endpoint_count = merge_endpoints(groups, run->endpoints);
    run->srvs = take_srvs(groups);
    add_claims(b, groups);
    *(b->last ? &b->last->next : &b->first) = run;
    b->last = run;
    return 0;
}

/* Adds the run's next record. Returns false if there is none. */
static bool add_next(struct build *b, struct headless_run *run)
{
    size_t at = run->added;
    b->cluster = run->has_cluster ? &run->cluster : NULL;
    if (at < run->endpoint_count) {
        add_endpoint(b, run, at);
    } else if (at - run->endpoint_count < run->groups.srv_count) {
        add_sorted_srv(b, run->srvs, run->groups.srv_count, at - run->endpoint_count, true);
    } else {
        return false;
    }
    run->added++;
    return true;
}

static void drop_first_run(struct build *b)
{
    struct headless_run *run = b->first;
    b->first = run->next;
    b->last = b->first ? b->last : NULL;
    b->cluster = NULL;
    headless_run_free(run);
}

bool build_headless_go_on(struct build *b, size_t *budget)
{
    while (b->first && *budget) {
        if (add_next(b, b->first)) {
            (*budget)--;
        } else {
            drop_first_run(b);
        }
    }
    return !b->first;
}

void build_headless_free(struct build *b)
{
    while (b->first) {
        drop_first_run(b);
    }
}

static int compare_clusters(const void *a, const void *b)
{
    const struct kube_object *x = *(const struct kube_object *const *)a;
    const struct kube_object *y = *(const struct kube_object *const *)b;
    return strcmp(kube_slice_cluster(&x->slice), kube_slice_cluster(&y->slice));
}

/* Takes the slices of each cluster by themselves, without those whose cluster has no name. */
static int take_clusters(struct build *b, const struct owner_objects *objects, struct err *err)
{
    size_t count = 0, part_count = objects->part_count, next = 0;
    const struct kube_object **parts = xcalloc(part_count, sizeof(struct kube_object *));
    struct label cluster;
    int r = 0;
    for (size_t i = 0; i < part_count; i++) {
        parts[i] = objects->parts[i];
    }
    if (part_count) {
        qsort(parts, part_count, sizeof(struct kube_object *), compare_clusters);
    }
    for (size_t at = 0; at < part_count && r == 0; at = next) {
        for (next = at; next < part_count && compare_clusters(&parts[at], &parts[next]) == 0;) {
            next++;
        }
        if (naming_records_take_label(b, "source cluster", kube_slice_cluster(&parts[at]->slice),
                                      DNAME_LABEL_MAX, &cluster)) {
            const struct run run = {.parts = &parts[at], .count = next - at};
            b->cluster = &cluster;
            r = naming_headless_take_run(b, false, &run, &count, err);
        }
    }
    b->cluster = NULL;
    free(parts);
    return r;
}

int build_headless(struct build *b, const struct owner_objects *objects, struct err *err)
{
    const struct run all = {.parts = objects->parts, .count = objects->part_count};
    size_t count = 0;
    return b->is_import ? take_clusters(b, objects, err)
                        : naming_headless_take_run(b, objects->service->service.publish_not_ready,
                                                   &all, &count, err);
}
