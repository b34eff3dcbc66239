"""docker/manifests/node-local.yaml and per-node.yaml: consistent with themselves, with external-etcd.yaml and
grpc-proxy.yaml, and with node-local. test_node_local.py runs what they run.
"""

import re
import subprocess
from pathlib import Path

import manifests
import pytest
from manifests import EXTERNAL_ETCD

NODE_LOCAL, PER_NODE, PROXY = "node-local.yaml", "per-node.yaml", "grpc-proxy.yaml"
LINK_LOCAL = "169.254.20.10"
SCRIPT = manifests.ROOT / "docker/node-local/node-local"
USER = 65533  # no other manifest has it


def daemon_set(name: str) -> dict:
    (value,) = manifests.of_kind(name, "DaemonSet")
    return value


def container(name: str, program: str) -> manifests.Container:
    (one,) = [one for one in manifests.containers(name) if one.program == program]
    return one


def service_address(name: str = EXTERNAL_ETCD) -> str:
    (service,) = manifests.of_kind(name, "Service")
    return service["spec"]["clusterIP"]


@pytest.mark.parametrize("name", [NODE_LOCAL, PER_NODE])
def test_it_is_on_every_node_and_reads_the_proxy(name):
    spec = daemon_set(name)["spec"]
    pod = spec["template"]["spec"]
    assert pod["tolerations"] == [{"operator": "Exists"}] and pod["priorityClassName"] == "system-node-critical"
    assert pod["automountServiceAccountToken"] is False and pod["dnsPolicy"] == "Default"
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    proxy = service_address(PROXY)
    assert f"-machines=https://{proxy}:2379" in container(name, "skydns").arguments
    volumes = {volume["name"] for volume in pod["volumes"]}
    for one in manifests.containers(name):
        mounts = {mount["mountPath"]: mount["name"] for mount in one.value.get("volumeMounts", [])}
        assert set(mounts.values()) <= volumes
        for path in re.findall(r"^-[a-z-]+=(/[^,\s]+)", "\n".join(one.arguments), re.M):
            assert any(path.startswith(f"{mount}/") for mount in mounts), path
        assert set(one.value["resources"]) == {"requests", "limits"} and "memory" in one.value["resources"]["limits"]
        assert one.value["securityContext"]["readOnlyRootFilesystem"] is True


# ---- per-node.yaml ----


def test_per_node_differs_from_external_etcd_in_nothing_else():
    (service,), (theirs,) = (manifests.of_kind(name, "Service") for name in (PER_NODE, EXTERNAL_ETCD))
    assert service["spec"].pop("trafficDistribution") == "PreferSameNode"
    assert "internalTrafficPolicy" not in service["spec"] and service == theirs
    ours, theirs = daemon_set(PER_NODE), daemon_set(EXTERNAL_ETCD)
    for one in (ours, theirs):
        del one["spec"]["template"]["spec"]["tolerations"]
        for inside in one["spec"]["template"]["spec"]["containers"]:
            inside["args"] = [flag for flag in inside["args"] if not flag.startswith("-machines=")]
    assert ours == theirs


# ---- node-local.yaml ----


def test_node_local_has_the_network_of_the_node_and_declares_no_port():
    value = daemon_set(NODE_LOCAL)
    pod = value["spec"]["template"]["spec"]
    assert pod["hostNetwork"] is True and "sysctls" not in pod["securityContext"]
    for one in manifests.containers(NODE_LOCAL):
        assert one.ports == {}
        for kind in ("readinessProbe", "livenessProbe"):
            assert set(one.value[kind]) & {"exec", "httpGet", "tcpSocket", "grpc"} == {"exec"}
    assert value["spec"]["updateStrategy"] == {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    labels = value["spec"]["template"]["metadata"]["labels"]
    for name in manifests.names():
        for service in manifests.of_kind(name, "Service"):
            assert not service["spec"]["selector"].items() <= labels.items(), "the Service would lead to the node"


def test_node_local_has_the_service_s_address_everywhere():
    addresses = f"{LINK_LOCAL},{service_address()}"
    skydns, healthz = (container(NODE_LOCAL, program).arguments for program in ("skydns", "exechealthz"))
    assert f"-addr={LINK_LOCAL}:53,{service_address()}:53" in skydns and "-freebind" in skydns
    commands = re.findall(r"node-local (on|off) (\S+)", "\n".join(healthz))
    assert commands == [("off", addresses), ("on", addresses)]
    probes = [text for text in healthz if text.startswith("-dns=")]
    assert probes and all(text.endswith(f",{LINK_LOCAL}:53") for text in probes)
    comment, objects = (manifests.FOLDER / NODE_LOCAL).read_text().split("apiVersion:", 1)
    assert objects.count(service_address()) == 3 and f"({service_address()}, three times)" in comment


def test_probes_ask_unix_sockets_of_their_pod_that_flags_open():
    """During an update, the pod before has the ports of the node's loopback."""
    pod = daemon_set(NODE_LOCAL)["spec"]["template"]["spec"]
    (volume,) = [volume["name"] for volume in pod["volumes"] if "emptyDir" in volume]
    for one in manifests.containers(NODE_LOCAL):
        assert {"name": volume, "mountPath": "/run/probes"} in one.value["volumeMounts"]
        text = " ".join(one.arguments)
        for kind in ("readinessProbe", "livenessProbe"):
            (program, flag) = one.value[kind]["exec"]["command"]
            assert program == one.program
            (path,) = re.findall(r"^-healthcheck=http://unix:(/run/probes/[a-z]+):/[a-z]+$", flag)
            assert f"-http-socket={path} " in text or f"-address=unix:{path} " in text


@pytest.mark.parametrize(
    ("serves", "answers", "right"),
    [
        (True, True, "remove"),  # this pod's skydns, which ends as well
        (False, True, ""),  # another pod's, which has taken over, or not handed over
        (False, False, "remove"),  # this pod's has crashed
    ],
)
def test_at_the_end_the_addresses_go_unless_another_pod_serves_them(tmp_path, serves, answers, right):
    assert run_at_failure(tmp_path, "exechealthz stops", serves, answers) == f"{right}\n".lstrip()


def test_at_a_failure_the_service_s_address_goes(tmp_path):
    for serves in (True, False):
        right = f"off {LINK_LOCAL},{service_address()}\n"
        assert run_at_failure(tmp_path, "Connection refused", serves, answers=False) == right


def run_at_failure(folder: Path, reason: str, serves: bool, answers: bool) -> str:
    """What the command of -on-unhealthy says to node-local."""
    healthz = container(NODE_LOCAL, "exechealthz").arguments
    (script,) = [text.split("=", 1)[1] for text in healthz if text.startswith("-on-unhealthy=")]
    (folder / "node-local").write_text('#!/bin/sh\necho "$@"\n')
    checks = f"case $1 in *http://unix:*:/serving) {str(serves).lower()};; *udp://*) {str(answers).lower()};; *) exit 9;; esac\n"
    (folder / "exechealthz").write_text("#!/bin/sh\n" + checks)
    for name in ("node-local", "exechealthz"):
        (folder / name).chmod(0o755)
    environment = {"PATH": f"{folder}:/bin", "EXECHEALTHZ_REASON": reason}
    done = subprocess.run(["dash", "-c", script], env=environment, capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stderr == b""
    return done.stdout.decode()


def test_node_local_has_only_the_rights_it_needs():
    pod = daemon_set(NODE_LOCAL)["spec"]["template"]["spec"]
    assert pod["securityContext"] == {
        "runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }  # fmt: skip
    for name in manifests.names():
        assert name == NODE_LOCAL or f"runAsUser: {USER}" not in (manifests.FOLDER / name).read_text(), "its own"
    added = {}
    for value in [*pod["initContainers"], *pod["containers"]]:
        context = value["securityContext"]
        assert context["capabilities"]["drop"] == ["ALL"] and context["readOnlyRootFilesystem"] is True
        added[value["name"]] = (context["capabilities"]["add"], context.get("runAsUser"), context["allowPrivilegeEscalation"])
    assert added == {
        "state": (["CHOWN"], 0, False),
        "skydns": (["NET_BIND_SERVICE"], None, True),
        "healthz": (["NET_ADMIN"], 0, False),
    }


def test_the_snapshot_is_on_the_node_and_of_its_user():
    pod = daemon_set(NODE_LOCAL)["spec"]["template"]["spec"]
    (volume,) = [volume for volume in pod["volumes"] if "hostPath" in volume]
    assert volume["hostPath"] == {"path": manifests.STATE, "type": "DirectoryOrCreate"}
    assert f"-snapshot={manifests.STATE}/snapshot" in container(NODE_LOCAL, "skydns").arguments
    (first,) = pod["initContainers"]
    assert first["command"] == ["chown", f"{USER}:{USER}", manifests.STATE]
    assert first["volumeMounts"] == [{"name": volume["name"], "mountPath": manifests.STATE}]


def test_the_image_has_the_script():
    text = (manifests.ROOT / "docker/Dockerfile").read_text()
    last = text[text.index("\nFROM exechealthz AS node-local\n") :]
    path = SCRIPT.relative_to(manifests.ROOT)
    assert f"COPY {path} /usr/bin/node-local\n" in last and f"!{path.parent}\n" in (manifests.ROOT / ".dockerignore").read_text()
    for package in ("iproute2", "nftables", "mawk"):
        assert f" {package} " in last
