"""A random cluster for the differential test: every kind and state of the objects that have names, and random changes to
them. Names and addresses come from small pools, so that they collide, go away and come back.

Most Pods have a scheduling gate, so that nothing runs them: their state is what is written here.
"""

import random
from collections.abc import Callable

from kube import Kube, KubeError, endpoint, endpoint_slice, headless, port, service

NAMESPACES = ["shop", "team-b", "10-9", "svc", "pod", "n" * 63, "empty-ns"]
SERVICES = [
    "web", "api", "db", "cache-1", "x9", "svc", "pod", "any", "kube-dns", "a-b-c", "mail", "queue", "long-" + "s" * 58,
]  # fmt: skip
HOSTNAMES = ["db-0", "db-1", "db-2", "0", "10-244-0-7", "web", "h" * 63]
# Targets of ExternalName: names of the nameserver (differential_outside.py), then some in the cluster.
OUTSIDE = [
    "www.ext.test", "six.ext.test", "both.ext.test", "alias.ext.test", "nodata.ext.test", "missing.ext.test",
    "broken.ext.test", "many.ext.test", "www.ext.test.",
]  # fmt: skip
INSIDE = [
    "cluster.local", "svc.cluster.local", "kubernetes.default.svc.cluster.local", "nope.shop.svc.cluster.local",
    "web.shop.svc.cluster.local", "db.shop.svc.cluster.local", "nope.cluster.local", "dns-version.cluster.local",
]  # fmt: skip
ODD = ["10.1.2.3", "localhost", "1.2.3.4.5", "xn--bcher-kva.ext.test"]
PORT_SETS = [
    [port(80)],
    [port(80, "http")],
    [port(80, "http"), port(443, "https")],
    [port(53, "dns", "UDP"), port(53, "dns-tcp", "TCP"), port(9153, "metrics")],
    [port(9, "sctp-a", "SCTP")],
    [port(5, "a", "TCP"), port(6, "a-2", "UDP"), port(7, "8080-tcp")],
    [port(1, "http"), port(2, "http2"), port(3, "n23456789012345", "UDP")],
]
V4 = [f"10.244.{net}.{n}" for net in (0, 1) for n in range(2, 22)]
V6 = [f"fd00:10:244::{n:x}" for n in range(2, 14)] + ["fd00:10:244:1::", "2001:db8:0:1:1:1:1:1", "fd00:1:2:3:4:5:6:7"]
CHAIN = 12  # Services that are aliases of each other, in a row
LARGE = 120  # endpoints: more than fit over UDP, and than there are weights

Made = list[tuple[str, dict]]  # resource, object


class World:
    """Writes to the cluster. node: where Pods run that controllers make endpoints of."""

    def __init__(self, kube: Kube, node: str, seed: int):
        self._kube, self._node, self._random = kube, node, random.Random(f"world {seed}")
        self._made: dict[tuple[str, str, str], dict] = {}  # by resource, namespace, name
        self._namespaces: list[str] = ["default"]
        self._number = 0
        self._kinds: list[Callable[[str, str], Made]] = [
            self._cluster_ip, self._cluster_ip, self._dual, self._typed, self._headless, self._headless, self._stateful,
            self._unready, self._external, self._external, self._inside_alias, self._selected, self._mirrored,
            self._names_slice, self._with_hostnames,
        ]  # fmt: skip

    # ---- The whole ----

    def build(self) -> None:
        for name in NAMESPACES:
            self._create_namespace(name)
        self._put_all(self._kube_dns())
        for kind in dict.fromkeys(self._kinds):  # each once at least, wherever
            self._place(kind)
        for namespace in self._namespaces:
            if namespace != "empty-ns":
                for name in self._random.sample(SERVICES, 8):
                    self._fill(namespace, name)
        self._put_all(self._chain())
        self._put_all(self._large())
        for _ in range(25):
            self._pod()

    def change(self, count: int) -> None:
        changes = 4 * [self._replace_service] + 3 * [self._change_slice] + 2 * [self._pod] + [self._drop_service]
        changes += [self._change_type]
        for _ in range(count):
            self._random.choice(changes)()
        self._delete_namespace(self._random.choice(self._namespaces[1:]))
        self._create_namespace(f"new-{self._next()}")
        self._place(self._random.choice(self._kinds))

    # ---- Requests ----

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _put_all(self, made: Made) -> None:
        for resource, value in made:
            meta = value["metadata"]
            if "status" in value:
                self._kube.put_pod(value)
            else:
                self._put(resource, value)
            self._made[resource, meta["namespace"], meta["name"]] = value

    def _put(self, resource: str, value: dict) -> None:
        try:
            self._kube.create(resource, value)
        except KubeError as error:  # the controller's Endpoints of a Service that was there before
            assert error.status == 409 and resource == "endpoints", error
            self._kube.replace(resource, value)

    def _delete(self, resource: str, namespace: str, name: str) -> None:
        self._made.pop((resource, namespace, name), None)
        try:
            self._kube.delete(resource, name, namespace)
        except KubeError as error:  # deleted with its owner
            assert error.status == 404, error

    def _create_namespace(self, name: str) -> None:
        self._kube.create_namespace(name)
        self._namespaces.append(name)

    def _delete_namespace(self, name: str) -> None:
        self._namespaces.remove(name)
        for key in [key for key in self._made if key[1] == name]:
            if key[0] == "pods":
                self._release_pod(*key[1:])
            del self._made[key]
        self._kube.delete("namespaces", name)

    # ---- Random parts ----

    def _ports(self) -> list[dict]:
        return self._random.choice(PORT_SETS)

    def _address(self, family: str) -> str:
        return self._random.choice(V4 if family == "IPv4" else V6)

    def _conditions(self) -> dict[str, bool]:
        ending = {"ready": False, "serving": True, "terminating": True}
        return self._random.choice([{}, {"ready": True}, {"ready": True}, {"ready": False}, ending])

    def _slice_ports(self, ports: list[dict]) -> list[dict]:
        """Those of the Service, or what nobody but a slice made by hand has."""
        chance = self._random.random()
        if chance < 0.7:
            return ports
        if chance < 0.8:
            return []
        if chance < 0.9:
            return [{"name": "any-port", "protocol": "TCP"}]  # without a number: all ports
        return [one | {"port": one["port"] + 8000} for one in ports if "port" in one]

    def _slice(
        self, namespace: str, owner: str, ports: list[dict], family: str, hostnames: list[str] = (), most: int = 4
    ) -> tuple[str, dict]:
        pool = self._random.sample(V4 if family == "IPv4" else V6, self._random.randint(0, most))
        entries = []
        for number, ip in enumerate(pool):
            hostname = hostnames[number] if number < len(hostnames) else ""
            pods = ["", f"{owner[:40]}-{self._random.randrange(10)}", "pod.with.dots"]
            name = self._random.choices(pods, [4, 8, 1])[0]
            one = endpoint(ip, hostname=hostname, pod=name, **self._conditions())
            if "targetRef" in one:
                one["targetRef"]["namespace"] = namespace
            entries.append(one)
        name = f"{owner}-{family.lower()}-{self._next()}"
        return "endpointslices", endpoint_slice(
            name, owner, entries, *self._slice_ports(ports), family=family, namespace=namespace
        )

    # ---- Kinds of Services ----

    def _cluster_ip(self, namespace: str, name: str) -> Made:
        ports = self._ports()
        more = self._random.choice([{}, {}, {"ipFamilies": ["IPv6"]}])
        made = [("services", service(name, *ports, namespace=namespace, **more))]
        family = more.get("ipFamilies", ["IPv4"])[0]
        return made + [self._slice(namespace, name, ports, family) for _ in range(self._random.randrange(2))]

    def _dual(self, namespace: str, name: str) -> Made:
        ports, families = self._ports(), self._random.sample(["IPv4", "IPv6"], 2)
        made = service(name, *ports, namespace=namespace, ipFamilyPolicy="RequireDualStack", ipFamilies=families)
        return [("services", made), self._slice(namespace, name, ports, families[1])]

    def _typed(self, namespace: str, name: str) -> Made:
        kind = self._random.choice(["NodePort", "LoadBalancer"])
        return [("services", service(name, *self._ports(), namespace=namespace, type=kind))]

    def _headless(self, namespace: str, name: str) -> Made:
        ports = self._random.choice([*PORT_SETS, []])
        made = headless(name, namespace=namespace, ipFamilyPolicy="PreferDualStack")
        made["spec"]["ports"] = ports
        families = self._random.choices(["IPv4", "IPv4", "IPv6"], k=self._random.randrange(4))
        return [("services", made)] + [self._slice(namespace, name, ports, family) for family in families]

    def _stateful(self, namespace: str, name: str) -> Made:
        ports, names = self._ports(), self._random.sample(HOSTNAMES, 4)
        made = [("services", headless(name, *ports, namespace=namespace))]
        return made + [self._slice(namespace, name, ports, family, names) for family in ("IPv4", "IPv6")]

    def _unready(self, namespace: str, name: str) -> Made:
        """publishNotReadyAddresses; the controller's slices say ready then, those of a hand need not."""
        ports = self._ports()
        made = headless(name, *ports, namespace=namespace, publishNotReadyAddresses=True)
        return [("services", made), self._slice(namespace, name, ports, "IPv4")]

    def _external(self, namespace: str, name: str) -> Made:
        target = self._random.choice([*OUTSIDE, *OUTSIDE, *ODD])
        made = service(name, namespace=namespace, type="ExternalName", externalName=target)
        made["spec"]["ports"] = self._random.choice([[], self._ports()])
        return [("services", made)]

    def _inside_alias(self, namespace: str, name: str) -> Made:
        own = f"{name}.{namespace}.svc.cluster.local"
        other = f"{self._random.choice(SERVICES)}.{self._random.choice(self._namespaces)}.svc.cluster.local"
        target = self._random.choice([*INSIDE, own, other, other, f"db-0.{other}"])
        made = service(name, namespace=namespace, type="ExternalName", externalName=target)
        del made["spec"]["ports"]
        return [("services", made)]

    def _selected(self, namespace: str, name: str) -> Made:
        """The controller makes its slices of Pods."""
        ports, label = self._ports(), f"app-{self._next()}"
        make = self._random.choice([service, headless])
        more = {"selector": {"app": label}, "publishNotReadyAddresses": self._random.random() < 0.3}
        made = [("services", make(name, *ports, namespace=namespace, **more))]
        for number in range(self._random.randint(0, 3)):
            value = self.pod(namespace, f"{label}-{number}")
            del value["spec"]["schedulingGates"], value["status"]
            value["metadata"]["labels"] = {"app": label}
            value["metadata"]["annotations"] = {"kwok.test/ready": self._random.choice(["true", "false"])}
            value["spec"]["nodeName"] = self._node
            if self._random.random() < 0.5:
                value["spec"] |= {"hostname": f"{name[:40]}-{number}", "subdomain": name}
            made.append(("pods", value))
        return made

    def _mirrored(self, namespace: str, name: str) -> Made:
        """Endpoints, which a controller mirrors into a slice."""
        addresses = self._random.sample(V4, 3)
        subset = {
            "addresses": [{"ip": addresses[0], "hostname": self._random.choice(HOSTNAMES)}, {"ip": addresses[1]}],
            "notReadyAddresses": [{"ip": addresses[2]}],
            "ports": [port(8080, "http")],
        }
        meta = {"name": name, "namespace": namespace}
        value = {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset]}
        return [("services", headless(name, port(80, "http"), namespace=namespace)), ("endpoints", value)]

    def _names_slice(self, namespace: str, name: str) -> Made:
        ports = self._ports()
        value = endpoint_slice(
            f"{name}-fqdn-{self._next()}", name, [endpoint("www.ext.test"), endpoint("both.ext.test")], *ports,
            family="FQDN", namespace=namespace,
        )  # fmt: skip
        return [("services", headless(name, *ports, namespace=namespace)), ("endpointslices", value)]

    def _with_hostnames(self, namespace: str, name: str) -> Made:
        """A Service with a cluster IP whose endpoints have names."""
        ports = self._ports()
        made = service(name, *ports, namespace=namespace)
        return [("services", made), self._slice(namespace, name, ports, "IPv4", self._random.sample(HOSTNAMES, 3))]

    # ---- Single objects ----

    def _kube_dns(self) -> Made:
        ports = [port(53, "dns", "UDP"), port(53, "dns-tcp"), port(9153, "metrics")]
        return [("services", service("kube-dns", *ports, namespace="kube-system", clusterIP="10.96.0.10"))]

    def _chain(self) -> Made:
        """link-0 leads to link-1, and so on; the last one leads to an address."""
        made = []
        for number in range(CHAIN):
            target = f"link-{number + 1}.shop" if number < CHAIN - 1 else "kubernetes.default"
            alias = {"type": "ExternalName", "externalName": f"{target}.svc.cluster.local"}
            made.append(service(f"link-{number}", namespace="shop", **alias))
        return [("services", value) for value in made]

    def _large(self) -> Made:
        entries = [endpoint(f"10.245.0.{n}") for n in range(1, LARGE + 1)]
        value = endpoint_slice("large-1", "large", entries, port(80, "http"), namespace="shop")
        return [("services", headless("large", port(80, "http"), namespace="shop")), ("endpointslices", value)]

    @staticmethod
    def pod(namespace: str, name: str, *ips: str, phase: str = "Running", is_ready: bool = True) -> dict:
        spec = {"schedulingGates": [{"name": "test/held"}], "containers": [{"name": "main", "image": "app"}]}
        status = {"phase": phase, "conditions": [{"type": "Ready", "status": str(is_ready)}]}
        if ips:
            status |= {"podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]}
        meta = {"name": name, "namespace": namespace}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}

    # ---- Changes ----

    def _place(self, kind: Callable[[str, str], Made]) -> None:
        namespace = self._random.choice([one for one in self._namespaces if one != "empty-ns"])
        self._put_all(kind(namespace, f"s-{self._next()}"))

    def _fill(self, namespace: str, name: str) -> None:
        self._put_all(self._random.choice(self._kinds)(namespace, name))

    def _some(self, resource: str) -> tuple[str, str] | None:
        """An object that was made, as (namespace, name)."""
        keys = [key[1:] for key in self._made if key[0] == resource]
        return self._random.choice(keys) if keys else None

    def _drop_service(self) -> None:
        """Its slices stay."""
        self._delete("services", *self._some("services"))

    def _replace_service(self) -> None:
        namespace, name = self._some("services")
        self._forget(namespace, name)
        self._fill(namespace, name)

    def _forget(self, namespace: str, name: str) -> None:
        """Deletes the Service and what was made for it."""
        for key in [key for key in self._made if key[1] == namespace and self._belongs(key, name)]:
            self._delete(*key)

    def _belongs(self, key: tuple[str, str, str], name: str) -> bool:
        return key[2] == name or key[0] == "endpointslices" and key[2].startswith(f"{name}-")

    def _change_slice(self) -> None:
        namespace, name = self._some("endpointslices")
        value = self._made["endpointslices", namespace, name]
        if value["addressType"] == "FQDN" or self._random.random() < 0.2:
            self._delete("endpointslices", namespace, name)
            return
        owner = value["metadata"]["labels"]["kubernetes.io/service-name"]
        _, new = self._slice(namespace, owner, value["ports"], value["addressType"], most=6)
        new["metadata"]["name"] = name
        self._kube.replace("endpointslices", new)
        self._made["endpointslices", namespace, name] = new

    def _change_type(self) -> None:
        """To an alias and back again: the name is the same Service all the time."""
        namespace, name = self._some("services")
        value = self._kube.get("services", name, namespace)
        kept = {"metadata": value["metadata"], "apiVersion": "v1", "kind": "Service"}
        if value["spec"]["type"] == "ExternalName":
            new = service(name, port(80, "http"), namespace=namespace)
        else:
            new = service(name, namespace=namespace, type="ExternalName", externalName=self._random.choice(OUTSIDE))
        self._made["services", namespace, name] = new
        self._kube.replace("services", new | kept)

    def _pod(self) -> None:
        """A new Pod, another state of one, or one that is being deleted."""
        chance, old = self._random.random(), self._some("pods")
        if chance < 0.2 and old:
            self._hold_pod(*old)
            return
        if chance < 0.35 and old:
            self._release_pod(*old)
            self._delete("pods", *old)
            return
        namespace, name = self._random.choice(self._namespaces), f"pod-{self._next()}"
        name += self._random.choice(["", "", ".with.dots"])
        phase = self._random.choice(["Running", "Running", "Running", "Pending", "Succeeded", "Failed", "Unknown"])
        families = self._random.choice([[], ["IPv4"], ["IPv4"], ["IPv4", "IPv6"], ["IPv6"]])
        ips = [self._address(family) for family in families]
        self._put_all([("pods", self.pod(namespace, name, *ips, phase=phase))])

    def _hold_pod(self, namespace: str, name: str) -> None:
        """It is being deleted from now on, and stays."""
        self._patch_pod(namespace, name, ["test/held"])
        self._kube.delete("pods", name, namespace)

    def _release_pod(self, namespace: str, name: str) -> None:
        self._patch_pod(namespace, name, None)

    def _patch_pod(self, namespace: str, name: str, finalizers: list[str] | None) -> None:
        body = {"metadata": {"finalizers": finalizers}}
        try:
            self._kube.request("PATCH", self._kube.path("pods", namespace, name), body, "application/merge-patch+json")
        except KubeError as error:
            assert error.status == 404, error
