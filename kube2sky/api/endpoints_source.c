#include "kube2sky/api/endpoints_source.h"

#include <stddef.h>

/* Kubernetes 1.17 to 1.24. */
static const struct kube_resource slices_v1beta1 = {
    .kind = KUBE_SLICE,
    .group_path = "/apis/discovery.k8s.io/v1beta1",
    .name = "endpointslices",
};

enum { FORBIDDEN = 403, NOT_FOUND = 404 };

const struct kube_resource *endpoints_source_first(enum endpoints_mode mode)
{
    return kube_resource_of(mode == ENDPOINTS_ENDPOINTS ? KUBE_ENDPOINTS : KUBE_SLICE);
}

const struct kube_resource *endpoints_source_instead(enum endpoints_mode mode,
                                                     const struct kube_resource *resource,
                                                     int status)
{
    bool is_first = resource == kube_resource_of(KUBE_SLICE);
    if (mode == ENDPOINTS_AUTO && is_first && (status == FORBIDDEN || status == NOT_FOUND)) {
        return kube_resource_of(KUBE_ENDPOINTS);
    }
    if (mode == ENDPOINTS_SLICES && is_first && status == NOT_FOUND) {
        return &slices_v1beta1;
    }
    return NULL;
}
