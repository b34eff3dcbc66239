"""API server, kube2sky and etcd, started in every order, with the keys of an earlier run in etcd: they come to be right,
and deletes wait for nothing. One start of the API server serves all orders, since it takes seconds.
"""

import itertools
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bed import Bed
from kube import Kube, endpoint, endpoint_slice, endpoints, headless, port, service
from model import ENDPOINTS, SLICES, Model
from records import SVC

ORDERS = list(itertools.permutations(("api", "etcd", "kube2sky")))
_PATIENCE_S = 60.0  # only ends a hang
_NAMESPACE = "orders"
_PORT = port(5432, "sql")
# A key that should go may be there while so many later changes arrive. Where deletes wait for a minute, more fit in.
_CHANGES_MAX = 20


@dataclass(frozen=True)
class Case:
    """is_patient: a program starts when the earlier ones work, or have tried to; else all start at once."""

    order: tuple[str, ...]
    is_patient: bool
    flags: tuple[str, ...]  # kube2sky's
    source: str  # the resource that it should follow

    def __str__(self) -> str:
        return f"{' '.join(self.order)}, {'one by one' if self.is_patient else 'at once'}, {' '.join(self.flags)}"


def cases(flags: tuple[str, ...], source: str, patience: tuple[bool, ...] = (True, False)) -> list[Case]:
    return [Case(order, is_patient, flags, source) for order in ORDERS for is_patient in patience]


class ApiServer:
    """Of the tests: how it starts, and how it is told addresses, which no controller changes."""

    kube: Kube
    slices_version = "v1"
    has_endpoints = False  # kube2sky may follow Endpoints, too

    def launch(self) -> None: ...
    def wait_ready(self) -> None: ...
    def stop(self) -> None: ...

    def put_addresses(self, service_name: str, addresses: list[str], namespace: str) -> None:
        """Of a headless Service; without any, the objects are deleted."""
        value = endpoint_slice(service_name, service_name, [endpoint(ip) for ip in addresses], _PORT, namespace=namespace)
        value["apiVersion"] = f"discovery.k8s.io/{self.slices_version}"
        self._put(self._slices_path(f"/namespaces/{namespace}"), value, bool(addresses))
        if self.has_endpoints:
            value = endpoints(service_name, addresses, _PORT, namespace=namespace)
            self._put(self.kube.path("endpoints", namespace), value, bool(addresses))

    def slices(self) -> list[dict]:
        return self.kube.request("GET", self._slices_path(""))["items"]

    def _slices_path(self, where: str) -> str:
        return f"/apis/discovery.k8s.io/{self.slices_version}{where}/endpointslices"

    def _put(self, path: str, value: dict, is_wanted: bool) -> None:
        name = value["metadata"]["name"]
        is_there = self.kube.send("GET", f"{path}/{name}", None, {})[0] == 200
        if is_wanted and not is_there:
            self.kube.request("POST", path, value)
        elif is_wanted:
            self.kube.request("PUT", f"{path}/{name}", value)
        else:
            self.kube.request("DELETE", f"{path}/{name}")


class OrderBed(Bed):
    """An etcd with the keys of an earlier run, and kube2sky."""

    def __init__(self, folder: Path, case: Case):
        super().__init__(folder)
        self.case = case
        self._api_place = case.order.index("api")

    def start(self, is_before_api: bool) -> None:
        """The programs before the API server, or those after it."""
        for name in self.case.order[: self._api_place] if is_before_api else self.case.order[self._api_place + 1 :]:
            if name == "etcd":
                self.start_etcd() if self.case.is_patient else self.etcd_program.start()
            else:
                self.start_kube2sky(*self.case.flags, is_waiting=False)
                if self.case.is_patient:
                    self.kube2sky.wait_line(r"(API cannot be followed|listed)\b.*kind=services\b", 0, _PATIENCE_S)

    def wait_in_sync(self) -> None:
        """As its readiness says; what it should have deleted may still be there."""
        self.kube2sky.wait_ready(lambda: self.readiness()[0] == 200, "ready", _PATIENCE_S)


class StartOrders:
    """The objects in the API, and what etcd must have of them."""

    def __init__(self, folder: Path, api: ApiServer, all_cases: list[Case], kube_flags: list[str]):
        self._api = api
        self._seed = OrderBed(folder / "seed", all_cases[0])
        self._beds = [OrderBed(folder / str(number), case) for number, case in enumerate(all_cases)]
        for bed in [self._seed, *self._beds]:
            bed.folder.mkdir()
            bed.use_kube(api.kube, kube_flags)
        self._changes = 0

    @property
    def _kube(self) -> Kube:
        return self._api.kube

    def run(self) -> None:
        """For each order."""
        with ExitStack() as stack:
            for bed in [self._seed, *self._beds]:
                stack.callback(bed.close)
            self._run()

    def _run(self) -> None:
        self._create()
        self._make_seed()
        for bed in self._beds:
            source = self._seed.folder / "etcd"
            subprocess.run(["cp", "-r", "--sparse=always", source, bed.folder / "etcd"], check=True, timeout=60)
        self._delete("gone", "gone-db")
        self._api.put_addresses("db", ["10.7.0.1", "10.7.0.3"], _NAMESPACE)
        self._api.stop()
        self._start_all()
        self._wait_prompt("what went before the start")

        self._delete("web", "more-db")
        self._api.put_addresses("db", ["10.7.0.3"], _NAMESPACE)
        self._wait_prompt("deletes")

    # ---- The objects ----

    def _create(self) -> None:
        self._kube.create_namespace(_NAMESPACE)
        for name in ("kept", "gone", "web"):
            self._kube.create("services", service(name, port(80, "http"), namespace=_NAMESPACE))
        for number, name in enumerate(("db", "gone-db", "more-db"), start=7):
            self._kube.create("services", headless(name, _PORT, namespace=_NAMESPACE))
            self._api.put_addresses(name, [f"10.{number}.0.1", f"10.{number}.0.2"], _NAMESPACE)

    def _delete(self, name: str, headless_name: str) -> None:
        """A Service; and the addresses of another one, which stays."""
        self._kube.delete("services", name, _NAMESPACE)
        self._api.put_addresses(headless_name, [], _NAMESPACE)

    # ---- Programs ----

    def _make_seed(self) -> None:
        """The earlier run."""
        seed = self._seed
        seed.start_etcd()
        seed.start_kube2sky(*seed.case.flags)
        seed.kube2sky.wait_ready(lambda: not self._wrong([seed]), "the keys of the objects", _PATIENCE_S)
        seed.kube2sky.stop()
        seed.etcd_program.stop(expected=(0, -15))

    def _start_all(self) -> None:
        for bed in self._beds:
            bed.start(is_before_api=True)
        self._api.launch()
        for bed in self._beds:
            if not bed.case.is_patient:
                bed.start(is_before_api=False)
        self._api.wait_ready()
        for bed in self._beds:
            if bed.case.is_patient:
                bed.start(is_before_api=False)
        for bed in self._beds:
            bed.wait_in_sync()

    # ---- What is right ----

    def _wrong(self, beds: list[OrderBed]) -> list[OrderBed]:
        objects = self._kube.objects() | {SLICES: self._api.slices()}
        models = {source: Model(source, has_pods=False) for source in (SLICES, ENDPOINTS)}
        right = {source: model.keys(objects) for source, model in models.items()}

        def is_wrong(bed: OrderBed) -> bool:
            found, source = bed.etcd.values("/skydns/"), bed.case.source
            return _ours(found) != _ours(models[source].adopt(right[source], found))

        return [bed for bed in beds if is_wrong(bed)]

    def _wait_prompt(self, what: str) -> None:
        """Whoever writes later changes, has deleted what must go."""
        wrong = self._beds
        for _ in range(_CHANGES_MAX):
            wrong = self._wrong(wrong)
            if not wrong:
                return
            self._change(wrong)
        names = "\n".join(str(bed.case) for bed in wrong)
        log = wrong[0].log_text()
        raise AssertionError(f"{what}: not in etcd after {_CHANGES_MAX} further changes, with\n{names}\nthe first:\n{log}")

    def _change(self, beds: list[OrderBed]) -> None:
        """Changes a Service and its addresses, and waits until these beds have both."""
        self._changes += 1
        address, name = f"10.250.0.{self._changes}", f"change-{self._changes}"
        self._kube.create("services", headless(name, _PORT, namespace=_NAMESPACE))
        self._api.put_addresses(name, [address], _NAMESPACE)
        for bed in beds:
            bed.kube2sky.wait_ready(
                lambda bed=bed: bed.etcd.get_prefix(f"{SVC}/{_NAMESPACE}/{name}/"), f"{bed.case}: {name}", _PATIENCE_S
            )


def _ours(keys: dict[str, str]) -> dict[str, str]:
    """Reverse names, too."""
    part, name = f"{SVC}/{_NAMESPACE}/", f".{_NAMESPACE}.svc."
    return {key: text for key, text in keys.items() if key.startswith(part) or name in text}
