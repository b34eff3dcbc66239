"""A namespace with some of everything, which tests change while the API server is away or refuses something. All of
them use the same: what is known of a namespace that is being deleted would be of different moments, while only one kind
can be followed.
"""

from asking import PATIENCE_S
from checks import ClusterBed
from kube import headless, port, service
from programs import wait_until
from records import SVC
from workloads import deployment

KINDS = ("services", "endpointslices")
_NAMESPACE = "shop"
_BASE = f"{_NAMESPACE}.svc.cluster.local"
_PREFIX = f"{SVC}/{_NAMESPACE}/"
_PORT = port(80, "http")
_SERVICES = 4
_PODS = 6


class Shop:
    """Services web-0 to web-3, and a headless Service of a Deployment's Pods."""

    def __init__(self, dns: ClusterBed):
        self.dns = dns
        self._next = 0
        dns.wait_alone()
        if dns.kube.send("GET", dns.kube.path("namespaces", name=_NAMESPACE), None, {})[0] == 200:
            self._clean()
        else:
            self._create()
        for _ in range(_SERVICES):
            self.add()
        dns.wait_endpoints("pods", _NAMESPACE, _PODS)

    def _create(self) -> None:
        kube = self.dns.kube
        kube.create_namespace(_NAMESPACE)
        kube.create("services", headless("pods", _PORT, namespace=_NAMESPACE, selector={"app": "pods"}))
        kube.create("deployments", deployment("pods", _NAMESPACE, _PODS))

    def _clean(self) -> None:
        """After an earlier test."""
        for item in self.dns.kube.request("GET", self.dns.kube.path("services", _NAMESPACE))["items"]:
            if item["metadata"]["name"] != "pods":
                self.dns.kube.delete("services", item["metadata"]["name"], _NAMESPACE)
        self.scale(_PODS)

    def asked(self):
        """Also for Services to come."""
        names = [f"web-{number}.{_BASE}" for number in range(2 * _SERVICES)]
        return self.dns.asked(*((name, "A") for name in names), (f"pods.{_BASE}", "A"), (f"pods.{_BASE}", "SRV"))

    # ---- Changes ----

    def add(self) -> None:
        """One more Service."""
        self.dns.kube.create("services", service(f"web-{self._next}", _PORT, namespace=_NAMESPACE))
        self._next += 1

    def remove(self, number: int) -> None:
        self.dns.kube.delete("services", f"web-{number}", _NAMESPACE)

    def lose(self, number: int) -> None:
        """In the API's etcd: as by another API server, while this one is away."""
        key = f"/registry/services/specs/{_NAMESPACE}/web-{number}"
        assert self.dns.cluster.etcd.get_prefix(key)
        self.dns.cluster.etcd.delete(key)

    def scale(self, count: int) -> None:
        self.dns.kube.patch("deployments", "pods", {"spec": {"replicas": count}}, _NAMESPACE)

    def change(self, gone: int, pods: int) -> None:
        """A Service goes, one comes, and there are so many Pods."""
        self.remove(gone)
        self.add()
        self.scale(pods)
        self.dns.wait_endpoints("pods", _NAMESPACE, pods)

    # ---- What kube2sky knows ----

    def objects(self) -> dict[str, list[dict]]:
        return {kind: self.dns.kube.items(kind) for kind in KINDS}

    def keys(self) -> dict[str, str]:
        """Of the namespace, in etcd."""
        return self.dns.etcd.values(_PREFIX)

    def wait_away(self, why: str, since: int, kinds: tuple[str, ...] = KINDS) -> None:
        for kind in kinds:
            self.dns.kube2sky.wait_line(rf"API cannot be followed, retrying .*kind={kind}\b.*{why}", since, PATIENCE_S)

    def wait_known(self, objects: dict[str, list[dict]]) -> None:
        """Until etcd has the keys of these objects; while queries are answered, it stays so."""
        right = {key: text for key, text in self.dns.model.keys(objects).items() if key.startswith(_PREFIX)}
        wait_until(lambda: self.keys() == right, "the keys of what is known", PATIENCE_S)
        self.dns.load.wait_sent(1000)
        assert self.keys() == right
