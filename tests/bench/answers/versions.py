"""Which versions of the other servers were measured: each is asked."""

import re
import subprocess

from answers.servers import GDNSD, Kind

# Of each server, what makes it print its version.
_FLAGS = {
    GDNSD: "version",
    "nsd": "-v",
    "knot": "-V",
    "unbound": "-V",
    "dnsmasq": "--version",
    "dnsdist": "--version",
    "bind": "-v",
    "coredns": "-version",
}
_ASKED_S = 10.0


def parse(output: str) -> str:
    """The first version number in it, as in `CoreDNS-1.11.1`; "" if there is none."""
    found = re.search(r"\d+(\.\d+)+", output)
    return found[0] if found else ""


def _ask(kind: Kind) -> str:
    """Some print it as an error, or exit with 1."""
    try:
        told = subprocess.run(
            [kind.command, _FLAGS[kind.name]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ASKED_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return parse(told.stdout.decode(errors="replace"))


def versions_of(kinds: list[Kind]) -> dict[str, str]:
    """By the servers' names; only of those that told theirs."""
    asked = {kind.name: kind for kind in kinds if kind.name in _FLAGS}
    told = {name: _ask(kind) for name, kind in asked.items()}
    return {name: version for name, version in told.items() if version}
