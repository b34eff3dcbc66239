"""node-local.yaml and per-node.yaml of docker/manifests with a current kube-apiserver, which knows PreferSameNode and
checks the pods of a DaemonSet when they are created.
"""

import json

import manifests
import pytest

pytestmark = pytest.mark.cluster

NAMES = ("node-local.yaml", "per-node.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_objects_and_pods_would_be_created(cluster, tmp_path, name):
    for value in manifests.objects(name):
        objects = [value]
        if manifests.pod_spec(value):
            objects.append(manifests.trial_pod(value))
        for one in objects:
            file = tmp_path / "object.json"
            file.write_text(json.dumps(one))
            assert "created (server dry run)" in cluster.kubectl("create", "--dry-run=server", "-f", str(file))


def test_another_distribution_is_refused(cluster, tmp_path):
    """The dry run reads the field."""
    (service,) = manifests.of_kind("per-node.yaml", "Service")
    service["spec"]["trafficDistribution"] = "PreferSamePlanet"
    file = tmp_path / "service.json"
    file.write_text(json.dumps(service))
    done = cluster.command("kubectl", "create", "--dry-run=server", "-f", str(file))
    assert done.returncode != 0 and "trafficDistribution" in done.stderr
