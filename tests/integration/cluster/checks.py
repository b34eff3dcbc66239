"""kube2sky and skydns on a cluster with its controllers, and what must hold whatever the controllers do:

    with bed.asked(("web.shop.svc.cluster.local", "A")):
        ...  # the cluster changes; returns when its objects have become what the test wants

At the end of the body etcd comes to hold what model.py and a clean start of kube2sky say. Meanwhile, nothing was
written to etcd that the API's objects did not demand at some moment, nothing twice, and nothing was deleted that they
still demanded. Every answer was right: for names that do not change (`steady`) always the same; for those given, one
that the objects demanded, in the order in which they demanded them.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import manifests
from api_history import ApiHistory, kinds_of
from asking import (
    OUTSIDE,
    PATIENCE_S,
    Asked,
    Asking,
    check_order,
    is_between,
    right_answer,
    right_answers,
    without_repeats,
)
from bed import Bed
from etcd_client import EtcdClient
from kube import KubeError, endpoint, endpoint_slice, headless, port, service
from manifests import KUBE_DNS
from model import Model
from programs import etcd, http_get, is_etcd_healthy, reserve_port, wait_until
from query_load import Question, QueryLoad

STEADY = "steady"  # the namespace whose objects never change
_STEADY_SERVICES = 20
_OWNED = ("/skydns/local/cluster/", "/skydns/arpa/")
_CHANGE_PAUSE_S = 0.005


def manifest_flags(program: str) -> list[str]:
    """Of the program's container, but those that say where it and others are."""
    (container,) = [one for one in manifests.containers(KUBE_DNS) if one.program == program]
    places = ("etcd", "port", "machines", "addr", "domain", "snapshot", "lameduck", "workers")
    return [flag for flag in container.arguments if not any(place in flag.split("=")[0] for place in places)]


class ClusterBed(Bed):
    """Not yet started. The cluster is shared by all tests; everything else is the bed's own."""

    def __init__(self, folder: Path, cluster):
        super().__init__(folder)
        self.cluster = cluster
        self.model = Model(has_pods=False)
        self.skydns_flags = manifest_flags("skydns")
        self.kube2sky_flags: list[str] = []  # to reach etcd
        self.history: ApiHistory | None = None  # while asked
        self.load: QueryLoad | None = None  # the same
        self.use_kube(cluster.connect(), [*cluster.kube2sky_flags(), *manifest_flags("kube2sky")])
        number = reserve_port()
        self._clean_etcd = EtcdClient(number)
        self._clean_etcd_program = self._add(etcd(str(folder / "clean-etcd"), number, reserve_port()))
        self._clean_etcd_program.name = "etcd of the clean start"
        self._clean_url = f"http://127.0.0.1:{number}"
        self._is_clean_etcd_up = lambda: is_etcd_healthy(number)

    def use_pods_and_nodes(self, reader_flags: list[str]) -> None:
        """Before the start: kube2sky writes records of these, too, and skydns answers from them."""
        self.model = Model(has_pods=True, has_nodes=True)
        self.skydns_flags = [flag for flag in self.skydns_flags if not flag.startswith("-pods")]
        flags = [flag for flag in manifest_flags("kube2sky") if not flag.startswith("--pods")]
        self.use_kube(self.kube, [*reader_flags, *flags, "--pods=verified", "--nodes"])

    def start(self, start_etcd: Callable[[], None] | None = None) -> None:
        """start_etcd: in the place of the bed's own."""
        (start_etcd or self.start_etcd)()
        self._clean_etcd_program.start()
        self.create_steady()
        self.start_kube2sky(*self.kube2sky_flags)
        hosts = self.folder / "hosts"
        hosts.write_text("".join(f"{ip} {name}\n" for name, ip in OUTSIDE.items()))
        # Without turns in their order, the same records are the same bytes.
        self.start_skydns(*self.skydns_flags, "-no-rec", "-round-robin=false", f"-hosts={hosts}")
        self._clean_etcd_program.wait_ready(self._is_clean_etcd_up, "healthy")

    def create_steady(self) -> None:
        """Once for a cluster."""
        if self.kube.send("GET", f"/api/v1/namespaces/{STEADY}", None, {})[0] == 200:
            return
        self.kube.create_namespace(STEADY)
        for number in range(_STEADY_SERVICES):
            self.kube.create("services", service(f"web-{number}", port(80, "http"), namespace=STEADY))
        self.kube.create("services", headless("db", port(5432, "sql"), namespace=STEADY))
        entries = [endpoint(f"10.9.0.{number}", hostname=f"db-{number}", ready=True) for number in range(1, 4)]
        self.kube.create("endpointslices", endpoint_slice("db", "db", entries, port(5432, "sql"), namespace=STEADY))

    def steady_questions(self) -> list[Question]:
        keys = self.model.keys({kind: self.kube.items(kind) for kind in kinds_of(self.model)})
        base = f"{STEADY}.svc.cluster.local"
        asked = [("kubernetes.default.svc.cluster.local", "A"), (f"db.{base}", "A"), (f"db.{base}", "SRV")]
        asked += [(f"db-1.db.{base}", "A"), (f"db-9.db.{base}", "A")]
        for number in range(_STEADY_SERVICES):
            asked += [(f"web-{number}.{base}", kind) for kind in ("A", "AAAA")]
            asked += [(f"_http._tcp.web-{number}.{base}", "SRV"), (f"no-web-{number}.{base}", "A")]
        return [Question(*one, right_answer(keys, one)) for one in asked]

    # ---- The cluster ----

    def endpoints(self, name: str, namespace: str) -> list[dict]:
        path = f"{self.kube.path('endpointslices', namespace)}?labelSelector=kubernetes.io/service-name%3D{name}"
        return [one for item in self.kube.request("GET", path)["items"] for one in item["endpoints"] or []]

    def wait_endpoints(self, name: str, namespace: str, ready: int, others: int = 0) -> None:
        """Until the Service's slices have just so many, ready and not."""

        def is_there() -> bool:
            found = [one["conditions"]["ready"] for one in self.endpoints(name, namespace)]
            return (found.count(True), found.count(False)) == (ready, others)

        wait_until(is_there, f"{ready} endpoints of {name}", PATIENCE_S)

    def wait_other_endpoint(self, name: str, namespace: str, uid: str) -> None:
        """Until none is this Pod's any more."""

        def is_gone() -> bool:
            return uid not in [one["targetRef"]["uid"] for one in self.endpoints(name, namespace)]

        wait_until(is_gone, f"another endpoint of {name}", PATIENCE_S)

    def wait_rolled_out(self, name: str, namespace: str, resource: str = "deployments") -> None:
        def is_rolled_out() -> bool:
            value = self.kube.get(resource, name, namespace)
            status = value["status"]
            counts = {status.get(kind, 0) for kind in ("replicas", "updatedReplicas", "availableReplicas")}
            is_seen = status.get("observedGeneration") == value["metadata"]["generation"]
            return is_seen and counts == {value["spec"]["replicas"]}

        wait_until(is_rolled_out, f"rollout of {name}", PATIENCE_S)

    def wait_complete(self, job: str, namespace: str) -> None:
        wait_until(
            lambda: self.kube.get("jobs", job, namespace)["status"].get("succeeded"), f"the end of {job}", PATIENCE_S
        )

    def wait_pods(self, namespace: str, count: int) -> None:
        """Until so many run, and no other is there."""

        def is_there() -> bool:
            pods = self.kube.request("GET", self.kube.path("pods", namespace))["items"]
            return len(pods) == count and all(one["status"]["phase"] == "Running" for one in pods)

        wait_until(is_there, f"{count} Pods in {namespace}", PATIENCE_S)

    def wait_alone(self) -> None:
        """Until other tests' namespaces are gone, and what was in them."""

        def is_alone() -> bool:
            return all(item["status"]["phase"] == "Active" for item in self.kube.items("namespaces"))

        wait_until(is_alone, "the end of other namespaces", PATIENCE_S)

    def wait_gone(self, resource: str, name: str) -> None:
        path = self.kube.path(resource, name=name)
        wait_until(lambda: self.kube.send("GET", path, None, {})[0] == 404, f"no {name}", PATIENCE_S)

    @contextmanager
    def changing(self, namespace: str, names: list[str]) -> Iterator[None]:
        """A thread changes the ports of these Services, and creates them again where they are gone, all the time. What
        the API server refuses does not matter.
        """
        kube, stop = self.cluster.connect(), threading.Event()

        def change() -> None:
            for number, name in enumerate(itertools.cycle(names), start=1):
                if stop.wait(_CHANGE_PAUSE_S):
                    return
                with suppress(KubeError):
                    ports = [port(number % 60000 + 1, "http")]
                    kube.patch("services", name, {"spec": {"ports": ports}}, namespace)
                    continue
                with suppress(KubeError):
                    kube.create("services", service(name, port(80, "http"), namespace=namespace))

        thread = threading.Thread(target=change, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    # ---- The checks ----

    @contextmanager
    def asked(self, *changing: Asked) -> Iterator[Asking | None]:
        """All of them. Gives what asks about the names that change."""
        self.history = ApiHistory(self.cluster.etcd, self.model)
        self.wait_model()
        since = self.etcd.revision() + 1
        first = self.etcd.values("/skydns/")
        with ExitStack() as stack:
            self.load = stack.enter_context(QueryLoad(self.dns.port, self.steady_questions(), rate=500))
            asking = stack.enter_context(Asking(self.dns.port, changing)) if changing else None
            yield asking
            self.check_settled()
            if changing:
                asking.wait_asked()
        # In this order: what other tests' namespaces, which are still being deleted, do in between is in the later one.
        changes = self.etcd.changes(since, *_OWNED)
        self.history.read()
        states = list(self.history.states())
        self.check_writes(first, changes, states)
        for one, answers in asking.answers().items() if asking else ():
            check_order(one, answers, right_answers(states, one), is_between)

    def wait_model(self, model: Model | None = None) -> None:
        """While controllers may still change the objects."""
        model, differs = model or self.model, {}

        def is_right() -> bool:
            found = {key: text for key, text in self.etcd.values("/skydns/").items() if model.covers(key)}
            right = model.adopt(model.keys({kind: self.kube.items(kind) for kind in kinds_of(model)}), found)
            differs.clear()
            differs.update(_differences(right, found))
            return not differs

        try:
            wait_until(is_right, "the records of all objects", PATIENCE_S)
        except AssertionError:
            raise AssertionError(f"etcd differs from the objects, key: (right, found): {differs}") from None

    def check_settled(self) -> None:
        """etcd comes to hold exactly what the objects demand, and what a clean start of kube2sky writes."""
        self.wait_model()
        self._clean_etcd.delete_prefix("/")
        readiness_port = reserve_port()
        clean = self.command(
            "kube2sky", "--domain=cluster.local", f"--etcd-server={self._clean_url}", *self.kube_flags,
            f"--healthz-port={readiness_port}",
        ).start()  # fmt: skip
        ready = f"http://127.0.0.1:{readiness_port}/readiness"
        clean.wait_ready(lambda: http_get(ready)[0] == 200, "ready", PATIENCE_S)
        differs: dict[str, tuple[str | None, str | None]] = {}

        def is_equal() -> bool:
            differs.clear()
            found = self.etcd.values("/skydns/")
            # Of namespaces with one address, the one that has its name keeps it; a clean start chooses anew.
            differs.update(_differences(self.model.adopt(self._clean_etcd.values("/skydns/"), found), found))
            return not differs

        try:
            wait_until(is_equal, "the keys of a clean start", PATIENCE_S)
        except AssertionError:
            raise AssertionError(f"etcd differs from a clean start, key: (right, found): {differs}") from None
        clean.stop()
        self.programs.remove(clean)

    def check_writes(
        self, first: dict[str, str], changes: list[tuple[int, str, str | None]], states: list[dict[str, str]]
    ) -> None:
        """What each key had in etcd, the objects demanded, and in this order. No value was written twice."""
        demanded = _values_of_keys(states)
        written = {key: [value] for key, value in first.items()}
        for _, key, value in changes:
            if self.model.covers(key):
                written.setdefault(key, [None]).append(value)
        for key, values in written.items():
            assert values == without_repeats(values), f"{key} was written again with the same value: {values}"
            check_order(key, values, demanded.get(key, [None]))


def _differences(right: dict[str, str], found: dict[str, str]) -> dict[str, tuple[str | None, str | None]]:
    keys = [key for key in right.keys() | found.keys() if right.get(key) != found.get(key)]
    return {key: (right.get(key), found.get(key)) for key in keys}


def _values_of_keys(states: list[dict[str, str]]) -> dict[str, list[str | None]]:
    """The values that each key had, one after the other; None: absent."""
    values: dict[str, list[str | None]] = {key: [text] for key, text in states[0].items()}
    for before, after in zip(states, states[1:]):
        for key in before.keys() - after.keys():
            values[key].append(None)
        for key, text in after.items():
            if before.get(key) != text:
                values.setdefault(key, [None]).append(text)
    return values
