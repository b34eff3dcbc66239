"""Names of a cluster asked all the time, and the answers that the API's objects demanded one after the other."""

import json
import socket
import threading
from collections.abc import Callable, Iterable
from functools import cache

import dns.message
from programs import wait_until
from query_load import answers_of

PATIENCE_S = 60.0  # only ends a hang
_PAUSE_S = 0.002
# Each address has three keys: itself, a port, its reverse name; etcd takes 128 operations at once.
_SPLIT_LEAST = 128 // 3

# Names outside the cluster, which Services lead to, and their addresses: skydns has them in a hosts file.
OUTSIDE = {f"{name}.example.com.": f"198.51.100.{number}" for number, name in enumerate(("www", "other", "third"))}

Asked = tuple[str, str]  # name and type


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
        return {
            one: without_repeats(answers_of(dns.message.from_wire(reply)) for reply in replies)
            for one, replies in self._replies.items()
        }

    def wait_asked(self) -> None:
        """Until every question has been asked once more from now on."""
        wanted = self.count + 2 * len(self._wire)
        wait_until(lambda: self.count >= wanted or self._failure, "further answers", PATIENCE_S)


def without_repeats(values: Iterable) -> list:
    kept = []
    for value in values:
        if kept[-1:] != [value]:
            kept.append(value)
    return kept


# ---- What is right ----


@cache
def _parsed(text: str) -> tuple[str, int, str]:
    """A record's host, its port, and the type that it gives."""
    fields = json.loads(text)
    host = fields["host"]
    is_name = host.endswith(".")
    return host, fields.get("port", 0), "CNAME" if is_name else "AAAA" if ":" in host else "A"


def right_answer(keys: dict[str, str], asked: Asked) -> list[str]:
    """As answers_of gives it, with -schema=kubernetes: answer_model.py has all the rules, and is too slow for many
    states. keys: of the Service that the name belongs to.
    """
    name, rdtype = asked
    path = _path_of(name)
    below = {key[len(path) :]: _parsed(text) for key, text in keys.items() if f"{key}/".startswith(f"{path}/")}
    if not below:
        return ["NXDOMAIN"]
    if "" in below and below[""][2] == "CNAME":
        target = below[""][0]
        return sorted([target] + ([OUTSIDE[target]] if target in OUTSIDE and rdtype == "A" else []))
    is_port = name.startswith("_")
    if rdtype == "SRV":
        is_service = path.count("/") == 6
        found = [one for rest, one in below.items() if one[1] and (is_port or is_service and rest.startswith("/_"))]
        return sorted(f"10 {100 // len(found)} {number} {host}" for host, number, _ in found)
    hosts = [(host, kind) for rest, (host, _, kind) in below.items() if "/_" not in rest and not is_port]
    return sorted(host for host, kind in hosts if kind == rdtype)


def _path_of(name: str) -> str:
    return "/skydns/" + "/".join(name.split(".")[::-1])


def _of_service(keys: dict[str, str], name: str) -> dict[str, str]:
    """The keys of the Service that the name belongs to."""
    base = "/".join(_path_of(name).split("/")[:7])  # "", skydns, local, cluster, svc, NAMESPACE, SERVICE
    return {key: text for key, text in keys.items() if key == base or key.startswith(f"{base}/")}


def right_answers(states: list[dict[str, str]], asked: Asked) -> list[list[str]]:
    """One after the other."""
    parts = without_repeats(_of_service(keys, asked[0]) for keys in states)
    return without_repeats(right_answer(keys, asked) for keys in parts)


def check_order(
    what: object, seen: list, right: list, is_near: Callable[[list, list, list], bool] | None = None
) -> None:
    """Each value that was seen was right at some moment, and not before the one seen before it. is_near: whether a
    value may be seen between two right ones.
    """
    place = 0
    for number, value in enumerate(seen):
        rest = right[place:]
        if value in rest:
            place += rest.index(value)
        elif not (is_near and any(is_near(value, rest[0], other) for other in rest[1:])):
            fault = "right no longer" if value in right else "never right"
            raise AssertionError(f"{what}: {value} was {fault}; seen {seen[: number + 2]}, right {right}")


def is_between(answer: list[str], before: list[str], after: list[str]) -> bool:
    """A change of many addresses is too much for one transaction of etcd: first come those that are new."""
    seen, old, new = (set(one) - {"NXDOMAIN"} for one in (answer, before, after))
    return len(old ^ new) >= _SPLIT_LEAST and seen <= old | new and (old <= seen or new <= seen)
