/* The source of headless Services' endpoints: EndpointSlices or Endpoints. Slices hold what
 * Endpoints cannot (over a thousand addresses, both families), but Kubernetes 1.20 and older do not
 * serve v1, and roles written for the old program do not permit them.
 *
 * A 404 says that the server has no slices: real servers install their API groups before they
 * accept a connection. A 403 proves less, since a server that has just started gives it until its
 * RBAC is warm. So once slices have been listed, a refusal of either kind is an outage like any
 * other, and Endpoints take their place only when it has lasted for minutes. Otherwise Endpoints
 * are followed at once. Slices are tried again as soon as Endpoints are watched, whose permission
 * shows that the RBAC is warm, then every minute and before each list. The reflector asks whenever
 * slices are refused.
 *
 * While the source is not settled, what it lacks may still exist elsewhere, and deletes wait
 * (inventory.h). With ENDPOINTS_AUTO:
 *
 *     slices      never listed, or refused for minutes    while Endpoints are followed
 *     404         Endpoints, settled with their list      settled at once
 *     403         Endpoints, not settled                  settled a minute after they were chosen
 *     200         slices, settled with their list         slices, settled a minute later; at once
 *                                                         if Endpoints were not settled
 *     otherwise   no Endpoints; slices again              nothing changes
 *
 * A source once settled stays so until another one takes its place. A 404 that was wrong (a
 * balancer in front of servers of several versions) loses the keys of what only slices have, until
 * the next trial. Another version of the same objects is as settled as the one before. Pure. */
#ifndef KUBE2SKY_API_ENDPOINTS_SOURCE_H
#define KUBE2SKY_API_ENDPOINTS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "kube2sky/api/kube_client.h"

enum endpoints_mode {
    ENDPOINTS_AUTO,   /* v1 slices if served and permitted, else Endpoints */
    ENDPOINTS_SLICES, /* v1 slices, else v1beta1 */
    ENDPOINTS_ENDPOINTS,
};

/* As the values of a flag, in the enum's order. */
#define ENDPOINTS_MODE_CHOICES "auto|slices|endpoints"

struct endpoints_refusal {
    const struct kube_resource *resource; /* the one refused */
    int status;                           /* HTTP */
    const struct kube_resource *listed;   /* the one last listed completely; NULL: none */
    int64_t lasts_ms;                     /* since the first such refusal in a row */
    int64_t timeout_ms;                   /* how long it counts as an outage */
};

/* Constants. The resource to list first, and the one to fall back to. NULL: no fallback, the status
 * is an ordinary error. */
const struct kube_resource *endpoints_source_first(enum endpoints_mode mode);
const struct kube_resource *endpoints_source_instead(enum endpoints_mode mode,
                                                     const struct endpoints_refusal *refusal);

/* 403 or 404. And: the server does not have it. */
bool endpoints_source_is_refusal(int status);
bool endpoints_source_is_absence(int status);

/* Whether the source is settled with its first list. before: the settled source until now; NULL:
 * none. status: the refusal of slices that led to it; 0: none. */
bool endpoints_source_is_settled(enum endpoints_mode mode, const struct kube_resource *before,
                                 const struct kube_resource *listed, int status);

/* What was listed is only in the place of slices. */
bool endpoints_source_is_second_choice(enum endpoints_mode mode,
                                       const struct kube_resource *listed);

#endif
