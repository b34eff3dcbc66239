"""docker/manifests/visible-to-policy.yaml: whoever may change Namespaces by any of their paths, but lacks the verb
`set-visible-to`, cannot show a namespace to others.
"""

import pytest
from asking import PATIENCE_S
from kube import KubeError
from manifests import FOLDER
from programs import wait_until

pytestmark = pytest.mark.cluster

POLICY = str(FOLDER / "visible-to-policy.yaml")
ANNOTATION = "dns.kube2sky/visible-to"
NAME, ACCOUNT = "shown-to-others", "kube-system:editor"
MERGE = "application/merge-patch+json"
PATHS = ("", "/status", "/finalize")


@pytest.fixture(scope="module")
def editor(cluster):
    """A client that may do with Namespaces what there is; the policy is in force."""
    applied = ("kubectl", "apply", "-f", POLICY)
    wait_until(lambda: cluster.command(*applied).returncode == 0, "the policy applied", PATIENCE_S)
    cluster.kubectl("-n", "kube-system", "create", "serviceaccount", "editor")
    resources = ",".join(f"namespaces{path}" for path in PATHS)
    verbs = "--verb=get,create,update,patch"
    cluster.kubectl("create", "clusterrole", "editor", verbs, f"--resource={resources}")
    cluster.kubectl("create", "clusterrolebinding", "editor", "--clusterrole=editor", f"--serviceaccount={ACCOUNT}")
    cluster.kubectl("create", "namespace", NAME)
    kube = cluster.connect(cluster.request_token("editor"))
    wait_until(lambda: is_in_force(cluster, kube), "the policy in force", PATIENCE_S)
    yield kube
    cluster.kubectl("delete", "-f", POLICY)
    cluster.kubectl("delete", "clusterrolebinding,clusterrole", "editor")
    cluster.kubectl("-n", "kube-system", "delete", "serviceaccount", "editor")
    cluster.kubectl("delete", "namespace", NAME)


def is_in_force(cluster, kube) -> bool:
    """So is what it says of other paths: it is one object."""
    cluster.kube.annotate_namespace(NAME, visible_to=None)
    return bool(refusal(kube, ""))


def current(kube) -> dict:
    return kube.request("GET", f"/api/v1/namespaces/{NAME}")


def refusal(kube, path: str) -> str:
    """Why the namespace could not be shown to all; empty: it is."""
    wish = current(kube)
    wish["metadata"].setdefault("annotations", {})[ANNOTATION] = "*"
    try:
        kube.request("PUT", f"/api/v1/namespaces/{NAME}{path}", wish)
    except KubeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("path", PATHS)
def test_whoever_may_change_namespaces_cannot_show_them(cluster, editor, path):
    cluster.kube.annotate_namespace(NAME, visible_to=None)
    before = current(cluster.kube)
    assert "the annotation dns.kube2sky/visible-to is the operators'" in refusal(editor, path)
    change = {"metadata": {"annotations": {ANNOTATION: "*"}}}
    with pytest.raises(KubeError) as refused:
        editor.request("PATCH", f"/api/v1/namespaces/{NAME}{path}", change, MERGE)
    assert refused.value.status == (405 if path == "/finalize" else 403)
    assert current(cluster.kube) == before
    other = before | {"metadata": before["metadata"] | {"annotations": {"example.org/other": f"x{path}"}}}
    editor.request("PUT", f"/api/v1/namespaces/{NAME}{path}", other)
    binding = ("clusterrolebinding", "may-show")
    cluster.kubectl("create", *binding, "--clusterrole=dns-visible-to", f"--serviceaccount={ACCOUNT}")
    wait_until(lambda: not refusal(editor, path), "the verb is enough", PATIENCE_S)
    cluster.kubectl("delete", *binding)
    wait_until(lambda: is_in_force(cluster, editor), "without the verb", PATIENCE_S)
