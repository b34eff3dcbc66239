#include "skydns/pages/explain_who.h"

#include <string.h>

#include "skydns/answer/kube_place.h"

static enum explain_identity identify(const struct engine_config *config, struct explain_who *who)
{
    if (!config->clients) {
        return EXPLAIN_NOT_WANTED;
    }
    const struct client_index_entry entry = client_index_entry(config->clients, &who->ip);
    who->spaces = entry.spaces;
    who->view.space = client_index_find(config->clients, &who->ip);
    if (who->view.space) {
        return EXPLAIN_BY_POD;
    }
    return entry.bars > 0 ? EXPLAIN_OF_NODE : entry.spaces > 1 ? EXPLAIN_SHARED : EXPLAIN_NO_POD;
}

/* The first that contains the address, or NULL. */
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

static void admit(const struct engine_config *config, struct explain_who *who)
{
    const struct network *network =
        config->settings.is_restricted
            ? find_network(config->settings.admitted, config->settings.admitted_count, &who->ip)
            : NULL;
    who->is_refused = config->settings.is_restricted && !network;
    who->has_network = network != NULL;
    if (network) {
        who->network = *network;
    }
}

void explain_who_recursion(const struct engine_config *config, struct explain_who *who)
{
    if (who->identity == EXPLAIN_ANYBODY) {
        return;
    }
    const struct network *network = find_network(config->allowed, config->allowed_count, &who->ip);
    who->recursion = config->allows_all ? EXPLAIN_RECURSION_FOR_ALL
                     : network          ? EXPLAIN_RECURSION_ALLOWED_BY
                                        : EXPLAIN_RECURSION_REFUSED;
    if (network) {
        who->recursion_network = *network;
    }
}

int explain_who(const struct engine_config *config, const char *address, struct explain_who *ret,
                struct err *err)
{
    *ret = (struct explain_who){.identity = EXPLAIN_ANYBODY};
    if (!address || !*address) {
        return 0;
    }
    struct ip ip;
    if (!ip_parse(slice_str(address), &ip)) {
        return err_set(err, ERR_USAGE, "client `%s`: expected an address like 10.1.0.7", address);
    }
    const struct addr addr = addr_of_ip(&ip, 0);
    ret->ip = addr_ip(&addr); /* as of a query */
    ret->identity = identify(config, ret);
    ret->view.visibility = config->visibility;
    admit(config, ret);
    ret->rate = config->settings.rate;
    ret->burst = config->settings.rate_burst;
    return 0;
}

/* The namespace that a name of ours is in; len 0: none. */
static struct slice space_of(const struct engine_config *config, const struct dname *name)
{
    struct dname_labels labels;
    const struct engine_zone *zone = engine_config_zone(config, name);
    dname_labels(name, &labels);
    unsigned depth = zone ? labels.count - zone->labels : 0;
    if (depth < 2 ||
        kube_tree_of(dname_label(name, labels.offsets[depth - 1])) == KUBE_TREE_OTHER) {
        return slice_of("", 0);
    }
    return dname_label(name, labels.offsets[depth - 2]);
}

void explain_who_hidden(const struct view *view, const struct dname *name, struct explain_who *who)
{
    struct dname hidden = *name;
    if (!view->visibility) {
        return;
    }
    if (view->store && view_hides_record(view, name)) { /* a reverse name: where it points */
        const struct store_node *node = store_find(view->store, name, NULL);
        (void)store_record_host_name(store_node_record(node), &hidden); /* it is one */
        dname_lower(&hidden);
    } else if (view_part_of(view, name) != VIEW_NONE) {
        return;
    }
    struct slice space = space_of(view->config, &hidden);
    who->hidden_len = space.len;
    memcpy(who->hidden, space.ptr, space.len);
}
