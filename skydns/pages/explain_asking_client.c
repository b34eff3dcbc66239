#include "skydns/pages/explain_asking_client.h"

#include <string.h>

#include "skydns/answer/answer_kube.h"
#include "skydns/pages/explain_internal.h"
#include "skydns/pages/missing_suffixes_internal.h"

static enum explain_identity explain_asking_client_identify(const struct engine_config *config,
                                                            struct explain_asking_client *client)
{
    if (!config->clients) {
        return EXPLAIN_NOT_WANTED;
    }
    const struct client_index_entry entry = client_index_entry(config->clients, &client->ip);
    client->spaces = entry.spaces;
    client->view.space = client_index_find(config->clients, &client->ip);
    if (client_index_describe(config->clients, &client->ip, &client->description)) {
        return EXPLAIN_BY_POD;
    }
    return entry.bars > 0 ? EXPLAIN_OF_NODE : entry.spaces > 1 ? EXPLAIN_SHARED : EXPLAIN_NO_POD;
}

/* Returns the first network that contains the address, or NULL. */
static const struct network *find_network(const struct network *networks, size_t count,
                                          const struct ip *ip)
{
    for (size_t i = 0; i < count; i++) {
        if (network_contains(&networks[i], ip)) {
            return &networks[i];
        }
    }
    return NULL;
}

void explain_asking_client_recursion(const struct engine_config *config,
                                     struct explain_asking_client *client)
{
    if (client->identity == EXPLAIN_ANYBODY) {
        return;
    }
    client->recursion_network = find_network(config->allowed, config->allowed_count, &client->ip);
    client->recursion = config->allows_all          ? EXPLAIN_RECURSION_FOR_ALL
                        : client->recursion_network ? EXPLAIN_RECURSION_ALLOWED_BY
                                                    : EXPLAIN_RECURSION_REFUSED;
}

int explain_asking_client(const struct engine_config *config, const char *address,
                          struct explain_asking_client *ret, struct err *err)
{
    *ret = (struct explain_asking_client){.identity = EXPLAIN_ANYBODY};
    if (!address || !*address) {
        return 0;
    }
    struct ip ip;
    if (!ip_parse(slice_str(address), &ip)) {
        return err_set(err, ERR_USAGE, "client `%s`: expected an address like 10.1.0.7", address);
    }
    const struct addr addr = addr_of_ip(&ip, 0);
    ret->ip = addr_ip(&addr); /* as of a query */
    ret->identity = explain_asking_client_identify(config, ret);
    ret->view.visibility = config->visibility;
    if (config->clients && config->topology) {
        (void)client_index_find_zone(config->clients, &ret->ip, &ret->view.zone);
    }
    if (config->settings.is_restricted) {
        ret->network =
            find_network(config->settings.admitted, config->settings.admitted_count, &ret->ip);
        ret->is_refused = !ret->network;
    }
    ret->rate = config->settings.rate;
    ret->burst = config->settings.rate_burst;
    if (ret->view.space) {
        ret->namespace_rate =
            (struct rate){config->settings.rate_namespace, config->settings.rate_namespace_burst};
    }
    return 0;
}

/* Returns the namespace that a name of ours is in; len 0: none. */
static struct slice explain_asking_client_space_of(const struct engine_config *config,
                                                   const struct dname *name)
{
    struct dname_labels labels;
    const struct engine_zone *zone = engine_config_zone(config, name);
    dname_labels(name, &labels);
    unsigned depth = zone ? labels.count - zone->labels : 0;
    if (depth == 0 || kube_zone_depth(zone, depth) < 2 ||
        kube_zone_tree(zone, dname_label(name, labels.offsets[depth - 1])) == KUBE_TREE_OTHER) {
        return slice_of("", 0);
    }
    return dname_label(name, labels.offsets[kube_zone_depth(zone, depth) - 2]);
}

void explain_asking_client_hidden(const struct view *view, const struct dname *name,
                                  struct explain_asking_client *client)
{
    struct dname hidden = *name;
    if (!view->visibility) {
        return;
    }
    if (view->store && view_hides_record(view, name)) { /* a reverse name: where it points */
        (void)store_record_host_name(store_find_record(view->store, name), &hidden); /* is one */
        dname_lower(&hidden);
    } else if (view_part_of(view, name) != VIEW_NONE) {
        return;
    }
    struct slice space = explain_asking_client_space_of(view->config, &hidden);
    client->hidden_len = space.len;
    memcpy(client->hidden, space.ptr, space.len);
}

/* ---- The candidates of a short name: those of the search list, then the name itself, as
 * resolvers do with `options ndots:5`, which the kubelet writes ---- */

/* Dots from which a name is asked for first as it is. */
enum { KUBELET_NDOTS = 5 };

/* Adds a candidate; leaves out a name that is too long, as resolvers do. */
static void explain_asking_client_add(struct explain_search *search, const struct dname *name,
                                      const struct dname *suffix)
{
    if (search->count < SEARCH_LIST_NAMES_MAX &&
        missing_with_suffix(name, suffix, &search->names[search->count])) {
        search->count++;
    }
}

/* Finds `<namespace>.svc.D`, `svc.D`, `D`, and those of -search. */
static void find_names(const struct engine_config *config, const struct dname *name,
                       struct explain_search *search)
{
    const struct engine_zone *zone = &config->zones[0];
    const struct missing_suffixes of_pod = missing_suffixes_of(zone, &zone->domain, search->space);
    const struct dname root = {.len = 1};
    for (size_t i = 0; i < MISSING_SUFFIXES; i++) {
        explain_asking_client_add(search, name, &of_pod.items[i]);
    }
    for (size_t i = 0; i < config->settings.search_count; i++) {
        explain_asking_client_add(search, name, &config->settings.search[i]);
    }
    explain_asking_client_add(search, name, &root);
}

static bool is_short(const struct explainer *e, const char *text)
{
    const struct dname *name = &e->result.asked;
    struct dname lower = *name;
    size_t len = strlen(text);
    dname_lower(&lower);
    return name->len > 1 && text[len - 1] != '.' && dname_label_count(name) <= KUBELET_NDOTS &&
           e->config->zone_count > 0 && !engine_config_zone(e->config, &lower);
}

void explain_search(struct explainer *e, const char *text)
{
    struct explain_search *search = &e->result.search;
    const struct client_space *space = e->result.who.view.space;
    search->count = 0;
    if (!is_short(e, text)) {
        return;
    }
    search->is_assumed = !space;
    search->space = space ? client_space_label(space) : slice_str("default");
    find_names(e->config, &e->result.asked, search);
    for (size_t i = 0; i < search->count; i++) {
        search->outcomes[i] = explain_try(e, &search->names[i]);
    }
    e->result.question.name = e->result.asked;
}
