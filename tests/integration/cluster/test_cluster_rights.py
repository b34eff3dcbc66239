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

    def requests(stage: str) -> Counter:
        """New ones of objects. A watch has one entry when it has begun, and one a moment after its client has gone."""
        new = [one for one in cluster.audit() if one["auditID"] not in known and one["stage"] == stage]
        of_objects = [one for one in new if "objectRef" in one]
        return Counter((one["verb"], one["objectRef"]["resource"], one["responseStatus"]["code"]) for one in of_objects)

    def wait_requests(stage: str, right: Counter) -> None:
        wait_until(lambda: requests(stage).total() >= right.total(), f"{right.total()} entries of {stage}")
        assert requests(stage) == right

    kinds = ("configmaps", "endpointslices", "services")
    once = Counter({("watch", kind, 200): 2 for kind in kinds})  # the list as events, and then the watch
    try:
        bed.start()
        # kube2sky is ready before: it has its lists, and begins the watches after them.
        wait_requests("ResponseStarted", once)
        bed.kube2sky.restart()
        wait_requests("ResponseStarted", once + once)
    finally:
        bed.close()
    wait_requests("ResponseComplete", once + once)
