/* Says which Ingresses and routes lead to which Service: --ingress and --gateway; and the names
 * that a route has at a Gateway. PURE; single-threaded.
 *
 *     nginx=infra/ingress-nginx          hosts of Ingresses of the class nginx are names of the
 *                                        Service ingress-nginx in the namespace infra
 *     infra/public=infra/envoy           likewise HTTPRoutes that the Gateway public accepts
 *
 * A route's name at a listener is the narrower one of both host names, by the Gateway API: one
 * without a host name takes the other's, and `*.example.com` has all names below example.com. */
#ifndef KUBE2SKY_NAMING_ROUTE_RULES_H
#define KUBE2SKY_NAMING_ROUTE_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"

/* Rules of each kind; a cluster has a few. */
enum { ROUTE_RULES_MAX = 64 };

struct route_rule {
    struct slice from;   /* a class, or "infra/public"; borrowed, as is the rest */
    struct slice ns;     /* of the Gateway; of a class empty */
    struct slice target; /* "infra/envoy" */
};

struct route_rules {
    struct route_rule classes[ROUTE_RULES_MAX];
    struct route_rule gateways[ROUTE_RULES_MAX];
    size_t class_count;
    size_t gateway_count;
};

/* Add the value of --ingress, or of --gateway, borrowed for good. namespaces: those that may have
 * the Service; none: all. A failure says what was expected. */
int route_rules_add_class(struct route_rules *rules, const char *text,
                          const char *const *namespaces, size_t namespace_count,
                          struct err *err) MUST_CHECK;
int route_rules_add_gateway(struct route_rules *rules, const char *text,
                            const char *const *namespaces, size_t namespace_count,
                            struct err *err) MUST_CHECK;

/* The rule of the Ingress's class; NULL: none. */
const struct route_rule *route_rules_of_ingress(const struct route_rules *rules,
                                                const struct kube_object *ingress);

/* Whether the route has a parent that is the rule's Gateway. */
bool route_rule_has_parent(const struct route_rule *rule, const struct kube_object *route);

/* Calls fn for each name of the route at that Gateway; the same one perhaps several times. Names
 * are borrowed from the objects. */
void route_rule_names(const struct route_rule *rule, const struct kube_object *route,
                      const struct kube_object *gateway, void (*fn)(void *data, struct slice name),
                      void *data);

#endif
