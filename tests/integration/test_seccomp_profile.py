"""docker/seccomp/kube2sky-skydns.json: what a container runtime and a kubelet want of it, and what it leaves out. That it names
all that is called, test_install_pods.py shows.
"""

import json
from pathlib import Path

import pytest
from manifests import ROOT

PROFILE = ROOT / "docker/seccomp/kube2sky-skydns.json"
# The runtimes' own profile, as podman has it.
_COMMON = Path("/usr/share/containers/seccomp.json")
_ALLOW, _ERROR = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"
_NEW_NAMESPACES = 0x7E020000  # CLONE_NEW* of clone
_DANGEROUS = {
    "add_key", "bpf", "delete_module", "fsopen", "init_module", "io_uring_setup", "kexec_load", "keyctl", "mount", "move_mount",
    "open_by_handle_at", "perf_event_open", "pivot_root", "process_vm_readv", "ptrace", "reboot", "setns", "swapon",
    "umount2", "unshare", "userfaultfd",
}  # fmt: skip


@pytest.fixture(scope="module")
def profile() -> dict:
    return json.loads(PROFILE.read_text())


def allowed(profile: dict) -> set[str]:
    return {name for rule in profile["syscalls"] if rule["action"] == _ALLOW for name in rule["names"]}


def test_it_is_of_the_oci_s_form(profile):
    """containerd takes it as it is, and knows neither archMap nor conditions."""
    assert set(profile) == {"defaultAction", "defaultErrnoRet", "syscalls"} and profile["defaultAction"] == _ERROR
    for rule in profile["syscalls"]:
        assert set(rule) <= {"comment", "names", "action", "args", "errnoRet"} and rule["names"] == sorted(rule["names"])


def test_nothing_dangerous(profile):
    assert not allowed(profile) & _DANGEROUS
    (clone,) = [rule for rule in profile["syscalls"] if rule["names"] == ["clone"]]
    assert clone["args"] == [{"index": 0, "value": _NEW_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]
    families = [rule["args"][0]["value"] for rule in profile["syscalls"] if rule["names"] == ["socket"]]
    assert families == [1, 2, 10, 16]  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK


def test_no_more_than_the_runtimes(profile):
    if not _COMMON.exists():
        pytest.skip(f"no {_COMMON}: no runtime's profile to compare with")
    common = json.loads(_COMMON.read_text())
    usual = {name for rule in common["syscalls"] if rule["action"] == _ALLOW for name in rule["names"]}
    assert allowed(profile) <= usual and 2 * len(allowed(profile)) < len(usual)
