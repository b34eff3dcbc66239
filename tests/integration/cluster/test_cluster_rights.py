"""The cluster of these tests itself."""

import pytest
from kube import KubeError

pytestmark = pytest.mark.cluster


def test_kube2sky_may_do_what_the_manifest_says_and_no_more(cluster):
    kube = cluster.connect(cluster.request_token())
    for path in ("/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices"):
        assert kube.request("GET", path)["items"]
    for method, path in (("GET", "/api/v1/pods"), ("GET", "/api/v1/nodes"), ("DELETE", "/api/v1/services")):
        with pytest.raises(KubeError) as refused:
            kube.request(method, path)
        assert refused.value.status == 403
    assert {"services", "endpointslices", "pods"} <= {one["objectRef"]["resource"] for one in cluster.audit()}
