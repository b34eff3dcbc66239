/* Says which Service an Ingress or a route leads to, and which names a route has at a Gateway. The
 * rules come from --ingress and --gateway. PURE; single-threaded.
 *
 *     nginx=infra/ingress-nginx          hosts of Ingresses of the class nginx are names of the
 *                                        Service ingress-nginx in the namespace infra
 *     infra/public=infra/envoy           likewise HTTPRoutes that the Gateway public accepts
 *
 * By the Gateway API, a route's name at a listener is the narrower one of both host names. If only
 * one of the two has a host name, that counts; `*.example.com` contains all names below
 * example.com.
 */
#ifndef KUBE2SKY_NAMING_ROUTE_RULES_H
#define KUBE2SKY_NAMING_ROUTE_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"

/* Bounds the rules of each kind; a cluster has a few. */
enum { ROUTE_RULES_MAX = 64 };

struct route_rule {
    struct slice from;   /* a class, or "infra/public"; borrowed, as is the rest */
    struct slice ns;     /* the Gateway's; empty for a class */
    struct slice target; /* "infra/envoy" */
};

struct route_rules {
    struct route_rule classes[ROUTE_RULES_MAX];
    struct route_rule gateways[ROUTE_RULES_MAX];
    size_t class_count;
    size_t gateway_count;
};

/* Add the value of --ingress, or of --gateway, borrowed for good. The Service must be in one of
 * `namespaces`, or, with none given, in any. A failure says what was expected. */
int route_rules_add_class(struct route_rules *rules, const char *text,
                          const char *const *namespaces, size_t namespace_count,
                          struct err *err) MUST_CHECK;
int route_rules_add_gateway(struct route_rules *rules, const char *text,
                            const char *const *namespaces, size_t namespace_count,
                            struct err *err) MUST_CHECK;

/* Returns the rule of the Ingress's class; NULL: none. */
const struct route_rule *route_rules_of_ingress(const struct route_rules *rules,
                                                const struct kube_object *ingress);

/* Returns whether one of the route's parents is the rule's Gateway. */
bool route_rule_has_parent(const struct route_rule *rule, const struct kube_object *route);

/* Calls fn for each name of the route at that Gateway, for the same name perhaps several times.
 * Names are borrowed from the objects. */
void route_rule_names(const struct route_rule *rule, const struct kube_object *route,
                      const struct kube_object *gateway, void (*fn)(void *data, struct slice name),
                      void *data);

#endif
