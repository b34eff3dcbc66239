"""What kube2sky may ask of the API, and what it asks."""

from collections import Counter

import pytest
from checks import ClusterBed
from kube import KubeError
from programs import wait_until

pytestmark = pytest.mark.cluster


def test_kube2sky_may_do_what_the_manifest_says_and_no_more(cluster):
    kube = cluster.connect(cluster.request_token())
    for path in ("/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices"):
        assert kube.request("GET", path)["items"]
    for method, path in (("GET", "/api/v1/pods"), ("GET", "/api/v1/nodes"), ("DELETE", "/api/v1/services")):
        with pytest.raises(KubeError) as refused:
            kube.request(method, path)
        assert refused.value.status == 403
    asked = {one["objectRef"]["resource"] for one in cluster.audit() if "objectRef" in one}
    assert {"services", "endpointslices", "pods"} <= asked


def test_kube2sky_lists_each_kind_once_and_then_follows_it(cluster, tmp_path):
    bed = ClusterBed(tmp_path, cluster)
    known = {one["auditID"] for one in cluster.audit()}
    try:
        bed.start()
        bed.check_settled()  # a second one: the same requests again
    finally:
        bed.close()

    def requests() -> Counter:
        """Ended ones of objects, which a watch is when its client has gone, a moment later."""
        new = [one for one in cluster.audit() if one["auditID"] not in known and one["stage"] == "ResponseComplete"]
        of_objects = [one for one in new if "objectRef" in one]
        return Counter((one["verb"], one["objectRef"]["resource"], one["responseStatus"]["code"]) for one in of_objects)

    kinds = ("configmaps", "endpointslices", "services")
    right = {("watch", kind, 200): 4 for kind in kinds}  # the list as events, and then the watch
    wait_until(lambda: requests().total() >= sum(right.values()), "all requests in the log")
    assert requests() == right
