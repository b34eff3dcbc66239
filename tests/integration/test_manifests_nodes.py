"""docker/manifests/node-local.yaml and per-node.yaml: consistent with themselves, with external-etcd.yaml and
grpc-proxy.yaml, and with node-local. test_node_local.py runs what they run.
"""

import re
import subprocess

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
    assert value["spec"]["updateStrategy"] == {"rollingUpdate": {"maxUnavailable": 1}}
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


def test_probes_ask_ports_of_the_loopback_that_flags_open():
    for one in manifests.containers(NODE_LOCAL):
        text = " ".join(one.arguments)
        for kind in ("readinessProbe", "livenessProbe"):
            (program, flag) = one.value[kind]["exec"]["command"]
            assert program == one.program
            (port,) = re.findall(r"^-healthcheck=http://127\.0\.0\.1:(\d+)/[a-z]+$", flag)
            assert f"-http-addr=127.0.0.1:{port}" in text or f"-address=127.0.0.1 -port={port} " in text


def test_the_health_commands_are_shell_and_know_the_end():
    healthz = container(NODE_LOCAL, "exechealthz").arguments
    (at_failure,) = [text.split("=", 1)[1] for text in healthz if text.startswith("-on-unhealthy=")]

    def command(reason: str) -> str:
        script = at_failure.replace("node-local", "echo")
        done = subprocess.run(["dash", "-c", script], env={"PATH": "/bin", "EXECHEALTHZ_REASON": reason}, capture_output=True)
        assert done.returncode == 0 and done.stderr == b""
        return done.stdout.decode()

    assert command("exechealthz stops") == "remove\n"
    assert command("Connection refused") == f"off {LINK_LOCAL},{service_address()}\n"


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
