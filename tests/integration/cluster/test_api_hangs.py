"""One of two API servers behind a balancer hangs: its connections stay, and nothing comes over them."""

import json
import signal
import time
from pathlib import Path

import pytest
from api_balancer import ApiBalancer
from kube import service
from programs import reserve_port
from records import SVC
from watched import Watched

pytestmark = pytest.mark.cluster

# From the last byte until the changes are seen.
_SEEN_MAX_S = 45.0


@pytest.fixture
def balanced(idle_dns, tmp_path):
    """The bed, whose kube2sky goes through a balancer to the cluster's API server; the balancer; and the port of a
    second API server beside the first.
    """
    cluster, port = idle_dns.cluster, reserve_port()
    second = cluster.second_apiserver(port)
    own = cluster.kube2sky_flags()
    with ApiBalancer(reserve_port(), [int(cluster.url.rsplit(":", 1)[1])]) as balancer:
        config = json.loads(Path(own[0].split("=", 1)[1]).read_text())
        config["clusters"][0]["cluster"]["server"] = balancer.url
        (tmp_path / "balanced.kubeconfig").write_text(json.dumps(config))
        flags = [f"--kubecfg-file={tmp_path}/balanced.kubeconfig", *idle_dns.kube_flags[len(own) :]]
        idle_dns.use_kube(idle_dns.kube, flags)
        try:
            yield idle_dns, balancer, port
        finally:
            second.kill()


def test_a_server_that_hangs(cluster, balanced):
    dns, balancer, port = balanced
    dns.start()
    kube2sky = Watched(dns.kube2sky, dns.readiness_port, "kube2sky_")
    other = cluster.connect(port=port)
    first, balancer.ports = cluster.programs["kube-apiserver"], [port]
    first.signal(signal.SIGSTOP)
    began_s = time.monotonic()
    try:
        other.create("services", service("after-the-hang"))
        dns.kube2sky.wait_ready(lambda: kube2sky.metrics().get("api_up", kind="services") == 0, "doubt", _SEEN_MAX_S)
        doubted_s = time.monotonic() - began_s
        assert "does not answer" in kube2sky.wait_strict(503)
        dns.kube2sky.wait_ready(lambda: dns.etcd.values(f"{SVC}/default/after-the-hang/"), "the Service", _SEEN_MAX_S)
        seen_s = time.monotonic() - began_s
        print(f"in doubt after {doubted_s:.1f} s, seen after {seen_s:.1f} s")
        assert seen_s < _SEEN_MAX_S
    finally:
        first.signal(signal.SIGCONT)
        other.delete("services", "after-the-hang")
