"""A newcomer's way: the commands of docs/operator/install.md, as they are there, on an empty cluster, until a name is answered
and `kubectl dns doctor` finds nothing; once by the chart, once by the manifests. What they print is compared with the page.
And the same pods with the seccomp profile of docker/seccomp.

podman_node.py says what is real. helm and kubectl are; what kubectl asks of kubelets is played (fake_kubectl.py).
"""

import json
import re
import subprocess
import time
from pathlib import Path

import chart
import peers
import pytest
from cluster import require_peers
from kubectl_dns import KUBELET, Plugin
from manifests import ROOT
from podman import VERSION
from podman_node import NAME, ClusterOfPodman, PodmanNode
from release_bed import etcd_archive

pytestmark = pytest.mark.pod

PROFILE = ROOT / "docker/seccomp/kube2sky-skydns.json"
PAGE = ROOT / "docs/operator/install.md"
REGISTRY = "registry.example/dns"
PATIENCE_S = 120.0
# On an idle machine 20 s; what is measured here is the whole way, with the commands' own times.
NEWCOMER_S = 120.0
_ETCD = "3.4"


def transcripts() -> dict[str, list[tuple[str, str]]]:
    """Of the page's code blocks that show commands after `$ `: by the heading above, (command, output) in order."""
    found, heading = {}, ""
    for part in re.split(r"^(## .*|```\n[^`]*^```)$", PAGE.read_text(), flags=re.M):
        if part.startswith("## "):
            heading = part[3:]
        elif part.startswith("```\n$ "):
            entries = re.split(r"^\$ ", part[4:-3], flags=re.M)[1:]
            pairs = [re.match(r"((?:.*\\\n)*.*)\n((?:.|\n)*)", one).groups() for one in entries]
            found.setdefault(heading, []).extend(pairs)
    return found


def matches(page: str, said: str) -> bool:
    """A line `…` stands for any lines; names of pods and revisions differ each time."""

    def same(text: str) -> str:
        return re.sub(r"revision \d+", "revision N", re.sub(r"skydns-[a-z0-9]+-[a-z0-9]{5}\b", "skydns-POD", text))

    lines = [r"(?:.*\n)*" if line == "…" else re.escape(line) + r"\n" for line in same(page).splitlines()]
    return re.fullmatch("".join(lines), same(said)) is not None


def test_the_page_has_both_ways():
    found = transcripts()
    assert [*found] == ["With Helm", "With manifests"]
    assert all(pairs[-1][0] == "kubectl dns doctor" and "faults: 0\n" in pairs[-1][1] for pairs in found.values())


@pytest.fixture(scope="module")
def images(bare_podman, released, tmp_path_factory):
    """The release's images and an etcd, called as they are in the page's commands."""
    bare_podman.load(tmp_path_factory.mktemp("etcd"), etcd_archive(_ETCD))
    named = {"etcd": (f"localhost/released-etcd:{_ETCD}", _ETCD)} | {name: (image, VERSION) for name, image in released.items()}
    for name, (image, tag) in named.items():
        bare_podman.run("tag", image, f"{REGISTRY}/{name}:{tag}")


@pytest.fixture(scope="module")
def cluster(space, images, tmp_path_factory):
    """Without a DNS."""
    require_peers()
    cluster = ClusterOfPodman(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        cluster.kubectl("delete", "clusterrole,clusterrolebinding", "kube2sky")
        cluster.kubectl("-n", "kube-system", "delete", "role,rolebinding,serviceaccount", "kube2sky")
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    """A kubelet's folder of seccomp profiles."""
    return tmp_path_factory.mktemp("seccomp")


@pytest.fixture(scope="module")
def node(cluster, bare_podman, space, profiles, tmp_path_factory):
    node = PodmanNode(tmp_path_factory.mktemp("node"), cluster, bare_podman, space, profiles)
    node.start()
    yield node
    node.stop()


class Newcomer(Plugin):
    """A shell with helm, kubectl with its plugin, and dig on the node."""

    def __init__(self, folder: Path, cluster, node: PodmanNode, space):
        super().__init__(folder, {"real": peers.program("kubernetes", "kubectl"), "nodes": {NAME: KUBELET}})
        self.cluster, self.node = cluster, node
        tools = folder / "tools"
        (tools / "helm").symlink_to(chart.helm_path())
        inside = " ".join(space.inside)
        (tools / "dig").write_text(f'#!/bin/sh\nexec {inside} /usr/bin/dig "$@"\n')
        (tools / "dig").chmod(0o755)
        (tools / "kubectl-dns").symlink_to(ROOT / "docker/kubectl/kubectl-dns")
        self.environment |= {"KUBECONFIG": cluster.kubeconfig, "HOME": str(folder)}
        # Like the page's reader, who has unpacked the sources.
        self._settings = ":"
        self.sources = folder / "sources"
        self.sources.mkdir()
        (self.sources / "docker").symlink_to(ROOT / "docker")

    def say(self, command: str) -> str:
        """What it prints; it must succeed."""
        self.state |= {"ports": self.node.ports(), "exec": self.node.exec_commands()}
        self.write_state()
        done = subprocess.run(
            ["sh", "-c", f"{self._settings}\n{command}"], cwd=self.sources, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0, f"{self.node.log_text()}\n{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def follow(self, pairs: list[tuple[str, str]]) -> str:
        """Runs the commands of the page; all that is shown, as a page has it."""
        shown, different = "", []
        for command, output in pairs:
            if re.match(r"\w+=\S+( |$)", command):
                self._settings = command
            elif command.startswith("dig "):
                self.node.lead_dns()
            said = self.say(command)
            shown += f"$ {command}\n{said}"
            if not matches(output, said):
                different.append(command)
        assert not different, f"{PAGE.name} differs for {different}:\n{shown}"
        return shown


@pytest.fixture
def newcomer(cluster, node, space, tmp_path):
    return Newcomer(tmp_path / "newcomer", cluster, node, space)


@pytest.fixture
def installed(newcomer):
    """A function that installs by the chart, with more flags of helm."""

    def install(*flags: str) -> None:
        (first, *_), (rollout, *_), (ask, address), (doctor, found) = transcripts()["With Helm"]
        newcomer.say(f"{first} {' '.join(flags)}")
        newcomer.follow([(rollout, "…\n"), (ask, address), (doctor, found)])

    yield install
    newcomer.say(WAYS["With Helm"])


WAYS = {"With Helm": "helm uninstall dns --namespace kube-system", "With manifests": "kubectl delete -f kube-dns.yaml"}


@pytest.mark.parametrize("way", WAYS)
def test_from_nothing_to_a_healthy_dns(newcomer, note, way):
    begun_s = time.monotonic()
    newcomer.follow(transcripts()[way])
    seconds = time.monotonic() - begun_s
    note(f"{way}: first answer and a clean doctor after {seconds:.0f} s")
    newcomer.say(WAYS[way])
    assert seconds < NEWCOMER_S


# ---- seccomp ----


def strict_profile() -> dict:
    """A system call that the profile does not name ends its process, instead of an error that may go unseen."""
    profile = json.loads(PROFILE.read_text())
    del profile["defaultErrnoRet"]
    return profile | {"defaultAction": "SCMP_ACT_KILL_PROCESS"}


def test_a_call_outside_of_the_seccomp_profile_ends_it(bare_podman, images, profiles):
    """Otherwise the next test would show nothing."""
    profile = strict_profile()
    trial = ("run", "--rm", "--network=none", "--security-opt", f"seccomp={profiles / 'trial.json'}", f"{REGISTRY}/skydns:{VERSION}")
    for is_named in (True, False):
        names = profile["syscalls"][0]["names"]
        profile["syscalls"][0]["names"] = names if is_named else [name for name in names if not name.startswith("pread")]
        (profiles / "trial.json").write_text(json.dumps(profile))
        assert (bare_podman.call(*trial, "-version").returncode == 0) == is_named


def test_the_seccomp_profile_names_all_that_is_called(installed, newcomer, node, bare_podman, profiles, note):
    """Etcd, kube2sky, skydns and exechealthz, and what the container runtime calls before and for exec."""
    (profiles / "strict.json").write_text(json.dumps(strict_profile()))
    installed("--set seccompProfile.type=Localhost --set seccompProfile.localhostProfile=strict.json")
    newcomer.say("kubectl create service clusterip web --tcp=80:80")
    newcomer.say("kubectl dns wait service/web")
    address = newcomer.say("kubectl get service web -o jsonpath={.spec.clusterIP}")
    for protocol in ("+notcp", "+tcp"):
        assert newcomer.say(f"dig {protocol} +short @10.96.0.10 web.default.svc.cluster.local") == f"{address}\n"
    newcomer.say("kubectl delete service web")
    for name in (one for one in node.containers() if not one.endswith("-infra")):
        state = bare_podman.inspect("container", name)["State"]
        status = Path(f"/proc/{state['Pid']}/status").read_text()
        assert re.search(r"^Seccomp:\s+2$", status, re.M) and state["Running"], name
        bare_podman.run("stop", "-t", "20", name)
        assert bare_podman.inspect("container", name)["State"]["ExitCode"] == 0, name
