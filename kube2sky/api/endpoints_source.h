/* Chooses the source of headless Services' endpoints: EndpointSlices or Endpoints. Slices hold more
 * than Endpoints can (over a thousand addresses, both families). But Kubernetes 1.20 and older do
 * not serve v1, and roles written for kube2sky 1.15 do not permit them.
 *
 * A 404 says that the server has no slices: real servers install their API groups before they
 * accept a connection. A 403 proves less, since a server that has just started sends it until its
 * RBAC is warm. So once slices have been listed, a refusal of either kind is an outage like any
 * other, and Endpoints replace them only when it has lasted for minutes. Otherwise Endpoints are
 * followed at once. Slices are probed again as soon as Endpoints are watched, whose permission
 * shows that the RBAC is warm, then every minute and before each list. The reflector asks whenever
 * slices are refused.
 *
 * While the source is not settled, endpoints that it lacks may still exist elsewhere, and deletes
 * wait (inventory.h). With ENDPOINTS_AUTO:
 *
 *     slices      never listed, or refused for minutes    while Endpoints are followed
 *     404         Endpoints, settled with their list      settled at once
 *     403         Endpoints, not settled                  settled a minute after they were chosen
 *     200         slices, settled with their list         slices, settled a minute later; at once
 *                                                         if Endpoints were not settled
 *     otherwise   no Endpoints; slices again              nothing changes
 *
 * A settled source stays settled until another one replaces it. A wrong 404, from a balancer in
 * front of servers of several versions, deletes the keys that only slices have, until the next
 * probe. Another version of the same objects is as settled as the one before.
 *
 * A reflector of KUBE_ENDPOINTS owns its switch (endpoints_source_internal.h). */
#ifndef KUBE2SKY_API_ENDPOINTS_SOURCE_H
#define KUBE2SKY_API_ENDPOINTS_SOURCE_H

enum endpoints_mode {
    ENDPOINTS_AUTO,   /* v1 slices if served and permitted, else Endpoints */
    ENDPOINTS_SLICES, /* v1 slices, else v1beta1 */
    ENDPOINTS_ENDPOINTS,
};

/* The values of the flag, in the enum's order. */
#define ENDPOINTS_MODE_CHOICES "auto|slices|endpoints"

#endif
