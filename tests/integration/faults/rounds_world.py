"""A small cluster at random, where names and addresses collide often, and what etcd must hold for it: model.py, with
the keys about clients and those of the ConfigMap beside it. For test_rounds.py.

The namespace `steady` never changes. Everybody else claims its addresses, too: what etcd holds of it must stay.
"""

import json

from kube import KubeError, endpoint, endpoint_slice, headless, node, pod, port, service
from model import Model, reverse_key
from records import SVC
from records import value as record
from test_config_map import DOCUMENT, STUB, config_map, document, stub
from test_kube_random import ADDRESSES, CLUSTER_IPS, Cluster

NAMESPACES = ["default", "team", "evil"]
BESIDE = "/kube2sky/cluster.local/"
HOST_IPS = ["10.5.0.1", "10.5.0.2"]
NODE_NAMES = ["n1", "n2", "a.n1", "b.c"]
VISIBLE_TO = [None, None, "*", "team,evil", ""]
STUBS = [{}, {"acme.test": ["10.7.0.1"]}, {"acme.test": ["10.7.0.2"], "b.test": ["10.7.0.3"]}]

# Of its pods; of machines that are no pods, whose names it only holds; and a cluster IP.
STEADY, STEADY_PODS, STEADY_FAR, STEADY_IP = "steady", ["10.8.0.1", "10.8.0.2"], ["10.8.1.1", "10.8.1.2"], "10.96.9.9"
# Its addresses are those of the others, and its ports too many.
BIG, BIG_PORTS = "evil/big", 1001
TOO_MANY = 100_000


class World(Cluster):
    def __init__(self, kube, seed: int, names: str, has_pods: bool):
        super().__init__(kube, seed)
        self.has_pods = has_pods
        self.model = Model(endpoint_names=names, has_pods=has_pods, has_nodes=True)
        self.is_big = False  # the last state of BIG had too many records
        self._annotations: dict[str, str | None] = {}
        self._map: dict | None = None
        self._put("nodes", node("always", "10.4.0.1"))
        for namespace in (*NAMESPACES, STEADY):
            if namespace != "default":
                kube.create_namespace(namespace)
        self._make_steady()
        self._changes += [self._node, self._host_pod, self._annotation, self._config_map]

    def _make_steady(self) -> None:
        for number, ip in enumerate(STEADY_PODS):
            self._put("pods", pod(f"p{number}", ip, namespace=STEADY))
        self._put("services", service("web", port(80, "http"), namespace=STEADY, clusterIP=STEADY_IP, clusterIPs=[STEADY_IP]))
        for name, ips in (("zz", STEADY_PODS), ("zzz", STEADY_FAR)):
            self._put("services", headless(name, port(80, "http"), namespace=STEADY))
            entries = [endpoint(ip, ready=True) for ip in ips]
            self._put("endpointslices", endpoint_slice(name, name, entries, port(80, "http"), namespace=STEADY))

    # ---- Changes ----

    def _place(self) -> tuple[str, str]:
        return self._random.choice(NAMESPACES), self._random.choice("abcd")

    def _slice(self) -> None:
        """Half of them as the others', half with addresses of the steady namespace."""
        if self._random.random() < 0.5:
            super()._slice()
            return
        namespace, owner = self._place()
        pool = STEADY_PODS + STEADY_FAR + [STEADY_IP] + CLUSTER_IPS
        entries = [
            endpoint(ip, hostname=self._random.choice(["", "a-0"]), ready=True) for ip in self._random.sample(pool, 5)
        ]
        name = f"slice-{self._random.randrange(4)}"
        self._put("endpointslices", endpoint_slice(name, owner, entries, *self._ports(), namespace=namespace))

    def _node(self) -> None:
        name = self._random.choice(NODE_NAMES)
        if not self._delete("nodes", "", name):
            self._put("nodes", node(name, *self._random.sample(HOST_IPS + ["fd00:5::1"], 2)))

    def _host_pod(self) -> None:
        namespace, name = self._random.choice(NAMESPACES), f"host-{self._random.randrange(3)}"
        if not self._delete("pods", namespace, name):
            value = pod(name, self._random.choice(HOST_IPS), namespace=namespace)
            value["spec"]["hostNetwork"] = True
            self._put("pods", value)

    def _annotation(self) -> None:
        name = self._random.choice(NAMESPACES[1:])
        self._annotations[name] = self._random.choice(VISIBLE_TO)
        self._kube.annotate_namespace(name, visible_to=self._annotations[name])

    def _config_map(self) -> None:
        stubs = self._random.choice(STUBS)
        value = config_map(stubDomains=json.dumps(stubs))
        try:
            self._kube.replace("configmaps", value)
        except KubeError as error:
            assert error.status == 404
            self._kube.create("configmaps", value)
        self._map = stubs

    def toggle_big(self) -> None:
        """With too many records its keys stay as they are, whatever else it has or claims."""
        namespace, name = BIG.split("/")
        self.is_big = not self.is_big
        ips = [*ADDRESSES[:6], *STEADY_PODS, *STEADY_FAR, *CLUSTER_IPS] if self.is_big else ADDRESSES[:2]
        count = TOO_MANY // BIG_PORTS + 1 if self.is_big else 2
        ips += [f"10.6.{n // 250}.{n % 250}" for n in range(count)]
        ports = [port(1 + n, f"p{n}") for n in range(BIG_PORTS if self.is_big else 2)]
        entries = [endpoint(ip, ready=True) for ip in ips if ":" not in ip]
        self._put("services", headless(name, namespace=namespace))
        self._put("endpointslices", endpoint_slice("big", name, entries, *ports, namespace=namespace))

    # ---- What etcd must hold ----

    def right(self) -> dict[str, str]:
        objects = self._objects()
        if self.is_big:
            objects["services"] = [s for s in objects["services"] if _id(s) != BIG]
        right = self.model.keys(objects)
        right |= {f"{BESIDE}visible/{name}": text for name, text in self._annotations.items() if text is not None}
        for one in objects["pods"] if self.has_pods else []:
            if one["spec"].get("hostNetwork"):
                ip = one["status"]["podIP"]
                right[f"{BESIDE}node-address/{ip.replace('.', '-')}"] = f'{{"host":"{ip}"}}'
        stubs = {}
        for zone, hosts in (self._map or {}).items():
            for host in hosts:
                stubs |= stub(zone, host)
        return right | stubs | (document(stubs) if stubs else {})

    def _objects(self) -> dict[str, list[dict]]:
        """Lists anew when a page has expired, which is one of the faults."""
        while True:
            try:
                return self._kube.objects()
            except KubeError as error:
                assert error.status == 410, error

    def covers(self, key: str) -> bool:
        if self.is_big and key.startswith(f"{SVC}/{BIG}/"):
            return False
        about_clients = (f"{BESIDE}visible/", f"{BESIDE}node-address/")
        return self.model.covers(key) or key.startswith((STUB, *about_clients)) or key == DOCUMENT

    def is_bigs(self, key: str, text: str) -> bool:
        """A reverse key that BIG had before it had too many records."""
        return self.is_big and key.startswith("/skydns/arpa/") and ".big.evil." in text

    def steady_keys(self) -> dict[str, str]:
        """The reverse names that nobody may take, ever; of its machines' addresses only while etcd keeps its data."""
        return {reverse_key(ip): "" for ip in (*STEADY_PODS, *STEADY_FAR, STEADY_IP)}


def difference(world: World, right: dict[str, str], stored: dict[str, str], foreign: dict[str, str]) -> dict[str, tuple]:
    """key -> (wanted, stored), None: absent. foreign: keys that another cluster wrote, which stay."""
    right = world.model.adopt(right, stored) | foreign
    keys = {key for key in (*right, *stored) if world.covers(key)}
    wrong = {key: (right.get(key), stored.get(key)) for key in keys if right.get(key) != stored.get(key)}
    return {key: pair for key, pair in wrong.items() if not _is_excused(world, key, *pair)}


def _is_excused(world: World, key: str, wanted: str | None, stored: str | None) -> bool:
    """BIG keeps a name unless a cluster IP has the address, or only pods of other namespaces have."""
    if not stored or not world.is_bigs(key, stored):
        return False
    return world.model.may_hold(key, "evil")


def _id(item: dict) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


def orphan(number: int) -> dict[str, str]:
    """Keys as kube2sky writes them, of no object: they must go."""
    return {
        f"{SVC}/default/orphan{number}/h{number}": record("10.9.9.9"),
        f"/skydns/arpa/in-addr/10/9/9/{number}": record(f"h.orphan{number}.default.svc.cluster.local."),
    }
