/* Where the endpoints of headless Services come from: EndpointSlices or Endpoints. Slices carry
 * what Endpoints cannot (a thousand addresses, both families), but 1.20 and older do not serve them
 * in v1, and roles written for the old program do not permit them. Asked by the reflector at the
 * beginning of each list. Pure. */
#ifndef KUBE2SKY_API_ENDPOINTS_SOURCE_H
#define KUBE2SKY_API_ENDPOINTS_SOURCE_H

#include "kube2sky/api/kube_client.h"

enum endpoints_mode {
    ENDPOINTS_AUTO,   /* slices of v1 where served and permitted, else Endpoints */
    ENDPOINTS_SLICES, /* slices of v1, else of v1beta1 */
    ENDPOINTS_ENDPOINTS,
};

/* The same as the values of a flag, in the enum's order. */
#define ENDPOINTS_MODE_CHOICES "auto|slices|endpoints"

/* Constants. What to list first; and what instead of a resource for which the server's answer was
 * this HTTP status. NULL: the answer is an error like any other. */
const struct kube_resource *endpoints_source_first(enum endpoints_mode mode);
const struct kube_resource *endpoints_source_instead(enum endpoints_mode mode,
                                                     const struct kube_resource *resource,
                                                     int status);

#endif
