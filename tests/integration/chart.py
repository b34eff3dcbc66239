"""The Helm chart of docker/helm for the tests, rendered by the helm that tests/peers/build has built; tests skip without."""

import functools
import json
import os
import subprocess
from pathlib import Path

import peers
import pytest
import yaml
from manifests import ROOT

FOLDER = ROOT / "docker/helm"
CHART = FOLDER / "kube2sky-skydns"
RENDER = FOLDER / "render"
VALUES = FOLDER / "values"

ADDRESSES = ["10.96.0.21", "10.96.0.22", "10.96.0.23"]
MEMBERS = {"mode": "statefulset", "addresses": ADDRESSES}
EXTERNAL = {"mode": "external", "endpoints": ["https://etcd-0.etcd.example:2379"]}
PROXY = {"proxy": {"enabled": True, "clusterIP": "10.96.0.11"}}
MONITORING = {name: {"enabled": True} for name in ("podMonitor", "prometheusRule", "dashboard")}

# Combinations that the checked-in manifests do not have: values by name.
SCENARIOS = {
    "members": {"etcd": MEMBERS},
    "members-of-today": {"etcd": MEMBERS | {"version": "3.6"}, "placement": "every-node", "pods": "verified"},
    "members-node-local": {
        "etcd": MEMBERS | PROXY, "placement": "per-node", "pods": "verified", "nodeLocal": {"enabled": True},
        "networkPolicy": {"enabled": True, "nodes": ["192.0.2.0/24", "2001:db8::/64"]},
    },
    "external-replicas": {"etcd": EXTERNAL | {"usernames": {"kube2sky": "kube2sky", "skydns": "skydns"}}},
    "link-local": {"etcd": EXTERNAL, "placement": "every-node", "nodeLocal": {"enabled": True, "linkLocalOnly": True}},
    "everything": {
        "pods": "verified", "autopath": True, "replicas": 3, "tls": {"enabled": True}, "networkPolicy": {"enabled": True},
        "monitoring": MONITORING, "visibleToPolicy": {"enabled": True},
        "settings": {"skydns": {"ndots": 2}, "kubeDNS": {"stubDomains": {"corp.example": ["198.51.100.2"]}}},
        "images": {
            "registry": "registry.example/dns/", "pullPolicy": "Always", "pullSecrets": [{"name": "registry"}],
            "skydns": {"digest": "sha256:" + "0" * 64},
        },
        "kube2sky": {"extraFlags": [
            "--nodes", "--client-records", "--namespace-visibility", "--events", "--override-zones=example.com",
            "--ingress=nginx=default/web", "--gateway=default/shared=default/web", "--multicluster",
        ]},
        "skydns": {"extraFlags": ["-visibility=own", "-public-namespaces=default"]},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}],
    },
    "files": {
        "etcd": EXTERNAL, "nodeLocal": {"enabled": True}, "tls": {"enabled": True},
        "skydns": {"files": [
            {"flag": "hosts", "configMap": "dns-hosts", "keys": ["hosts", "more"]},
            {"flag": "hosts", "secret": "dns-more-hosts", "keys": ["hosts"]},
            {"flag": "nameservers-ca", "configMap": "dns-upstream", "keys": ["ca.crt"]},
            {"flag": "nameservers-cert", "secret": "dns-upstream", "keys": ["tls.crt"]},
            {"flag": "nameservers-key", "secret": "dns-upstream", "keys": ["tls.key"]},
            {"flag": "client-ca", "secret": "dns-clients", "keys": ["ca.crt"]},
            {"flag": "tls-ticket-keys", "secret": "dns-shared", "keys": ["tickets"]},
            {"flag": "cookie-secret", "secret": "dns-shared", "keys": ["cookies"]},
            {"flag": "tsig-keys", "secret": "dns-shared", "keys": ["tsig"]},
            {"flag": "dnssec", "secret": "dns-keys", "keys": ["one", "two"]},
        ]},
    },
    "some-namespaces": {
        "etcd": MEMBERS,
        "kube2sky": {"extraFlags": ["--namespaces=default,kube-public", "--nodes", "--override-zones=example.com",
                                    "--ingress=nginx=default/web", "--gateway=default/shared=default/web"]},
    },
}  # fmt: skip


@functools.cache
def helm_path() -> str:
    if reason := peers.missing("render"):
        pytest.skip(reason)
    return peers.program("render", "helm")


def helm(*arguments: str, values: dict | None = None, home: Path | None = None) -> subprocess.CompletedProcess:
    """helm's result, whatever its exit status. home: of one cluster, whose API it remembers there."""
    given = ["--values=-"] if values is not None else []
    command = [helm_path(), *arguments, *given]
    environment = os.environ | ({"HOME": str(home)} if home else {})
    return subprocess.run(
        command, input=json.dumps(values or {}), env=environment, capture_output=True, text=True, timeout=180
    )


@functools.cache
def _rendered(values: str, namespace: str) -> str:
    done = helm("template", "dns", str(CHART), f"--namespace={namespace}", values=json.loads(values))
    assert done.returncode == 0, done.stderr
    return done.stdout


def template(values: dict, namespace: str = "kube-system") -> str:
    """All that the chart renders, as text; it must."""
    return _rendered(json.dumps(values), namespace)


def parse(text: str) -> list[dict]:
    """With libyaml: Python's own reader takes longer than helm."""
    return [value for value in yaml.load_all(text, Loader=yaml.CSafeLoader) if value]


def objects(values: dict, namespace: str = "kube-system") -> list[dict]:
    return parse(template(values, namespace))


def refusal(values: dict) -> str:
    """Why nothing is rendered."""
    done = helm("template", "dns", str(CHART), values=values)
    assert done.returncode != 0 and done.stdout == ""
    return done.stderr


def names() -> list[str]:
    """Of the manifests that are rendered from it."""
    return sorted(path.stem for path in VALUES.glob("*.yaml"))


def manifest(name: str) -> Path:
    """The checked-in file."""
    folder = "monitoring" if name in ("podmonitor", "prometheusrule") else "manifests"
    return ROOT / "docker" / folder / f"{name}.yaml"
