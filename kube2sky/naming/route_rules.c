#include "kube2sky/naming/route_rules.h"

#include <string.h>

#include "common/dns/dname.h"

/* How much of a wrong value an error shows. */
enum { SHOWN_MAX = 100 };

/* DNS-1123 subdomain: the API's limit of names. */
enum { ROUTE_NAME_MAX = 253 };

/* ---- The flags ---- */

static bool is_lower_label(struct slice text)
{
    return dname_is_host_label(text) && !slice_has_capitals(text);
}

static bool is_route_name(struct slice text)
{
    return text.len <= ROUTE_NAME_MAX && dname_is_host(text) && !slice_has_capitals(text);
}

/* Splits "infra/envoy" into "infra" and "envoy". Returns false if there is no slash. */
static bool split_route_name(struct slice text, struct slice *ret_ns, struct slice *ret_name)
{
    const size_t len = text.len;
    *ret_ns = slice_cut(&text, '/');
    *ret_name = text;
    return ret_ns->len < len;
}

/* Returns whether it may be a class: any word, as the old annotation kubernetes.io/ingress.class
 * allows. */
static bool is_route_class(struct slice text)
{
    bool is = text.len > 0 && text.len <= ROUTE_NAME_MAX;
    for (size_t i = 0; i < text.len && is; i++) {
        is = text.ptr[i] > ' ' && text.ptr[i] < 0x7f;
    }
    return is;
}

static int add_route_rule(struct route_rule *rules, size_t *count, const struct route_rule *rule,
                          struct err *err)
{
    for (size_t i = 0; i < *count; i++) {
        if (slice_equal(rules[i].from, rule->from)) {
            return err_set(err, ERR_USAGE, "`%.*s`: expected it once", (int)rule->from.len,
                           rule->from.ptr);
        }
    }
    if (*count == ROUTE_RULES_MAX) {
        return err_set(err, ERR_USAGE, "expected at most %d", ROUTE_RULES_MAX);
    }
    rules[(*count)++] = *rule;
    return 0;
}

static int parse_route_rule(const char *text, bool is_class, const char *const *namespaces,
                            size_t namespace_count, struct route_rule *rule, struct err *err)
{
    const char *equals = strrchr(text, '=');
    struct slice ns, name;
    rule->from = slice_of(text, equals ? (size_t)(equals - text) : 0);
    rule->ns = slice_of(NULL, 0);
    rule->target = slice_str(equals ? equals + 1 : "");
    bool is_target =
        split_route_name(rule->target, &ns, &name) && is_lower_label(ns) && is_lower_label(name);
    bool is_from = is_class ? is_route_class(rule->from)
                            : split_route_name(rule->from, &rule->ns, &name) &&
                                  is_lower_label(rule->ns) && is_route_name(name);
    if (!is_target || !is_from) {
        return err_set(err, ERR_USAGE, "`%.*s`: expected %s", SHOWN_MAX, text,
                       is_class ? "CLASS=NAMESPACE/SERVICE like nginx=infra/ingress-nginx"
                                : "NAMESPACE/GATEWAY=NAMESPACE/SERVICE like "
                                  "infra/public=infra/envoy");
    }
    if (namespace_count && !slice_is_among(ns, namespaces, namespace_count)) {
        return err_set(err, ERR_USAGE, "`%.*s`: expected a Service in one of -namespaces",
                       SHOWN_MAX, text);
    }
    return 0;
}

int route_rules_add_class(struct route_rules *rules, const char *text,
                          const char *const *namespaces, size_t namespace_count, struct err *err)
{
    struct route_rule rule;
    int r = parse_route_rule(text, true, namespaces, namespace_count, &rule, err);
    return r < 0 ? r : add_route_rule(rules->classes, &rules->class_count, &rule, err);
}

int route_rules_add_gateway(struct route_rules *rules, const char *text,
                            const char *const *namespaces, size_t namespace_count, struct err *err)
{
    struct route_rule rule;
    int r = parse_route_rule(text, false, namespaces, namespace_count, &rule, err);
    return r < 0 ? r : add_route_rule(rules->gateways, &rules->gateway_count, &rule, err);
}

/* ---- Ingresses ---- */

const struct route_rule *route_rules_of_ingress(const struct route_rules *rules,
                                                const struct kube_object *ingress)
{
    struct slice class = slice_str(ingress->ingress.class);
    size_t i = 0;
    while (i < rules->class_count && !slice_equal(rules->classes[i].from, class)) {
        i++;
    }
    return i < rules->class_count ? &rules->classes[i] : NULL;
}

/* ---- Routes ---- */

static bool is_rule_parent(const struct route_rule *rule, const struct kube_object *route,
                           const struct kube_parent *parent)
{
    struct slice ns, name;
    (void)split_route_name(rule->from, &ns, &name);
    return slice_equal(slice_str(*parent->ns ? parent->ns : route->ns), ns) &&
           slice_equal(slice_str(parent->name), name);
}

bool route_rule_has_parent(const struct route_rule *rule, const struct kube_object *route)
{
    bool has = false;
    for (size_t i = 0; i < route->route.parent_count && !has; i++) {
        has = is_rule_parent(rule, route, &route->route.parents[i]);
    }
    return has;
}

/* Returns whether `wide` contains all names of `narrow`; either is a name or a wildcard. */
static bool is_host_within(struct slice narrow, struct slice wide)
{
    bool is_wildcard = slice_has_prefix(wide, slice_str("*."));
    size_t end = wide.len - 1; /* ".example.com" of "*.example.com" */
    return slice_equal_nocase(narrow, wide) ||
           (is_wildcard && narrow.len > end &&
            slice_equal_nocase(slice_of(narrow.ptr + narrow.len - end, end),
                               slice_of(wide.ptr + 1, end)));
}

/* Returns the narrower host name; empty: they have no name in common. */
static struct slice common_host(struct slice host, struct slice listener)
{
    if (!listener.len || !host.len) {
        return listener.len ? listener : host;
    }
    return is_host_within(host, listener)   ? host
           : is_host_within(listener, host) ? listener
                                            : slice_of(NULL, 0);
}

static void names_at_listener(const struct kube_route *route, struct slice listener,
                              void (*fn)(void *data, struct slice name), void *data)
{
    for (size_t i = 0; i < route->hostname_count || i == 0; i++) {
        struct slice host = slice_str(route->hostname_count ? route->hostnames[i] : "");
        struct slice name = common_host(host, listener);
        if (name.len) {
            fn(data, name);
        }
    }
}

void route_rule_names(const struct route_rule *rule, const struct kube_object *route,
                      const struct kube_object *gateway, void (*fn)(void *data, struct slice name),
                      void *data)
{
    for (size_t i = 0; i < route->route.parent_count; i++) {
        const struct kube_parent *parent = &route->route.parents[i];
        bool is_here = is_rule_parent(rule, route, parent);
        for (size_t j = 0; j < gateway->gateway.listener_count && is_here; j++) {
            const struct kube_listener *listener = &gateway->gateway.listeners[j];
            bool is_section = !*parent->section || strcmp(parent->section, listener->name) == 0;
            bool is_port = !parent->port || parent->port == listener->port;
            if (is_section && is_port) {
                names_at_listener(&route->route, slice_str(listener->hostname), fn, data);
            }
        }
    }
}
