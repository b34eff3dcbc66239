"""docker/manifests/grpc-proxy.yaml: consistent with itself and with external-etcd.yaml, and it runs."""

import re
import socket

import manifests
import pytest
from certificates import Authority
from grpc_proxy import Reader, start_tls_etcd
from manifests import EXTERNAL_ETCD
from programs import ETCD, Program, reserve_port
from records import SVC, value

PROXY = "grpc-proxy.yaml"
USER = 65532
MEMBERS = re.compile(r"https://etcd-\S+")


@pytest.fixture
def container() -> manifests.Container:
    (one,) = manifests.containers(PROXY)
    return one


def test_selectors_and_ports_meet(container):
    (deployment,) = manifests.of_kind(PROXY, "Deployment")
    (service,) = manifests.of_kind(PROXY, "Service")
    (budget,) = manifests.of_kind(PROXY, "PodDisruptionBudget")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    selectors = [service["spec"]["selector"], budget["spec"]["selector"]["matchLabels"]]
    selectors.append(deployment["spec"]["selector"]["matchLabels"])
    assert all(selector == labels for selector in selectors)
    assert budget["spec"]["minAvailable"] < deployment["spec"]["replicas"]
    (port,) = service["spec"]["ports"]
    assert container.ports == {port["targetPort"]: port["port"]}
    assert f"--listen-addr=0.0.0.0:{port['port']}" in container.arguments
    assert f"--advertise-client-url={service['spec']['clusterIP']}:{port['port']}" in container.arguments
    text = (manifests.FOLDER / PROXY).read_text()
    assert f"-machines=https://{service['spec']['clusterIP']}:{port['port']}`" in text


def test_it_is_confined_and_its_files_are_in_volumes(container):
    pod, own = container.pod, container.value["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == USER
    assert own["readOnlyRootFilesystem"] is True and own["allowPrivilegeEscalation"] is False
    assert own["capabilities"] == {"drop": ["ALL"]} and pod["automountServiceAccountToken"] is False
    mounts = {mount["mountPath"]: mount["name"] for mount in container.value["volumeMounts"]}
    assert set(mounts.values()) == {volume["name"] for volume in pod["volumes"]}
    for path in re.findall(r"=(/[^,\s]+)", " ".join(container.arguments)):
        assert any(path.startswith(f"{mount}/") for mount in mounts), path


def test_members_are_those_of_external_etcd(container):
    (skydns,) = [one for one in manifests.containers(EXTERNAL_ETCD) if one.program == "skydns"]
    ours, theirs = ("\n".join(one.arguments) for one in (container, skydns))
    assert MEMBERS.findall(ours) == MEMBERS.findall(theirs) != []


def test_it_runs(bare_bed, container):
    """With its flags, in front of an etcd that wants certificates; a reader has to show one, too."""
    bed = bare_bed
    inner, outer = Authority(bed.folder, "inner"), Authority(bed.folder, "outer")
    start_tls_etcd(bed, inner)
    bed.etcd.put(f"{SVC}/default/web/a", value("10.9.0.1"))
    port = reserve_port()
    files = {"/etc/etcd-tls/": (inner, inner.sign("proxy-client", has_name=False))}
    files["/etc/readers-tls/"] = (outer, outer.sign("proxy"))
    arguments = "\n".join(container.arguments).replace(":2379", f":{port}")
    arguments = MEMBERS.sub(f"https://127.0.0.1:{bed.etcd_port}", arguments).replace("0.0.0.0", "127.0.0.1")
    for folder, (authority, (certificate, key)) in files.items():
        for name, path in (("ca.crt", authority.certificate), ("tls.crt", certificate), ("tls.key", key)):
            arguments = arguments.replace(folder + name, path)
    proxy = Program("etcd-proxy", [ETCD, *arguments.split("\n")])
    bed.programs.append(proxy)

    def listens() -> bool:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return True

    proxy.start().wait_ready(listens, "listens")
    bed.etcd_urls = [f"https://127.0.0.1:{port}"]
    certificate, key = outer.sign("reader")
    reader = Reader(bed, f"-ca-cert={outer.certificate}", f"-tls-pem={certificate}", f"-tls-key={key}").start()
    assert reader.dns.answers("web.default.svc.cluster.local") == ["10.9.0.1"]
    stranger = Reader(bed, f"-ca-cert={outer.certificate}")
    stranger.program.start().wait_line(r"(?i)certificate")
