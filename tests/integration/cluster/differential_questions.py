"""Random questions for the differential test: names that exist, names that nearly do, and all that a client may say with
them.
"""

import ipaddress
import random
from collections.abc import Callable

import dns.opcode
import dns.rdatatype
from differential_asking import AD, CD, CH, COOKIE, IN, KEEPALIVE, RD, Edns, Question
from differential_view import DOMAIN, Endpoint, Service, View, dashed
from differential_world import SERVICES, V4, V6

_TYPES = {
    "A": 30, "AAAA": 16, "SRV": 16, "PTR": 3, "CNAME": 4, "TXT": 4, "MX": 3, "NS": 3, "SOA": 3, "HTTPS": 5, "SVCB": 1,
    "DS": 1, "DNSKEY": 1, "CAA": 1, "NAPTR": 1, "LOC": 1, "ANY": 1, "TYPE65280": 1,
}  # fmt: skip
# Types of questions about questions, and what is no type: RFC 6895.
_META = [0, 41, 128, 249, 250, 251, 252, 253, 254]
_CLASSES = [CH, 4, 254, 255, 2]
_OPCODES = [dns.opcode.NOTIFY, dns.opcode.UPDATE, dns.opcode.STATUS, dns.opcode.IQUERY]
_OPTIONS = [(COOKIE, bytes(8)), (COOKIE, b"bad"), (KEEPALIVE, b""), (65001, b"x")]

_OUTSIDE = [
    "www.ext.test.", "six.ext.test.", "both.ext.test.", "alias.ext.test.", "alias-missing.ext.test.", "nodata.ext.test.",
    "missing.ext.test.", "broken.ext.test.", "many.ext.test.", "ext.test.", "a.b.c.missing.ext.test.", "localhost.",
    "web.", "web.shop.", "web.shop.svc.", ".", "com.", "notcluster.local.", "local.", "cluster.local.ext.test.",
]  # fmt: skip
_FIXED = [
    DOMAIN, f"svc.{DOMAIN}", f"pod.{DOMAIN}", f"dns-version.{DOMAIN}", f"dns-version.{DOMAIN}", f"ns.dns.{DOMAIN}",
    f"dns.{DOMAIN}",
    f"apex.dns.{DOMAIN}", f"nope.{DOMAIN}", f"x.dns-version.{DOMAIN}", f"node.{DOMAIN}", f"hostmaster.{DOMAIN}",
    f"local.dns.{DOMAIN}", f"stub.dns.{DOMAIN}",
]  # fmt: skip
_LABELS = ["*", "any", "nope", "_tcp", "_udp", "_", "svc", "x" * 63, "10-1-2-3", "a_b", "-a-", "0"]


class Questions:
    """view: what exists; earlier: what did, whose names are asked for, too."""

    def __init__(self, view: View, earlier: list[View], seed: int):
        self._random = random.Random(f"questions {seed}")
        self._view = view
        known = {one.host: one for state in (*earlier, view) for one in state.services.values()}
        self._services = list(known.values())
        self._namespaces = sorted({name for state in (*earlier, view) for name in state.namespaces})
        self._pod_ips = sorted(
            (value["metadata"]["namespace"], entry["ip"])
            for state in (*earlier, view)
            for value in state.objects["pods"]
            for entry in value["status"].get("podIPs", ())
        )
        self._kinds: dict[Callable[[], str], int] = {
            self._service_name: 24, self._endpoint_name: 16, self._port_name: 16, self._endpoint_port: 3,
            self._protocol_name: 3, self._namespace_name: 6, self._pod_name: 9, self._reverse_name: 10,
            self._reverse_zone: 2, self._fixed_name: 6, self._outside_name: 5,
        }  # fmt: skip

    def make(self, count: int) -> list[Question]:
        return [self._question() for _ in range(count)]

    # ---- Names ----

    def _pick(self, weights: dict):
        return self._random.choices(list(weights), weights.values())[0]

    def _service(self) -> Service:
        return self._random.choice(self._services)

    def _service_name(self) -> str:
        return self._service().host

    def _endpoint(self) -> tuple[Service, Endpoint]:
        with_some = [one for one in self._services if one.endpoints]
        service = self._random.choice(with_some)
        return service, self._random.choice(service.endpoints)

    def _endpoint_name(self) -> str:
        service, one = self._endpoint()
        label = self._random.choice([one.label, one.label, one.label, dashed(one.ip), one.pod or one.label])
        return f"{label}.{service.host}"

    def _port_name(self) -> str:
        service = self._service()
        ports = [*service.ports, *(port for one in service.endpoints for port in one.ports)]
        protocol, name, _ = self._random.choice(ports or [("tcp", "http", 80)])
        protocol = self._random.choice([protocol] * 8 + ["tcp", "udp", "sctp"])
        return f"_{name or 'http'}._{protocol}.{service.host}"

    def _endpoint_port(self) -> str:
        _, one = self._endpoint()
        return f"{one.label}.{self._port_name()}"

    def _protocol_name(self) -> str:
        return f"_{self._random.choice(['tcp', 'udp', 'sctp'])}.{self._service_name()}"

    def _namespace_name(self) -> str:
        return f"{self._random.choice([*self._namespaces, 'nope'])}.{self._random.choice(['svc', 'pod'])}.{DOMAIN}"

    def _pod_name(self) -> str:
        namespace, ip = self._random.choice(self._pod_ips)
        if self._random.random() < 0.2:
            namespace = self._random.choice([*self._namespaces, "nope"])
        if self._random.random() < 0.2:
            ip = self._random.choice([*V4, *V6, "1.2.3.4", "fd00::", "::1", "1.2.3.04", "1.2.3.456", "1.2.3"])
        return f"{dashed(ip)}.{namespace}.pod.{DOMAIN}"

    def _reverse_name(self) -> str:
        ips = [ip for one in self._services for ip in one.ips] + [ip for _, ip in self._pod_ips]
        ips += [self._endpoint()[1].ip for _ in range(len(ips))] + [*V4, *V6, "192.0.2.1", "2001:db8::1"]
        ip = self._random.choice(ips)
        try:
            return ipaddress.ip_address(ip).reverse_pointer + "."
        except ValueError:  # of a slice with names
            return f"{ip}."

    def _reverse_zone(self) -> str:
        """Above an address, below one, or no address."""
        labels = self._reverse_name().split(".")
        front = self._random.choice([[], [], ["x"], ["256"], ["*"]])
        above = self._random.choice([0, self._random.randrange(len(labels) - 2)])
        return ".".join(front + labels[above:])

    def _fixed_name(self) -> str:
        return self._random.choice(_FIXED)

    def _outside_name(self) -> str:
        return self._random.choice(_OUTSIDE)

    # ---- Nearly ----

    def _changed(self, name: str) -> str:
        """With another label, one more or one less, or the underscores wrong."""
        labels = name.rstrip(".").split(".")
        at = self._random.randrange(max(1, len(labels) - 2))
        change = self._random.randrange(7)
        if change == 0:
            labels[at] = self._random.choice([*_LABELS, *SERVICES[:4]])
        elif change == 1:
            labels.insert(self._random.randint(0, at), self._random.choice(_LABELS))
        elif change == 2:
            del labels[at]
        elif change == 3:
            labels[at] = labels[at][:-1] or "x"
        elif change == 4:
            labels[at] = labels[at].removeprefix("_") if labels[at].startswith("_") else "_" + labels[at][:62]
        elif change == 5:
            labels[at] = (labels[at] + "-0")[:63]
        else:
            other = self._random.randrange(len(labels))
            labels[at], labels[other] = labels[other], labels[at]
        changed = ".".join(labels) + "."
        return changed if len(changed) <= 254 else name

    def _in_some_case(self, name: str) -> str:
        if self._random.random() < 0.7:
            return name
        return "".join(self._random.choice((char.upper(), char)) for char in name)

    # ---- Questions ----

    def _question(self) -> Question:
        kind = self._pick(self._kinds)
        name = kind()
        if self._random.random() < 0.2:
            name = self._changed(name)
        return Question(
            name=self._in_some_case(name),
            rdtype=self._type(kind),
            rdclass=self._random.choice(_CLASSES) if self._random.random() < 0.01 else IN,
            opcode=self._random.choice(_OPCODES) if self._random.random() < 0.005 else dns.opcode.QUERY,
            flags=self._random.choices([RD, 0, RD | AD, RD | CD, CD | AD], [80, 8, 8, 3, 1])[0],
            edns=self._edns(),
            is_tcp=self._random.random() < 0.2,
        )

    def _type(self, kind: Callable[[], str]) -> int:
        chance = self._random.random()
        if chance < 0.01:
            return self._random.choice(_META)
        if kind in (self._port_name, self._endpoint_port) and chance < 0.7:
            return dns.rdatatype.SRV
        if kind == self._reverse_name and chance < 0.85:
            return dns.rdatatype.PTR
        return dns.rdatatype.from_text(self._pick(_TYPES))

    def _edns(self) -> Edns | None:
        if self._random.random() < 0.4:
            return None
        options = []
        if self._random.random() < 0.05:
            options.append(self._random.choice(_OPTIONS))
        return Edns(
            payload=self._random.choice([0, 512, 512, 1232, 1232, 1232, 4096, 4096, 65535]),
            is_do=self._random.random() < 0.3,
            version=int(self._random.random() < 0.01),
            options=tuple(options),
        )
