"""Today's Kubernetes for the tests, of the programs that tests/peers/build has built: etcd, kube-apiserver with roles
enforced and an audit log, kube-controller-manager, kube-scheduler, and kwok, which plays the kubelets by the stages in
kwok/: Pods run and get addresses, but no container does.

    cluster = Cluster(folder)
    cluster.start()
    cluster.add_nodes(2)
    cluster.kube, cluster.kubectl("get", "nodes"), cluster.kube2sky_flags()
    cluster.stop()

kube2sky's ServiceAccount and its roles are those of docker/manifests/kube-dns.yaml: what is not in them it may not do.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import peers
import pytest
import yaml
from certificates import Authority
from etcd_client import EtcdClient
from kube import Kube
from programs import Program, etcd, is_etcd_healthy, reserve_port, wait_until

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "docker/manifests/kube-dns.yaml"
STAGES = Path(__file__).with_name("kwok")
PEERS = ("kubernetes", "etcd", "kwok")

SERVICE_NETS = "10.96.0.0/16,fd00:10:96::/108"
ACCOUNT = ("kube-system", "kube2sky")
_ADMIN_TOKEN = "admin"
_START_S = 90.0  # only ends a hang
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"  # of nodes

# Those that make a difference to DNS, and what they, kubectl and kubeadm wait for.
_CONTROLLERS = (
    "deployment-controller", "replicaset-controller", "statefulset-controller", "daemonset-controller",
    "job-controller", "endpointslice-controller", "endpointslice-mirroring-controller", "endpoints-controller",
    "namespace-controller", "garbage-collector-controller", "serviceaccount-controller",
    "root-ca-certificate-publisher-controller", "node-lifecycle-controller", "taint-eviction-controller",
    "pod-garbage-collector-controller", "disruption-controller",
)  # fmt: skip

# What kube2sky asked: for each request one line at its end, for a watch also one when it begins.
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "users": [f"system:serviceaccount:{ACCOUNT[0]}:{ACCOUNT[1]}"]},
        {"level": "None"},
    ],
}


def require_peers() -> None:
    """Skips the test, with the reason, if a cluster's programs are not built."""
    if reason := peers.missing(*PEERS):
        pytest.skip(reason)


class Cluster:
    """Not yet started. Its data survives a stop."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.url = f"https://127.0.0.1:{reserve_port()}"
        self.kubeconfig = str(folder / "admin.kubeconfig")
        self.kube: Kube | None = None  # the administrator
        self.token_file = folder / "kube2sky.token"
        self.audit_file = folder / "audit.log"
        self._etcd_port = reserve_port()
        self.etcd = EtcdClient(self._etcd_port)
        self._nodes = 0
        self.programs: dict[str, Program] = {}

    # ---- Start and end ----

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write_files()
        self.kube = self.connect()
        self.programs = self._programs()
        self.start_etcd()
        self.start_apiserver()
        self._create_account()

    def stop(self) -> None:
        """For good; its data is not needed any more."""
        for program in reversed(self.programs.values()):
            program.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_etcd(self) -> None:
        program = self.programs["etcd"].start()
        program.wait_ready(lambda: is_etcd_healthy(self._etcd_port), "healthy", _START_S)

    def start_apiserver(self) -> None:
        self.launch_apiserver()
        self.wait_apiserver()

    def launch_apiserver(self) -> None:
        self.programs["kube-apiserver"].start()

    def wait_apiserver(self) -> None:
        """Until it is ready."""
        self.programs["kube-apiserver"].wait_ready(self._is_ready, "ready", _START_S)
        self._start_clients()

    def _start_clients(self) -> None:
        """Again, if they run: without an API server, their pauses between attempts have grown, up to a minute."""
        clients = [self.programs[name] for name in ("kube-controller-manager", "kube-scheduler", "kwok")]
        for program in clients:
            program.kill()
        self.kube.request("DELETE", _LEASES)  # another kwok would wait for their end
        for program in clients:
            program.start()

    def second_apiserver(self, port: int) -> Program:
        """Started, and ready: another one of the same cluster, on this port. The caller kills it."""
        first = self.programs["kube-apiserver"].argv
        argv = [f"--secure-port={port}" if one.startswith("--secure-port=") else one for one in first]
        program = Program("second kube-apiserver", argv).start()
        kube = self.connect(port=port)
        program.wait_ready(lambda: kube.send("GET", "/readyz", None, {})[0] == 200, "ready", _START_S)
        return program

    def stop_apiserver(self) -> None:
        """SIGTERM, as at an upgrade: it ends its watches and exits."""
        self.programs["kube-apiserver"].stop()

    def kill_apiserver(self) -> None:
        self.programs["kube-apiserver"].kill()

    def restart_apiserver(self) -> None:
        self.stop_apiserver()
        self.start_apiserver()

    def compact(self) -> None:
        """After a restart of the API server, reads and watches from any earlier revision fail."""
        self.etcd.compact()

    def log_text(self) -> str:
        return "\n".join(program.log_text(30) for program in self.programs.values())

    def _is_ready(self) -> bool:
        return self.kube.send("GET", "/readyz", None, {})[0] == 200

    # ---- Programs and their files ----

    def _path(self, name: str) -> str:
        return str(self.folder / name)

    def _write_files(self) -> None:
        authority = Authority(self.folder, "ca")
        self.ca_file = authority.certificate
        authority.sign("apiserver", "127.0.0.1,IP:10.96.0.1")  # its Service's address, too, as Pods call it
        authority.sign("accounts")
        (self.folder / "tokens.csv").write_text(f"{_ADMIN_TOKEN},admin,admin,system:masters\n")
        (self.folder / "audit-policy.yaml").write_text(json.dumps(_AUDIT_POLICY))
        self._write_kubeconfig(self.kubeconfig, {"token": _ADMIN_TOKEN})

    def _write_kubeconfig(self, path: str, user: dict) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority": self.ca_file}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        Path(path).write_text(json.dumps(config))

    def _programs(self) -> dict[str, Program]:
        kubeconfig = f"--kubeconfig={self.kubeconfig}"
        # Their defaults of 20 to 50 requests a second would make a scale of 300 Pods take half a minute.
        client = [kubeconfig, "--kube-api-qps=1000", "--kube-api-burst=1000", "--leader-elect=false", "--secure-port=0"]
        flags = {
            "kube-apiserver": [
                f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
                # Tests read there what objects there were, in the order of their changes.
                "--storage-media-type=application/json",
                "--etcd-compaction-interval=0",
                "--bind-address=127.0.0.1",
                f"--secure-port={self.url.rsplit(':', 1)[1]}",
                "--advertise-address=192.0.2.1",  # it refuses loopback addresses; nobody asks there
                f"--service-cluster-ip-range={SERVICE_NETS}",
                "--authorization-mode=RBAC",
                "--allow-privileged=true",
                "--shutdown-watch-termination-grace-period=100ms",  # without, a stop waits a minute for watches to end
                f"--token-auth-file={self._path('tokens.csv')}",
                f"--tls-cert-file={self._path('apiserver.crt')}",
                f"--tls-private-key-file={self._path('apiserver.key')}",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                f"--service-account-key-file={self._path('accounts.crt')}",
                f"--service-account-signing-key-file={self._path('accounts.key')}",
                f"--audit-policy-file={self._path('audit-policy.yaml')}",
                f"--audit-log-path={self.audit_file}",
            ],
            "kube-controller-manager": [
                *client,
                f"--controllers={','.join(_CONTROLLERS)}",
                f"--root-ca-file={self.ca_file}",
                f"--service-account-private-key-file={self._path('accounts.key')}",
            ],
            "kube-scheduler": client,
        }
        made = {"etcd": etcd(self._path("etcd"), self._etcd_port, reserve_port(), path=peers.program("etcd", "etcd"))}
        for name, arguments in flags.items():
            made[name] = Program(name, [peers.program("kubernetes", name), *arguments])
        stages = [f"--config={path}" for path in sorted(STAGES.glob("*.yaml"))]
        leases = "--node-lease-duration-seconds=40"  # without, the nodes are not ready after 40 s
        kwok = [peers.program("kwok", "kwok"), kubeconfig, "--manage-all-nodes", leases, *stages]
        made["kwok"] = Program("kwok", kwok)
        return made

    # ---- Its users ----

    def connect(self, token: str = _ADMIN_TOKEN, port: int | None = None) -> Kube:
        """A client for one thread. port: of another API server."""
        url = f"https://127.0.0.1:{port}" if port else self.url
        return Kube(url, token, self.ca_file)

    def command(self, name: str, *arguments: str) -> subprocess.CompletedProcess:
        """kubectl or kubeadm as the administrator, whatever its exit status."""
        environment = os.environ | {"KUBECONFIG": self.kubeconfig, "HOME": str(self.folder)}
        return subprocess.run(
            [peers.program("kubernetes", name), *arguments],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    def kubectl(self, *arguments: str) -> str:
        """Its output; it must succeed."""
        done = self.command("kubectl", *arguments)
        assert done.returncode == 0, f"kubectl {arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def _create_account(self) -> None:
        """kube2sky's, with what the manifest permits it, and a token."""
        kinds = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
        values = [value for value in yaml.safe_load_all(MANIFEST.read_text()) if value["kind"] in kinds]
        (self.folder / "account.yaml").write_text(yaml.safe_dump_all(values))
        self.restore_account()
        self.renew_token()
        self._write_kubeconfig(self._path("kube2sky.kubeconfig"), {"tokenFile": str(self.token_file)})

    def restore_account(self) -> None:
        """After a test has taken something away."""
        self.kubectl("apply", "-f", self._path("account.yaml"))

    def kube2sky_flags(self) -> list[str]:
        return [f"--kubecfg-file={self._path('kube2sky.kubeconfig')}"]

    def request_token(self, name: str = ACCOUNT[1], secret: str = "") -> str:
        """secret: the token is valid as long as this Secret in the account's namespace exists."""
        path = f"/api/v1/namespaces/{ACCOUNT[0]}/serviceaccounts/{name}/token"
        spec = {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": secret}} if secret else {}
        wish = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        return self.kube.request("POST", path, wish)["status"]["token"]

    def renew_token(self, secret: str = "") -> str:
        """A new token in kube2sky's file, replaced as the kubelet does."""
        new = self.token_file.with_suffix(".new")
        new.write_text(self.request_token(secret=secret))
        os.replace(new, self.token_file)
        return self.token_file.read_text()

    def flags_of_reader(self, *resources: str) -> list[str]:
        """Flags for a kube2sky whose account may read these resources of all namespaces, too."""
        name = f"reader-of-{'-'.join(resources)}"
        subject = f"--serviceaccount={ACCOUNT[0]}:{name}"
        self.kubectl("-n", ACCOUNT[0], "create", "serviceaccount", name)
        self.kubectl("create", "clusterrole", name, "--verb=list,watch", f"--resource={','.join(resources)}")
        for role in (name, ACCOUNT[1]):
            self.kubectl("create", "clusterrolebinding", f"{name}-{role}", f"--clusterrole={role}", subject)
        self.kubectl("-n", ACCOUNT[0], "create", "rolebinding", name, f"--role={ACCOUNT[1]}", subject)
        self._write_kubeconfig(self._path(f"{name}.kubeconfig"), {"token": self.request_token(name)})
        return [f"--kubecfg-file={self._path(f'{name}.kubeconfig')}"]

    def audit(self) -> list[dict]:
        """The events of kube2sky's requests so far; the last line may still be incomplete."""
        lines = self.audit_file.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    # ---- Nodes ----

    def add_nodes(self, count: int) -> list[str]:
        """Their names. All are ready, each with an address and 1,000 Pod addresses of each family."""
        return [self.add_node(f"node-{self._nodes}") for _ in range(count)]

    def add_node(self, name: str) -> str:
        number, self._nodes = self._nodes, self._nodes + 1
        addresses = [f"192.0.2.{10 + number}", f"2001:db8::{10 + number:x}"]
        nets = [f"10.244.{4 * number}.0/22", f"fd00:10:244:{number:x}::/112"]
        self.kube.create("nodes", {
            "metadata": {"name": name, "labels": {"kubernetes.io/os": "linux"}},
            "spec": {"podCIDR": nets[0], "podCIDRs": nets},
            "status": {"addresses": [{"type": "InternalIP", "address": text} for text in addresses]},
        })  # fmt: skip
        wait_until(lambda: self._is_node_usable(name), f"{name} ready", _START_S)
        return name

    def _is_node_usable(self, name: str) -> bool:
        node = self.kube.get("nodes", name)
        conditions = {one["type"]: one["status"] for one in node["status"].get("conditions", [])}
        return conditions.get("Ready") == "True" and not node["spec"].get("taints")
