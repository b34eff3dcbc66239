"""`make run` with the KUBECONFIG of an existing cluster: it follows the cluster, creates and deletes one namespace there,
and reports a refusal at once. With the project's own API server and, given KUBE_APISERVER, a real one.
"""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from kube import Kube, service
from programs import Program, reserve_port, wait_until
from real_apiserver import RealApiserver
from test_run import COMMAND, READY, interrupt_at, nothing_left, start_run  # noqa: F401

needs_kubectl = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is missing: tests/support/deps")
MADE = r"^namespace/(dns-trial-[0-9a-f]{8}) created$"


class Cluster:
    """An API server that already has objects, and kubeconfigs for it."""

    def __init__(self, kube: Kube, folder: Path, is_real: bool):
        self.kube, self.is_real, self._folder = kube, is_real, folder

    def kubeconfig(self, token: str | None = None, url: str = "", context: str = "x") -> str:
        """None: the token with all rights."""
        authority = f', certificate-authority: "{self.kube.ca_file}"' if self.kube.ca_file else ""
        token = self.kube.token if token is None else token
        path = self._folder / "kubeconfig"
        path.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: " + context + "\n"
            f'clusters: [{{name: c, cluster: {{server: "{url or self.kube.url}"{authority}}}}}]\n'
            f"users: [{{name: u, user: {{{f'token: {token!r}' if token else ''}}}}}]\n"
            "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
        )
        return str(path)

    def objects(self) -> set[tuple[str, str, str]]:
        """Everything outside the namespaces that make run creates."""
        found = {("namespaces", "", name) for name in self.namespaces() if not name.startswith("dns-trial-")}
        for resource, objects in self.kube.objects().items():
            found |= {(resource, o["metadata"]["namespace"], o["metadata"]["name"]) for o in objects}
        return {key for key in found if not key[1].startswith("dns-trial-")}

    def namespaces(self) -> set[str]:
        """Those not being deleted: in a real cluster a controller, missing here, would remove them."""
        items = self.kube.request("GET", "/api/v1/namespaces")["items"]
        return {o["metadata"]["name"] for o in items if "deletionTimestamp" not in o["metadata"]}

    def service_account(self, name: str, rules: list[dict]) -> str:
        """A token of a real cluster, with the rights of the rules."""
        rbac, kube = "/apis/rbac.authorization.k8s.io/v1", self.kube
        account = "/api/v1/namespaces/default/serviceaccounts"
        kube.request("POST", account, {"metadata": {"name": name}})
        kube.request("POST", f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        kube.request(
            "POST",
            f"{rbac}/clusterrolebindings",
            {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
            },
        )
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
        return kube.request("POST", f"{account}/{name}/token", request)["status"]["token"]


@pytest.fixture(scope="module")
def real_cluster(tmp_path_factory):
    """A second kube-apiserver, with RBAC, on the etcd of the first, which may permit everything."""
    server = RealApiserver(tmp_path_factory.mktemp("kube-apiserver"))
    number = reserve_port()
    flags = {"--authorization-mode": "RBAC", "--secure-port": str(number)}
    program = Program("kube-apiserver", [])
    server.start()
    try:
        program.argv = [
            f"{name}={flags[name]}" if (name := word.split("=")[0]) in flags else word
            for word in command_line(f"--secure-port={urlsplit(server.kube.url).port}")
        ]
        program.start()
        kube = Kube(f"https://127.0.0.1:{number}", server.kube.token, server.kube.ca_file)
        program.wait_ready(lambda: kube.send("GET", "/readyz", None, {})[0] == 200, "readyz", timeout_s=60)
        yield Cluster(kube, tmp_path_factory.mktemp("kubeconfig"), True)
    finally:
        program.kill()
        server.stop()


def command_line(flag: str) -> list[str]:
    """The command line of the process with this flag."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text().split("\0")[:-1]
            if flag in words:
                return [os.readlink(path.with_name("exe")), *words[1:]]
        except OSError:
            continue  # it has just exited, or is another user's
    pytest.skip(f"no process here was started with {flag}")


@pytest.fixture(params=["own", "real"])
def cluster(request, tmp_path):
    if request.param == "own":
        return Cluster(request.getfixturevalue("kube"), tmp_path, False)
    return request.getfixturevalue("real_cluster")


def refused(kubeconfig: str, *flags: str) -> str:
    """The one line in which make run gives the reason; nothing is left behind."""
    program = Program("run", [*COMMAND, *flags], env={"KUBECONFIG": kubeconfig}).start()
    # Far less than make run's timeout for a silent cluster.
    assert program.wait(timeout_s=20) == 1
    (line,) = (line for line in program.lines if line.startswith("run: "))
    assert not any(re.search(READY, line) for line in program.lines)
    assert "Traceback" not in "\n".join(program.lines)
    return line


@needs_kubectl
def test_creates_and_deletes_one_namespace(start_run, cluster):  # noqa: F811
    name = "from-outside"
    made = cluster.kube.create("services", service(name))
    before = cluster.objects()
    run = start_run(KUBECONFIG=cluster.kubeconfig())
    assert len(run.children) == 4, "no API server of its own"
    assert run.dns.answers(f"{name}.default.svc.cluster.local") == [made["spec"]["clusterIP"]]
    namespace = re.search(MADE, run.text, re.M)[1]
    assert namespace in cluster.namespaces() and cluster.objects() == before
    assert not [key for key in namespaced(cluster, namespace)]

    # A Service added as it suggests, and not deleted.
    create, ask, delete = (
        next(line for line in run.program.lines if re.match(start, line))
        for start in ("kubectl.* create ", "dig .* web", "kubectl.* delete ")
    )
    assert f" --namespace {namespace} " in create and f" --namespace {namespace} " in delete
    subprocess.run(create, shell=True, check=True, capture_output=True, timeout=60)
    web = f"web.{namespace}.svc.cluster.local"
    wait_until(lambda: run.dns.answers(web) == [cluster_ip(cluster, namespace)], "the new Service is answered")
    shown = subprocess.run(ask, shell=True, check=True, capture_output=True, text=True, timeout=60).stdout
    assert shown.split() == [cluster_ip(cluster, namespace)]

    run.program.signal(signal.SIGINT)
    assert run.program.wait() == 0
    nothing_left(run)
    assert f"run         | namespace {namespace} deleted" in run.program.lines
    assert namespace not in cluster.namespaces() and cluster.objects() == before


def namespaced(cluster: Cluster, namespace: str) -> list[str]:
    path = f"/api/v1/namespaces/{namespace}/services"
    return [item["metadata"]["name"] for item in cluster.kube.request("GET", path)["items"]]


def cluster_ip(cluster: Cluster, namespace: str) -> str:
    return cluster.kube.get("services", "web", namespace)["spec"]["clusterIP"]


@needs_kubectl
def test_leaves_a_namespace_alone_that_is_there(cluster):
    name = "somebodys"
    cluster.kube.create_namespace(name)
    line = refused(cluster.kubeconfig(), f"--namespace={name}")
    assert f"has a namespace {name} already" in line
    assert name in cluster.namespaces()


def test_an_unknown_token_is_one_line(cluster):
    if not cluster.is_real:
        cluster.kube.control("token", token="s3cret")
    path = cluster.kubeconfig(token="wrong")
    line = refused(path)
    assert f"the cluster at {cluster.kube.url} cannot be followed: GET " in line
    assert " 401 " in line and f"; put a token or certificate that the cluster accepts into {path}" in line


def test_a_token_without_rights_is_one_line(cluster):
    token = None
    if cluster.is_real:
        token = cluster.service_account("nobody", [])
    else:
        cluster.kube.control("forbid", resource="services")
    path = cluster.kubeconfig(token)
    line = refused(path)
    assert f"the cluster at {cluster.kube.url} cannot be followed: GET " in line
    assert " 403 " in line and f"; let the user of {path} list and watch services, " in line
    if cluster.is_real:
        assert "system:serviceaccount:default:nobody" in line


@needs_kubectl
def test_a_token_that_may_only_read_is_enough(start_run, real_cluster):  # noqa: F811
    """Not even EndpointSlices."""
    reading = {"apiGroups": [""], "resources": ["services", "endpoints", "pods"], "verbs": ["list", "watch"]}
    path = real_cluster.kubeconfig(real_cluster.service_account("reader", [reading]))
    namespaces = real_cluster.namespaces()
    run = start_run(KUBECONFIG=path)
    assert re.search(r"^\(no namespace dns-trial-\w+, the cluster is only followed: .*forbidden", run.text, re.M)
    assert not re.search("kubectl.* create service", run.text)
    assert run.dns.answers("kubernetes.default.svc.cluster.local") == ["10.96.0.1"]
    run.program.stop()
    nothing_left(run)
    assert real_cluster.namespaces() == namespaces


@needs_kubectl
def test_a_namespace_that_cannot_be_deleted_is_told(start_run, kube, tmp_path):  # noqa: F811
    """The cluster is gone: a line names what is left, and how to delete it."""
    cluster = Cluster(kube, tmp_path, False)
    run = start_run(KUBECONFIG=cluster.kubeconfig())
    namespace = re.search(MADE, run.text, re.M)[1]
    kube.control("refuse")
    run.program.signal(signal.SIGTERM)
    assert run.program.wait() == 0
    nothing_left(run)
    (line,) = (line for line in run.program.lines if "is still there" in line)
    assert line.endswith(f"; delete it with: kubectl --kubeconfig {cluster.kubeconfig()} delete namespace {namespace}")
    kube.control("accept")
    assert namespace in cluster.namespaces()


@needs_kubectl
def test_ctrl_c_while_the_namespace_is_created(kube, tmp_path):
    cluster = Cluster(kube, tmp_path, False)
    interrupt_at("^==== A namespace", cluster.kubeconfig())
    assert not [name for name in cluster.namespaces() if name.startswith("dns-trial-")]


def test_ctrl_c_while_a_cluster_says_nothing(kube, tmp_path):
    kube.control("delay", seconds=600, count=1000, match="services")
    interrupt_at(r"^kube2sky +\| .* started ", Cluster(kube, tmp_path, False).kubeconfig())


def test_nobody_at_the_address_is_one_line(kube, tmp_path):
    url = f"http://127.0.0.1:{reserve_port()}"
    line = refused(path := Cluster(kube, tmp_path, False).kubeconfig(url=url))
    assert f"the cluster at {url} cannot be followed: GET {url}/" in line and "Connection refused" in line
    assert line.endswith(f"; start the cluster, or correct `server` in {path}")


def test_a_context_that_is_not_there_is_one_line(kube, tmp_path):
    path = Cluster(kube, tmp_path, False).kubeconfig(context="elsewhere")
    line = refused(path)
    assert path in line and "there is no `elsewhere` in contexts" in line


@pytest.mark.parametrize("text", [None, "{", "kind: Config\n"])
def test_a_file_that_is_no_kubeconfig_is_one_line(tmp_path, text):
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    line = refused(str(path))
    assert f"kubeconfig {path}: " in line and line.endswith(": correct that file, or let KUBECONFIG name another")
