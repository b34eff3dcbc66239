"""docker/node-local/node-local in network namespaces of the test's own, and with the real skydns and exechealthz: the
Service's address follows their health, and kube-proxy's rule (one like it) answers meanwhile. Needs root, ip and nft.
"""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import manifests
import pytest
from bed import BIN_DIR
from programs import ETCD, Program, is_etcd_healthy, reserve_port, wait_equal, wait_until
from records import SVC, value

sys.path.insert(0, str(Path(__file__).parent / "faults"))
from netns import Network, network_missing  # noqa: E402

SCRIPT = Path(__file__).resolve().parents[2] / "docker/node-local/node-local"
LINK_LOCAL, SERVICE = "169.254.20.10", "10.96.0.10"
BOTH = f"{LINK_LOCAL},{SERVICE}"
WEB = "web.default.svc.cluster.local"
# Somebody else's table.
OTHERS = "table ip firewall { chain input { type filter hook input priority filter; policy accept; tcp dport 22 accept; }; }"


class Node:
    """A namespace, and the script in it."""

    def __init__(self, network: Network, number: int = 0):
        self.prefix = network.command(number)
        self.address = network.addresses[number]
        self.path: str | None = None  # a folder before all others of PATH

    def run(self, *command: str, stdin: str | None = None) -> subprocess.CompletedProcess:
        wrapped = ["env", f"PATH={self.path}:/usr/sbin:/usr/bin:/sbin:/bin", *command] if self.path else command
        return subprocess.run([*self.prefix, *wrapped], input=stdin, capture_output=True, text=True, timeout=60)

    def output(self, *command: str, stdin: str | None = None) -> str:
        done = self.run(*command, stdin=stdin)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def node_local(self, *arguments: str) -> None:
        assert self.output(str(SCRIPT), *arguments) == ""

    def check(self, *arguments: str) -> list[str]:
        """The findings."""
        done = self.run(str(SCRIPT), "check", *arguments)
        lines = [line for line in done.stdout.splitlines() if not line.startswith("note: ")]
        assert done.stderr == "" and done.returncode == (1 if lines else 0)
        return lines

    def nft(self, text: str) -> None:
        self.output("nft", "-f", "-", stdin=text)

    def ruleset(self) -> str:
        return self.output("nft", "list", "ruleset")

    def links(self) -> dict[str, dict]:
        return {link["ifname"]: link for link in json.loads(self.output("ip", "-json", "-d", "addr", "show"))}

    def addresses(self) -> list[str]:
        link = self.links().get("skydns")
        return sorted(one["local"] for one in link["addr_info"]) if link else []

    def ask(self, *flags: str, at: str = SERVICE) -> str:
        """Returns what dig prints for WEB; empty without an answer."""
        done = self.run("dig", f"@{at}", WEB, "+short", "+timeout=1", "+tries=1", *flags)
        return done.stdout.strip() if done.returncode == 0 else ""


def missing() -> str:
    return network_missing() or ("" if shutil.which("nft") else "no nft program (Debian package nftables)")


@pytest.fixture
def network():
    reason = missing()
    if reason:
        pytest.skip(reason)
    with Network(count=3) as network:
        yield network


@pytest.fixture
def node(network) -> Node:
    return Node(network)


# ---- The script ----


def rules_of(*addresses: str) -> list[str]:
    """The lines with notrack, as nft lists them."""
    inside = addresses[0] if len(addresses) == 1 else f"{{ {', '.join(sorted(addresses))} }}"
    family = "ip6" if ":" in addresses[0] else "ip"
    return [f"{family} {side}addr {inside} meta l4proto {{ tcp, udp }} th {side}port 53 notrack" for side in "ds"]


def notrack_lines(node: Node) -> list[str]:
    return [line.strip() for line in node.ruleset().splitlines() if "notrack" in line]


def test_on_off_on_remove(node):
    """Each of them twice; in the end nothing is left, and what others have is as before."""
    node.nft(OTHERS)
    before = node.ruleset(), list(node.links())
    for _ in range(2):
        node.node_local("on", BOTH)
        assert node.addresses() == sorted([LINK_LOCAL, SERVICE])
        assert notrack_lines(node) == 2 * rules_of(LINK_LOCAL, SERVICE)
        assert node.check(BOTH) == []
    for _ in range(2):
        node.node_local("off", BOTH)
        assert node.addresses() == [LINK_LOCAL] and notrack_lines(node) == 2 * rules_of(LINK_LOCAL)
        assert node.check(BOTH) == [f"{SERVICE} is not on interface skydns"]
    node.node_local("on", BOTH)
    assert node.addresses() == sorted([LINK_LOCAL, SERVICE])
    node.node_local("on", LINK_LOCAL)
    assert node.addresses() == [LINK_LOCAL], "exactly those"
    assert before[0].strip() in node.ruleset()
    for _ in range(2):
        node.node_local("remove", BOTH)
        assert (node.ruleset(), list(node.links())) == before
    node.node_local("off", BOTH)
    assert node.addresses() == [LINK_LOCAL], "off leaves it, whatever was before"
    node.node_local("off", SERVICE)
    assert (node.ruleset(), list(node.links())) == before


def test_ipv6_and_other_spellings(node):
    both = "fd00::a,169.254.20.10,fd00:0:0::B"
    node.node_local("on", both)
    node.node_local("on", both)
    assert node.addresses() == [LINK_LOCAL, "fd00::a", "fd00::b"]
    assert notrack_lines(node) == 2 * [*rules_of(LINK_LOCAL), *rules_of("fd00::a", "fd00::b")]
    assert node.check(both) == []
    # Usable at once: an address that is still tentative could not be bound.
    node.output("python3", "-c", "import socket; socket.socket(socket.AF_INET6).bind(('fd00::b', 53))")
    node.node_local("off", both)
    assert node.addresses() == [LINK_LOCAL]


def test_a_kernel_without_dummy_gets_a_bridge(node, tmp_path):
    real = shutil.which("ip")
    wrapper = tmp_path / "ip"
    wrapper.write_text(f'#!/bin/sh\ncase "$*" in *"type dummy"*) echo "Unknown device type." >&2; exit 2;; esac\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    node.path = str(tmp_path)
    node.node_local("on", BOTH)
    links = node.links()
    assert links["skydns"]["linkinfo"]["info_kind"] == "bridge"
    assert [name for name, link in links.items() if link.get("master") == "skydns"] == []
    assert node.check(BOTH) == []
    node.node_local("remove")
    assert node.addresses() == [] and "skydns" not in node.links()


def test_without_notrack_and_link_local_only(node):
    node.node_local("on", BOTH)
    node.node_local("on", "--no-notrack", BOTH)
    assert node.addresses() == sorted([LINK_LOCAL, SERVICE]) and "skydns" not in node.ruleset()
    assert node.check("--no-notrack", BOTH) == []
    node.node_local("on", BOTH, "--link-local-only")
    assert node.addresses() == [LINK_LOCAL] and notrack_lines(node) == 2 * rules_of(LINK_LOCAL)
    node.node_local("remove")


def test_an_address_of_somebody_else_is_refused(node):
    """kube-proxy in IPVS mode has the Service's address on an interface of its own."""
    node.output("ip", "link", "add", "kube-ipvs0", "type", "bridge")
    node.output("ip", "addr", "add", f"{SERVICE}/32", "dev", "kube-ipvs0")
    done = node.run(str(SCRIPT), "on", BOTH)
    assert done.returncode == 1
    assert f"{SERVICE} is on interface kube-ipvs0 already" in done.stderr and "--link-local-only" in done.stderr
    assert node.addresses() == []
    node.node_local("on", "--link-local-only", BOTH)


def test_an_interface_of_somebody_else_stays(node):
    node.output("ip", "link", "add", "skydns", "type", "veth", "peer", "name", "skydns1")
    for command in ("on", "off", "remove", "check"):
        done = node.run(str(SCRIPT), command, BOTH)
        assert done.returncode == 1 and "interface skydns is somebody else's" in done.stderr
    assert "skydns" in node.links()


@pytest.mark.parametrize("arguments, told", [
    ([], '"": no such command; expected on, off, check or remove'),
    (["up", BOTH], '"up": no such command'),
    (["on"], "on: no address; expected addresses like"),
    (["on", "10.96.0"], '"10.96.0" is no unicast IP address; expected'),
    (["on", "10.96.0.256"], '"10.96.0.256" is no unicast IP address'),
    (["on", "127.0.0.1"], '"127.0.0.1" is no unicast IP address'),
    (["on", "::1"], '"::1" is no unicast IP address'),
    (["on", "10.96.0.10; flush ruleset"], '"10.96.0.10; flush ruleset" is no unicast IP address'),
    (["on", f"{BOTH},"], '"" is no unicast IP address'),
    (["on", ",".join(f"10.0.0.{n}" for n in range(1, 18))], "expected at most 16 addresses"),
    (["on", BOTH, SERVICE], "expected one list of addresses, with commas"),
    (["on", "--notrack", BOTH], "--notrack: no such flag; expected --no-notrack or --link-local-only"),
    (["on", "--link-local-only", SERVICE], f"none of {SERVICE} is link-local"),
])  # fmt: skip
def test_wrong_arguments_are_named(arguments, told):
    """Before anything is touched: no root needed."""
    done = subprocess.run([str(SCRIPT), *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("node-local: ") and told in done.stderr


# ---- Rules of others ----

# Rule, and whether DNS of the addresses can meet it.
RULES = {
    "udp dport 53 drop": True,
    "ip daddr 10.96.0.0/16 udp dport 53 counter reject": True,
    "tcp dport { 22, 50-60 } drop": True,
    "ct state invalid,untracked drop": True,
    "ct state != established drop": True,
    'iifname "eth0" drop': True,
    "udp sport 53 drop": True,
    "udp dport 5353 drop": False,
    "ip daddr 10.97.0.0/16 udp dport 53 drop": False,
    "tcp dport { 22, 80-90 } drop": False,
    "ct state invalid drop": False,
    "ip saddr != 127.0.0.0/8 ip daddr 127.0.0.0/8 ct status dnat drop": False,
    "meta mark & 0x8000 == 0x8000 drop": False,
    "ip protocol icmp drop": False,
    'udp dport 53 accept comment "not drop"': False,
}


def test_check_names_the_rules_that_drop(node):
    node.node_local("on", BOTH)
    for rule, is_told in RULES.items():
        node.nft(f"table ip firewall {{ chain input {{ type filter hook input priority filter;\n{rule}\n}}; }}")
        lines = node.check(BOTH)
        assert len(lines) == is_told, f"{rule}: {lines}"
        if is_told:
            assert lines[0].startswith("table ip firewall, chain input, handle ") and " may drop DNS: " in lines[0]
        node.nft("delete table ip firewall")


def test_check_follows_jumps_and_policies(node):
    """What only forwarded packets meet is passed over."""
    node.node_local("on", BOTH)
    chains = "chain deep {\nudp dport 53 drop\n}; chain middle {\njump deep\n};"
    entry = "chain entry {{ type filter hook {} priority filter; policy {};\n{}\n}};"
    node.nft(f"table inet firewall {{ {chains} {entry.format('forward', 'drop', 'jump middle')} }}")
    assert node.check(BOTH) == []
    node.nft("delete table inet firewall")
    node.nft(f"table inet firewall {{ {chains} {entry.format('input', 'accept', 'jump middle')} }}")
    (line,) = node.check(BOTH)
    assert line.startswith("table inet firewall, chain deep, handle ")
    node.nft("delete table inet firewall")
    node.nft(f"table inet firewall {{ {entry.format('input', 'drop', 'ct state established accept')} }}")
    (line,) = node.check(BOTH)
    assert line == "table inet firewall, chain entry drops by its policy: expected a rule that accepts port 53 untracked"
    node.nft("insert rule inet firewall entry udp dport 53 accept")
    assert node.check(BOTH) == []


# ---- With skydns and exechealthz ----


class World:
    """Namespaces: a node with a skydns, a pod that sends the Service's address to the node, and another node with
    etcd and another skydns, to which a rule like kube-proxy's leads.
    """

    def __init__(self, network: Network, folder: Path):
        self.node, self.pod, self.other = (Node(network, number) for number in range(3))
        self.programs: list[Program] = []
        self._folder = folder

    def start(self) -> None:
        port = reserve_port()
        url, peer = f"http://{self.other.address}:{port}", f"http://{self.other.address}:{reserve_port()}"
        argv = [ETCD, "--name", "dns", "--data-dir", str(self._folder / "etcd"), "--logger", "zap", "--log-level", "warn"]
        argv += ["--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer]
        argv += ["--initial-advertise-peer-urls", peer, "--initial-cluster", f"dns={peer}"]
        self.etcd = self._add("etcd", self.other, argv).start()
        self.etcd.wait_ready(lambda: is_etcd_healthy(port, self.other.address), "healthy")
        self.other.output("etcdctl", f"--endpoints={url}", "put", f"{SVC}/default/web/a", value("10.9.0.1"))
        flags = [f"-machines={url}", "-domain=cluster.local.", "-no-rec"]
        self.backend = self.start_skydns(self.other, *flags, f"-addr={self.other.address}:53", "-nsid=other")
        self.flags = flags
        self.skydns = self.start_skydns(self.node, *flags, f"-addr={LINK_LOCAL}:53,{SERVICE}:53", "-freebind", "-nsid=here")
        self.node.output("sysctl", "-qw", "net.ipv4.ip_forward=1")
        self.pod.output("ip", "route", "add", f"{SERVICE}/32", "via", self.node.address)
        self.node.nft(f"""table ip kube-proxy {{
            chain services {{ type nat hook prerouting priority dstnat;
                ip daddr {SERVICE} meta l4proto {{ tcp, udp }} th dport 53 dnat to {self.other.address}
            }}
            chain sources {{ type nat hook postrouting priority srcnat;
                ip daddr {self.other.address} masquerade
            }}
        }}""")

    def _add(self, name: str, where: Node, argv: list[str]) -> Program:
        self.programs.append(Program(name, [*where.prefix, *argv]))
        return self.programs[-1]

    def start_skydns(self, where: Node, *flags: str) -> Program:
        program = self._add("skydns", where, [str(BIN_DIR / "skydns"), *flags]).start()
        program.wait_line("ready for queries on .* for udp://")
        return program

    def start_exechealthz(self) -> Program:
        """Starts it with the commands of node-local.yaml, and a shorter period."""
        run = str(SCRIPT)
        flags = [f"-dns={WEB},A,{LINK_LOCAL}", "-period=100ms", "-timeout=5s", "-threshold=2", "-repeat=200ms"]
        flags += ["-address=127.0.0.1", f"-port={reserve_port()}", "-quiet"]
        at_end = f'[ "$EXECHEALTHZ_REASON" != "exechealthz stops" ] || exec {run} remove'
        flags += [f"-on-unhealthy={at_end}; {run} off {BOTH}", f"-on-healthy={run} on {BOTH}"]
        return self._add("exechealthz", self.node, [str(BIN_DIR / "exechealthz"), *flags]).start()

    def start_pod(self, name: str, *flags: str, is_waiting: bool = True) -> tuple[Program, Program]:
        """Starts skydns and exechealthz of a pod with what node-local.yaml gives them for an update."""
        probes = self._folder / name
        probes.mkdir()
        addresses = f"-addr={LINK_LOCAL}:53,{SERVICE}:53"
        more = ["-freebind", "-reuse-port", f"-snapshot={self._folder}/snapshot", "-http-addr=127.0.0.1:10055"]
        argv = [*self.flags, addresses, *more, f"-http-socket={probes}/skydns", "-nsid=here", *flags]
        skydns = self._add("skydns", self.node, [str(BIN_DIR / "skydns"), *argv]).start()
        if is_waiting:
            skydns.wait_line("ready for queries on .* for udp://")
        (its,) = [one for one in manifests.containers("node-local.yaml") if one.program == "exechealthz"]
        (at_failure,) = [text for text in its.arguments if text.startswith("-on-unhealthy=")]
        for here, there in (
            ("exechealthz -health", f"{BIN_DIR}/exechealthz -health"),
            ("exec node-local", f"exec {SCRIPT}"),
            ("node-local off", f"{SCRIPT} off"),
            ("/run/probes/", f"{probes}/"),
            (f"{LINK_LOCAL},10.96.0.10", BOTH),
        ):
            assert here in at_failure
            at_failure = at_failure.replace(here, there)
        argv = [f"-dns={WEB},A,{LINK_LOCAL}", "-period=100ms", "-timeout=5s", "-threshold=2", "-repeat=200ms", "-quiet"]
        argv += [f"-address=unix:{probes}/healthz", at_failure, f"-on-healthy={SCRIPT} on {BOTH}"]
        healthz = self._add("exechealthz", self.node, [str(BIN_DIR / "exechealthz"), *argv]).start()
        check = [str(BIN_DIR / "exechealthz"), f"-healthcheck=http://unix:{probes}/healthz:/healthz"]
        healthz.wait_ready(lambda: subprocess.run(check, capture_output=True, timeout=20).returncode == 0, "healthy")
        return skydns, healthz

    def answerer(self, *flags: str) -> str:
        """Returns who answers the pod at the Service's address: "here", "other", or empty."""
        text = self.pod.run("dig", f"@{SERVICE}", WEB, "+nsid", "+timeout=1", "+tries=1", *flags).stdout
        names = [name for name in ("here", "other") if f'("{name}")' in text and "\t10.9.0.1\n" in text]
        return "".join(names)

    def close(self) -> None:
        for program in reversed(self.programs):
            program.kill()


@pytest.fixture
def world(network, tmp_path):
    world = World(network, tmp_path)
    try:
        world.start()
        yield world
    finally:
        world.close()  # before the namespaces are deleted


def test_who_answers_a_pod(world):
    """The local skydns with the rules alone: with the address but no rules, kube-proxy's way works, as without both."""
    assert world.answerer() == "other"
    world.node.node_local("on", BOTH)
    assert world.answerer() == world.answerer("+tcp") == "here"
    world.node.node_local("on", "--no-notrack", BOTH)
    assert world.answerer() == "other"
    world.node.node_local("on", BOTH)
    world.node.node_local("off", BOTH)
    assert world.answerer() == world.answerer("+tcp") == "other"
    assert world.node.ask(at=LINK_LOCAL) == "10.9.0.1"


def test_a_limit_of_connections_is_none_for_dns(world):
    """A rule that lets one tracked connection through stands for a full table, which is one for all namespaces."""
    world.node.nft("""table ip full { chain input { type filter hook input priority filter;
        ct state new ct count over 1 drop
    }; }""")
    world.node.node_local("on", BOTH)
    assert [world.answerer() for _ in range(3)] == ["here"] * 3
    world.node.node_local("on", "--no-notrack", LINK_LOCAL)
    assert "" in [world.node.ask(at=LINK_LOCAL) for _ in range(3)]


def test_the_address_follows_the_health(world):
    node = world.node
    exechealthz = world.start_exechealthz()  # unhealthy at first: off makes the address that it probes
    wait_equal(node.addresses, sorted([LINK_LOCAL, SERVICE]), "healthy")
    wait_equal(world.answerer, "here", "the local skydns")
    world.skydns.kill()
    wait_equal(node.addresses, [LINK_LOCAL], "the Service's address is kube-proxy's")
    wait_equal(world.answerer, "other", "another skydns")
    world.skydns.start()  # with -freebind, although the Service's address is away
    wait_equal(node.addresses, sorted([LINK_LOCAL, SERVICE]), "healthy again")
    wait_equal(world.answerer, "here", "the local skydns")
    world.skydns.signal(signal.SIGSTOP)
    wait_equal(world.answerer, "other", "another skydns, while the local one hangs")
    world.skydns.signal(signal.SIGCONT)
    wait_equal(world.answerer, "here", "the local skydns")
    node.nft("delete table inet skydns")
    wait_until(lambda: "notrack" in node.ruleset(), "the rules are back")
    exechealthz.stop()
    assert node.addresses() == [] and "skydns" not in node.ruleset()


def test_an_update_takes_over_and_leaves_the_addresses(world):
    node, both = world.node, sorted([LINK_LOCAL, SERVICE])
    world.skydns.kill()
    skydns, healthz = world.start_pod("old")
    wait_equal(node.addresses, both, "healthy")
    new_skydns, new_healthz = world.start_pod("new")
    assert skydns.wait(40) == 0
    healthz.stop()
    assert node.addresses() == both and world.answerer() == world.answerer("+tcp") == "here"
    # One that never takes over takes nothing away, either.
    nowhere = f"-machines=http://127.0.0.1:{reserve_port()}"
    failed_skydns, failed_healthz = world.start_pod("failed", nowhere, "-snapshot-max=1ms", is_waiting=False)
    new_skydns.wait_line("about to take over")
    failed_healthz.stop()
    failed_skydns.stop()
    assert node.addresses() == both and world.answerer() == "here"
    # An uninstall does, while its own skydns still answers.
    new_healthz.stop()
    assert node.addresses() == [] and "skydns" not in node.ruleset()
    wait_equal(world.answerer, "other", "another skydns")
