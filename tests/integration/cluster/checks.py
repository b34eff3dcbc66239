"""kube2sky and skydns on a cluster with its controllers, and what must hold whatever the controllers do:

    with bed.asked(("web.shop.svc.cluster.local", "A")):
        ...  # the cluster changes; returns when its objects have become what the test wants

At the end of the body etcd comes to hold what model.py and a clean start of kube2sky say. Meanwhile, nothing was written
to etcd that the API's objects did not demand at some moment, nothing twice, and nothing was deleted that they still
demanded. Every answer was right: for names that do not change (`steady`) always the same; for those given, one that the
objects demanded, in the order in which they demanded them.
"""

import json
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dns.flags
import dns.message
import manifests
from answer_model import AnswerModel, Key
from api_history import ApiHistory
from bed import Bed
from etcd_client import EtcdClient
from kube import endpoint, endpoint_slice, headless, port, service
from manifests import KUBE_DNS
from model import Model
from programs import Program, etcd, http_get, is_etcd_healthy, reserve_port, wait_until
from query_load import Question, QueryLoad, answers_of

PATIENCE_S = 60.0  # only ends a hang
STEADY = "steady"  # the namespace whose objects never change
_STEADY_SERVICES = 20
_OWNED = ("/skydns/local/cluster/", "/skydns/arpa/")
_PAUSE_S = 0.002

Asked = tuple[str, str]  # name and type


def manifest_flags(program: str) -> list[str]:
    """Of the program's container, but those that say where it and others are."""
    (container,) = [one for one in manifests.containers(KUBE_DNS) if one.program == program]
    places = ("etcd", "port", "machines", "addr", "domain", "snapshot", "lameduck", "workers")
    return [flag for flag in container.arguments if not any(place in flag.split("=")[0] for place in places)]


class Asking:
    """Asks the questions in turn, all the time, over one TCP connection, so that every answer comes whole. Keeps each
    answer that differs from the one before.
    """

    def __init__(self, dns_port: int, asked: Iterable[Asked]):
        self._port = dns_port
        self._wire = {one: dns.message.make_query(*one, id=0).to_wire() for one in asked}
        self._replies: dict[Asked, list[bytes]] = {one: [] for one in self._wire}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: Exception | None = None
        self.count = 0

    def __enter__(self) -> "Asking":
        self._thread.start()
        return self

    def __exit__(self, *exc) -> None:
        self._stop.set()
        self._thread.join()
        if self._failure and exc[0] is None:
            raise self._failure

    def _run(self) -> None:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_S) as link:
                stream = link.makefile("rb")
                while not self._stop.wait(_PAUSE_S):
                    for one, wire in self._wire.items():
                        link.sendall(len(wire).to_bytes(2, "big") + wire)
                        reply = stream.read(int.from_bytes(stream.read(2), "big"))
                        if self._replies[one][-1:] != [reply]:
                            self._replies[one].append(reply)
                        self.count += 1
        except OSError as error:
            self._failure = error

    def answers(self) -> dict[Asked, list[list[str]]]:
        """Each that differs from the one before, in order."""
        found = {one: [answers_of(dns.message.from_wire(reply)) for reply in all_] for one, all_ in self._replies.items()}
        return {one: _without_repeats(answers) for one, answers in found.items()}


def _of_service(keys: dict[str, str], name: str) -> dict[str, str]:
    """The keys of the Service that the name belongs to."""
    labels = name.split(".")[::-1]
    base = "/skydns/" + "/".join(labels[:5])  # local cluster svc NAMESPACE SERVICE
    return {key: text for key, text in keys.items() if key == base or key.startswith(f"{base}/")}


def right_answers(states: list[dict[str, str]], asked: Asked) -> list[list[str]]:
    """One after the other."""
    parts = _without_repeats(_of_service(keys, asked[0]) for keys in states)
    return _without_repeats(right_answer(keys, asked) for keys in parts)


def _without_repeats(values: Iterable) -> list:
    kept = []
    for value in values:
        if kept[-1:] != [value]:
            kept.append(value)
    return kept


def right_answer(keys: dict[str, str], asked: Asked) -> list[str]:
    """As answers_of gives it."""
    records = [Key(tuple(key.split("/")[2:]), **json.loads(text)) for key, text in keys.items()]
    rcode, found = AnswerModel(records, "kubernetes").answer(f"{asked[0]}.", asked[1])
    return sorted(" ".join(map(str, data)) for *_, data in found) if rcode == "NOERROR" else [rcode]


class ClusterBed(Bed):
    """Not yet started. The cluster is shared by all tests; everything else is the bed's own."""

    def __init__(self, folder: Path, cluster):
        super().__init__(folder)
        self.cluster = cluster
        self.model = Model(has_pods=False)
        self.use_kube(cluster.connect(), [*cluster.kube2sky_flags(), *manifest_flags("kube2sky")])
        number = reserve_port()
        self._clean_etcd = EtcdClient(number)
        self._clean_etcd_program = self._add(etcd(str(folder / "clean-etcd"), number, reserve_port()))
        self._clean_etcd_program.name = "etcd of the clean start"
        self._clean_url = f"http://127.0.0.1:{number}"
        self._is_clean_etcd_up = lambda: is_etcd_healthy(number)

    def start(self) -> None:
        self.start_etcd()
        self._clean_etcd_program.start()
        self.create_steady()
        self.start_kube2sky()
        self.start_skydns(*manifest_flags("skydns"), "-no-rec")
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
        keys = self.model.keys(self.kube.objects())
        base = f"{STEADY}.svc.cluster.local"
        asked = [("kubernetes.default.svc.cluster.local", "A"), (f"db.{base}", "A"), (f"db.{base}", "SRV")]
        asked += [(f"db-1.db.{base}", "A"), (f"db-9.db.{base}", "A")]
        for number in range(_STEADY_SERVICES):
            asked += [(f"web-{number}.{base}", kind) for kind in ("A", "AAAA")]
            asked += [(f"_http._tcp.web-{number}.{base}", "SRV"), (f"no-web-{number}.{base}", "A")]
        return [Question(*one, right_answer(_of_service(keys, one[0]), one)) for one in asked]

    # ---- The cluster ----

    def wait_endpoints(self, name: str, namespace: str, count: int) -> None:
        """Until the Service's slices have so many ready endpoints, and no other."""
        path = f"{self.kube.path('endpointslices', namespace)}?labelSelector=kubernetes.io/service-name%3D{name}"

        def is_there() -> bool:
            found = [one for item in self.kube.request("GET", path)["items"] for one in item["endpoints"] or []]
            return len(found) == count and all(one["conditions"]["ready"] for one in found)

        wait_until(is_there, f"{count} endpoints of {name}", PATIENCE_S)

    def wait_rolled_out(self, name: str, namespace: str) -> None:
        def is_rolled_out() -> bool:
            value = self.kube.get("deployments", name, namespace)
            wanted, status = value["spec"]["replicas"], value["status"]
            counts = {status.get(kind, 0) for kind in ("replicas", "updatedReplicas", "availableReplicas")}
            return status["observedGeneration"] == value["metadata"]["generation"] and counts == {wanted}

        wait_until(is_rolled_out, f"rollout of {name}", PATIENCE_S)

    # ---- The checks ----

    @contextmanager
    def asked(self, *changing: Asked, is_settled_before: bool = True) -> Iterator[None]:
        """All of them. is_settled_before: etcd already holds what the objects demand."""
        if is_settled_before:
            self.wait_model(self.model)
        history, since = ApiHistory(self.cluster.etcd), self.etcd.revision() + 1
        first = self.etcd.values("/skydns/")
        with ExitStack() as stack:
            stack.enter_context(QueryLoad(self.dns.port, self.steady_questions(), rate=500))
            asking = stack.enter_context(Asking(self.dns.port, changing)) if changing else None
            yield
            self.check_settled()
            if changing:
                self._wait_answered(asking)
        history.read()
        states = list(history.states(self.model))
        self.check_writes(first, since, states)
        for one, answers in asking.answers().items() if asking else ():
            check_order(one, answers, right_answers(states, one))

    def _wait_answered(self, asking: Asking) -> None:
        """Until every question has been asked twice more: at least once after the last change."""
        wanted = asking.count + 2 * len(asking._wire)
        wait_until(lambda: asking.count >= wanted or asking._failure, "further answers", PATIENCE_S)

    def check_settled(self) -> None:
        """etcd comes to hold exactly what the objects demand, and what a clean start of kube2sky writes."""
        self.wait_model(self.model)
        self._clean_etcd.delete_prefix("/")
        readiness_port = reserve_port()
        clean = self.command(
            "kube2sky", "--domain=cluster.local", f"--etcd-server={self._clean_url}", *self.kube_flags,
            f"--healthz-port={readiness_port}",
        ).start()  # fmt: skip
        ready = f"http://127.0.0.1:{readiness_port}/readiness"
        clean.wait_ready(lambda: http_get(ready)[0] == 200, "ready", PATIENCE_S)
        right, last = {}, {}

        def is_equal() -> bool:
            right.clear(), last.clear()
            right.update(self._clean_etcd.values("/skydns/")), last.update(self.etcd.values("/skydns/"))
            return right == last

        try:
            wait_until(is_equal, "the keys of a clean start", PATIENCE_S)
        except AssertionError:
            assert last == right
        clean.stop()
        self.programs.remove(clean)

    def check_writes(self, first: dict[str, str], since: int, states: list[dict[str, str]]) -> None:
        """What each key had in etcd, the objects demanded, and in this order. No value was written twice."""
        demanded = _values_of_keys(states)
        written = {key: [value] for key, value in first.items()}
        for _, key, value in self.etcd.changes(since, *_OWNED):
            if self.model.covers(key):
                written.setdefault(key, [None]).append(value)
        for key, values in written.items():
            assert values == _without_repeats(values), f"{key} was written again with the same value: {values}"
            check_order(key, values, demanded.get(key, [None]))


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


def check_order(what: object, seen: list, right: list) -> None:
    """Each value that was seen was right at some moment, and not before the one seen before it."""
    place = 0
    for number, value in enumerate(seen):
        if value not in right[place:]:
            fault = "right no longer" if value in right else "never right"
            raise AssertionError(f"{what}: {value} was {fault}; seen {seen[: number + 2]}, right {right}")
        place += right[place:].index(value)
