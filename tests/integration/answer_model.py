"""What skydns must answer, computed naively from the flat list of keys: no tree, no index, every rule is a
filter over all keys. Paths are labels from the root, as in keys: ("local", "cluster", "web").
"""

import ipaddress
from dataclasses import dataclass
from itertools import takewhile

DOMAIN = ("local", "cluster")
CHAIN_MAX = 8
TTL_S = 3600  # if a record has none
PRIORITY = 10

# A name with more keys below it is no alias.
ALIAS_MAX = 32

# For aliases of aliases of whole subtrees: beyond some 65,000 keys skydns omits the rest.
VISITS_MAX = 30000

Path = tuple[str, ...]
# owner, TTL, type, data; all fields of the data before the name or address are numbers
Record = tuple[str, int, str, tuple]


@dataclass(frozen=True)
class Key:
    path: Path
    host: str = ""
    port: int = 0
    priority: int = 0
    weight: int = 0
    text: str = ""
    ttl: int = 0
    targetstrip: int = 0
    group: str = ""
    mail: bool = False

    @property
    def family(self) -> str:
        """A, AAAA, NAME, or empty."""
        if not self.host:
            return ""
        try:
            return {4: "A", 6: "AAAA"}[ipaddress.ip_address(self.host).version]
        except ValueError:
            return "NAME"

    @property
    def data(self) -> tuple:
        """Keys with equal data count once in a lookup."""
        return (self.host, self.port, self.priority, self.weight, self.text)

    @property
    def is_bare_name(self) -> bool:
        return self.family == "NAME" and not (self.port or self.mail)

    @property
    def target(self) -> str:
        labels = self.host.rstrip(".").split(".") if self.family == "NAME" else list(reversed(self.path))
        return ".".join(labels[self.targetstrip :] or labels) + "."


def name_of(path: Path) -> str:
    return ".".join(reversed(path)) + "."


def path_of(name: str) -> Path:
    return tuple(reversed(name.rstrip(".").split(".")))


def is_hidden(label: str) -> bool:
    return label.startswith("_")


def is_wildcard(label: str) -> bool:
    return label in ("*", "any")


class TooManyVisits(Exception):
    """The answer depends on skydns' limits."""


class AnswerModel:
    def __init__(self, keys: list[Key], schema: str):
        self._is_kubernetes = schema == "kubernetes"
        usable = [key for key in keys if not (self._is_kubernetes and "*" in key.path)]
        self._keys = sorted(usable, key=lambda key: [label.encode() for label in key.path])
        self._answers: list[Record] = []
        self._visits = 0

    # ---- Finding keys ----

    def _at_or_below(self, path: Path) -> list[Key]:
        return [key for key in self._keys if key.path[: len(path)] == path]

    def _listed(self, path: Path) -> Path:
        """The path up to the first wildcard."""
        if self._is_kubernetes:
            return path
        inside = path[len(DOMAIN) :]
        return DOMAIN + tuple(takewhile(lambda label: not is_wildcard(label), inside))

    def _exists(self, path: Path) -> bool:
        return bool(self._at_or_below(self._listed(path)))

    def _matching(self, path: Path) -> list[Key]:
        listed = self._listed(path)
        visible = [key for key in self._at_or_below(listed) if not any(map(is_hidden, key.path[len(listed) :]))]
        self._visits += 1 + len(visible)
        if self._visits > VISITS_MAX:
            raise TooManyVisits
        if len(listed) == len(path) or [key.path for key in visible] == [listed]:
            return visible
        return [
            key
            for key in visible
            if len(key.path) >= len(path)
            and all(is_wildcard(asked) or asked == label for asked, label in zip(path, key.path))
        ]

    @staticmethod
    def _once(keys: list[Key]) -> list[Key]:
        first: dict[tuple, Key] = {}
        for key in keys:
            first.setdefault(key.data, key)
        return list(first.values())

    @staticmethod
    def _one_group(keys: list[Key]) -> list[Key]:
        """Keys in the group of the shortest key, and keys without a group."""
        if not keys:
            return keys
        chosen = keys[0]
        for key in keys:
            if len(key.path) < len(chosen.path):
                if not key.group:
                    break
                chosen = key
        rivals = {key.group for key in keys if key.group and len(key.path) == len(chosen.path)}
        if not chosen.group or rivals != {chosen.group}:
            return keys
        return [key for key in keys if key.group in ("", chosen.group)]

    def _find(self, path: Path) -> list[Key]:
        return self._one_group(self._once(self._matching(path)))

    def _ports(self, path: Path) -> list[Key]:
        below = len(path)
        return self._once(
            [
                key
                for key in self._at_or_below(path)
                if len(key.path) >= below + 2
                and is_hidden(key.path[below])
                and is_hidden(key.path[below + 1])
                and not any(map(is_hidden, key.path[below + 2 :]))
            ]
        )

    # ---- Making answers ----

    def _add(self, owner: str, ttl: int, rdtype: str, data: tuple) -> None:
        """One CNAME per owner, no duplicates; the last record wins, with the smaller TTL."""
        for i, (other, other_ttl, other_type, other_data) in enumerate(self._answers):
            if (other, other_type) == (owner, rdtype) and (rdtype == "CNAME" or other_data == data):
                self._answers[i] = (owner, min(ttl, other_ttl), rdtype, data)
                return
        self._answers.append((owner, ttl, rdtype, data))

    def _addresses(self, owner: str, keys: list[Key], rdtype: str, chain: list[list]) -> None:
        for key in keys:
            if key.family == "NAME":
                if not self._is_kubernetes:
                    self._follow(owner, key, rdtype, chain)
            elif key.family == rdtype:
                self._show(chain)
                self._add(owner, key.ttl or TTL_S, rdtype, (key.host,))

    def _show(self, chain: list[list]) -> None:
        for link in chain:
            if not link[-1]:
                self._add(*link[:-1])
                link[-1] = True

    def _follow(self, owner: str, key: Key, rdtype: str, chain: list[list]) -> None:
        target = key.host.rstrip(".") + "."
        been = [chain[0][0] if chain else owner] + [link[3][0] for link in chain]
        if len(chain) == CHAIN_MAX or target in been:
            return
        chain.append([owner, key.ttl or TTL_S, "CNAME", (target,), False])
        path = path_of(target)
        if path[: len(DOMAIN)] == DOMAIN:
            self._addresses(target, self._find(path), rdtype, chain)
        else:
            self._unasked = self._unasked or [link[:-1] for link in chain]
        chain.pop()

    def _services(self, owner: str, keys: list[Key]) -> None:
        keys = [key for key in keys if key.family]
        for key in keys:
            total = sum(k.weight or 100 for k in keys if (k.priority or PRIORITY) == (key.priority or PRIORITY))
            share = max(1, 100 * (key.weight or 100) // total)
            data = (key.priority or PRIORITY, share, key.port, key.target)
            self._add(owner, key.ttl or TTL_S, "SRV", data)

    def _by_type(self, path: Path, rdtype: str) -> None:
        owner = name_of(path)
        if rdtype in ("A", "AAAA"):
            self._unasked: list[list] = []  # CNAMEs to the first external name: nobody is asked about it
            self._addresses(owner, self._find(path), rdtype, [])
            if not any(kind == rdtype for _, _, kind, _ in self._answers):
                for link in self._unasked:
                    self._add(*link)
        elif rdtype == "SRV":
            self._services(owner, self._find(path))
        elif rdtype == "TXT":
            for key in self._find(path):
                if key.text:
                    self._add(owner, key.ttl or TTL_S, "TXT", (f'"{key.text}"',))
        elif rdtype == "MX":
            for key in self._once(self._matching(path)):
                if key.mail and key.family:
                    self._add(owner, key.ttl or TTL_S, "MX", (key.priority or PRIORITY, key.target))
        elif rdtype == "CNAME":
            for key in self._keys:
                if key.path == path and key.family == "NAME":
                    self._add(owner, key.ttl or TTL_S, "CNAME", (key.host.rstrip(".") + ".",))

    def _has_data(self, path: Path, rdtype: str) -> bool:
        """Whether the specification allows data of this type at this place of the schema."""
        inside = path[len(DOMAIN) :]
        if not inside:
            return False
        if inside[0] not in ("svc", "pod"):
            return True
        if len(inside) < 3:
            return False
        if inside[0] == "svc" and len(inside) == 3:
            return True
        if inside[0] == "svc" and is_hidden(inside[3]):
            return len(inside) > 4 and rdtype == "SRV"
        return rdtype != "SRV"

    def _alias(self, path: Path) -> Key | None:
        """The key that makes a name an alias under -schema=kubernetes."""
        if not self._is_kubernetes or not self._has_data(path, "CNAME"):
            return None
        here = [key for key in self._keys if key.path == path]
        if here:
            return here[0] if here[0].family == "NAME" else None
        below = [key for key in self._at_or_below(path) if not any(map(is_hidden, key.path[len(path) :]))]
        return below[0] if 0 < len(below) <= ALIAS_MAX and all(key.is_bare_name for key in below) else None

    def _alias_texts(self, path: Path, alias: Key) -> bool:
        """Adds the texts of the records that make the name an alias, if there are any."""
        before = len(self._answers)
        if alias.path != path:
            self._by_type(path, "TXT")
        elif alias.text:
            self._add(name_of(path), alias.ttl or TTL_S, "TXT", (f'"{alias.text}"',))
        return len(self._answers) > before

    def _resolve(self, path: Path, rdtype: str) -> Path | None:
        """Adds the CNAMEs from the name on. The name that they lead to; None: no further."""
        been: list[str] = []
        while alias := self._alias(path):
            if len(been) == CHAIN_MAX:
                return None
            if rdtype == "TXT" and self._alias_texts(path, alias):
                return None
            target = alias.host.rstrip(".") + "."
            been.append(name_of(path))
            self._add(name_of(path), alias.ttl or TTL_S, "CNAME", (target,))
            path = path_of(target)
            if rdtype == "CNAME" or target in been or path[: len(DOMAIN)] != DOMAIN:
                return None
        return path

    def answer(self, name: str, rdtype: str) -> tuple[str, list[Record]]:
        """The response code, and the answer section in any order."""
        self._answers, self._visits = [], 0
        path = self._resolve(path_of(name), rdtype)
        rcode = self._answer_last(path, rdtype) if path else "NOERROR"
        if len(self._answers) > 1:
            least = min(TTL_S, *(record[1] for record in self._answers))
            self._answers = [(owner, least, kind, data) for owner, _, kind, data in self._answers]
        return rcode, sorted(self._answers)

    def _answer_last(self, path: Path, rdtype: str) -> str:
        before = len(self._answers)
        if self._is_kubernetes and not self._has_data(path, rdtype):
            pass
        elif self._is_kubernetes and rdtype == "SRV" and len(path) == 5 and path[2] == "svc":
            self._services(name_of(path), self._ports(path))
        else:
            self._by_type(path, rdtype)
        has_data = len(self._answers) > before or path == DOMAIN or self._exists(path)
        return "NOERROR" if has_data else "NXDOMAIN"
