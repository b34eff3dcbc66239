"""Network namespaces for tests/bench/node_local.py: a node, a pod on it, and another node with etcd and the cluster's DNS,
to which rules like kube-proxy's lead. On the node is either a skydns with the flags of node-local.yaml and its exechealthz,
or CoreDNS as NodeLocal DNSCache. Needs root, ip and nft.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from measuring import TESTS

from answers import data
from answers.servers import COREDNS, write
from nodes import flags
from programs import ETCD, Program, is_etcd_healthy, reserve_port, wait_until
from records import DOMAIN, SVC, value

sys.path.append(str(TESTS / "integration/faults"))
from netns import Network, network_missing  # noqa: E402

SCRIPT = TESTS.parent / "docker/node-local/node-local"
LINK_LOCAL, SERVICE, UPSTREAM = "169.254.20.10", "10.96.0.10", "10.96.0.12"
BOTH = f"{LINK_LOCAL},{SERVICE}"
KEYS = f"{SVC}/default/kubernetes/a\t{value('10.96.0.1')}\n/kube2sky/{DOMAIN}/store\t1\n"
# kubernetes' cluster/addons/dns/nodelocaldns/nodelocaldns.yaml, without its metrics. Other names are not asked for here.
COREFILE = f"""{DOMAIN}:53 {{
    errors
    cache {{
        success 9984 30
        denial 9984 5
    }}
    reload
    loop
    bind {LINK_LOCAL} {SERVICE}
    forward . {UPSTREAM} {{
        force_tcp
    }}
    health {LINK_LOCAL}:8080
}}
"""


def missing() -> str:
    """Why it cannot be measured here; empty if it can."""
    if reason := network_missing():
        return reason
    return "" if shutil.which("nft") else "no nft program (Debian package nftables)"


def rules() -> str:
    return f"""table ip kube-proxy {{
    map services {{ type ipv4_addr : ipv4_addr; elements = {{ {SERVICE} : OTHER, {UPSTREAM} : OTHER }}; }}
    chain forwarded {{ type nat hook prerouting priority dstnat; meta l4proto {{ tcp, udp }} th dport 53 dnat to ip daddr map @services; }}
    chain own {{ type nat hook output priority -100; meta l4proto {{ tcp, udp }} th dport 53 dnat to ip daddr map @services; }}
    chain sources {{ type nat hook postrouting priority srcnat; ip daddr OTHER masquerade; }}
}}"""


# Stands for a full table, which would be one for all namespaces: no connection that is not tracked yet passes.
FULL = """table ip full {
    chain in { type filter hook input priority filter; ct state new drop; }
    chain out { type filter hook output priority filter; ct state new drop; }
    chain through { type filter hook forward priority filter; ct state new drop; }
}"""


class World:
    """A context manager. `node`, `pod` and `other` are the namespaces' numbers."""

    node, pod, other = range(3)

    def __init__(self, folder: Path, build: Path, services: int):
        self._folder, self._bin, self._tools = folder, build / "bin", build / "tests/bench"
        self._services, self._programs = services, []
        self.network = Network(count=3)

    def __enter__(self) -> "World":
        self.network.__enter__()
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc) -> None:
        for program in reversed(self._programs):
            program.kill()
        self.network.__exit__()

    def run(self, where: int, *command: str, stdin: str | None = None) -> str:
        argv = [*self.network.command(where), *map(str, command)]
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise ValueError(f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def programs(self) -> list[Program]:
        return list(self._programs)

    def nft(self, text: str) -> None:
        self.run(self.node, "nft", "-f", "-", stdin=text)

    def _add(self, where: int, name: str, *argv: object) -> Program:
        self._programs.append(Program(name, [*self.network.command(where), *map(str, argv)]))
        return self._programs[-1]

    def _start(self) -> None:
        here, other = self.network.addresses[self.node], self.network.addresses[self.other]
        port = reserve_port()
        self.etcd_url, peer = f"http://{other}:{port}", f"http://{other}:{reserve_port()}"
        argv = [ETCD, "--name", "dns", "--data-dir", self._folder / "etcd", "--logger", "zap", "--log-level", "warn"]
        argv += ["--listen-client-urls", self.etcd_url, "--advertise-client-urls", self.etcd_url]
        argv += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"dns={peer}"]
        etcd = self._add(self.other, "etcd", *argv).start()
        etcd.wait_ready(lambda: is_etcd_healthy(port, other), "healthy")
        lines = data.key_lines(self._services).decode() + KEYS
        self.run(self.other, self._tools / "kube2sky/bench_store", self.etcd_url, "loop", "8", stdin=lines)
        self.central = self._add(self.other, "central", self._bin / "skydns", *self._central_flags(other)).start()
        self.central.wait_line("ready for queries on .* for udp://")
        self.run(self.node, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        self.run(self.node, "ip", "route", "add", f"{UPSTREAM}/32", "via", other)
        self.run(self.pod, "ip", "route", "add", f"{SERVICE}/32", "via", here)
        self.nft(rules().replace("OTHER", other))

    def _central_flags(self, address: str) -> list[str]:
        return [f"-machines={self.etcd_url}", f"-domain={DOMAIN}.", "-no-rec", f"-addr={address}:53", "-schema=kubernetes"]

    def start_skydns(self) -> Program:
        state = self._folder / "state"
        state.mkdir(mode=0o700)
        argv = flags.of_program("skydns", {
            "machines": self.etcd_url,
            "ca-cert": "",
            "tls-pem": "",
            "tls-key": "",
            "http-socket": str(state / "skydns"),
            "snapshot": str(state / "snapshot"),
        })  # fmt: skip
        upstream = f"-nameservers={self.network.addresses[self.other]}:53"
        self.local = self._add(self.node, "skydns", self._bin / "skydns", *argv, upstream).start()
        wait_until(lambda: (state / "snapshot").exists(), "its snapshot")
        here = {"/run/probes/": f"{state}/", "node-local ": f"{SCRIPT} ", "exechealthz -": f"{self._bin}/exechealthz -"}
        argv = flags.of_program("exechealthz", {})
        for known, path in here.items():
            argv = [text.replace(known, path) for text in argv]
        self._add(self.node, "exechealthz", self._bin / "exechealthz", *argv).start()
        return self.local

    def start_coredns(self) -> Program:
        """NodeLocal DNSCache makes interface and rules itself, and leaves them there."""
        self.run(self.node, SCRIPT, "on", BOTH)
        self.local = self._add(self.node, "coredns", COREDNS, "-conf", write(self._folder / "Corefile", COREFILE))
        self.local.start()
        return self.local

    def ready(self) -> None:
        """Until the node has the Service's address, and a pod's question is answered."""
        wait_until(lambda: SERVICE in self.run(self.node, "ip", "addr", "show"), "the Service's address")
        name = data.name(0)
        command = ["dig", f"@{SERVICE}", name, "+short", "+timeout=1", "+tries=1"]
        argv = [*self.network.command(self.pod), *command]

        def is_answered() -> bool:
            return subprocess.run(argv, capture_output=True, text=True, timeout=60).stdout.strip() == data.ip(0)

        wait_until(is_answered, f"answers {name}", 30.0)
