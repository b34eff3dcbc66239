/* The source of headless Services' endpoints: EndpointSlices or Endpoints. Slices hold what
 * Endpoints cannot (over a thousand addresses, both families), but Kubernetes 1.20 and older do not
 * serve v1, and roles written for the old program do not permit them. The reflector asks at the
 * start of each list. Pure. */
#ifndef KUBE2SKY_API_ENDPOINTS_SOURCE_H
#define KUBE2SKY_API_ENDPOINTS_SOURCE_H

#include "kube2sky/api/kube_client.h"

enum endpoints_mode {
    ENDPOINTS_AUTO,   /* v1 slices if served and permitted, else Endpoints */
    ENDPOINTS_SLICES, /* v1 slices, else v1beta1 */
    ENDPOINTS_ENDPOINTS,
};

/* As the values of a flag, in the enum's order. */
#define ENDPOINTS_MODE_CHOICES "auto|slices|endpoints"

/* Constants. The resource to list first, and the one to fall back to after this HTTP status. NULL:
 * no fallback, the status is an ordinary error. */
const struct kube_resource *endpoints_source_first(enum endpoints_mode mode);
const struct kube_resource *endpoints_source_instead(enum endpoints_mode mode,
                                                     const struct kube_resource *resource,
                                                     int status);

#endif
