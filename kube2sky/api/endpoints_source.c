#include "kube2sky/api/endpoints_source.h"

#include <stddef.h>

/* Kubernetes 1.17 to 1.24 serve this version. */
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

bool endpoints_source_is_refusal(int status)
{
    return status == FORBIDDEN || status == NOT_FOUND;
}

bool endpoints_source_is_absence(int status)
{
    return status == NOT_FOUND;
}

const struct kube_resource *endpoints_source_instead(enum endpoints_mode mode,
                                                     const struct endpoints_refusal *refusal)
{
    const struct kube_resource *slices = kube_resource_of(KUBE_SLICE);
    if (refusal->resource != slices || !endpoints_source_is_refusal(refusal->status)) {
        return NULL;
    }
    if (mode == ENDPOINTS_AUTO) {
        bool is_outage = refusal->listed == slices && refusal->lasts_ms < refusal->timeout_ms;
        return is_outage ? NULL : kube_resource_of(KUBE_ENDPOINTS);
    }
    return mode == ENDPOINTS_SLICES && endpoints_source_is_absence(refusal->status)
               ? &slices_v1beta1
               : NULL;
}

bool endpoints_source_is_second_choice(enum endpoints_mode mode, const struct kube_resource *listed)
{
    return mode == ENDPOINTS_AUTO && listed == kube_resource_of(KUBE_ENDPOINTS);
}

bool endpoints_source_is_settled(enum endpoints_mode mode, const struct kube_resource *before,
                                 const struct kube_resource *listed, int status)
{
    if (endpoints_source_is_second_choice(mode, listed)) {
        return endpoints_source_is_absence(status);
    }
    return !before || before->kind == listed->kind;
}
