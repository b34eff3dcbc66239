"""Objects of the cluster's tests: Deployments, StatefulSets and Jobs, whose Pods kwok runs."""

# A Pod's annotation: "false" makes it not ready (tests/support/kwok/pod.yaml).
READY = "kwok.test/ready"


def _template(app: str, **spec) -> dict:
    containers = [{"name": "main", "image": "app:1"}]
    # Nobody waits for a container to end; and a namespace's end waits at least half as long.
    spec = {"containers": containers, "terminationGracePeriodSeconds": 1} | spec
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def deployment(name: str, namespace: str, replicas: int, **pod_spec) -> dict:
    """Its Pods have the label app=NAME."""
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": _template(name, **pod_spec)}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def stateful_set(name: str, namespace: str, replicas: int, **fields) -> dict:
    """Its Pods have host names: the Service is called as it is."""
    spec = {
        "replicas": replicas,
        "serviceName": name,
        "selector": {"matchLabels": {"app": name}},
        "template": _template(name),
    }
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec | fields}


def job(name: str, namespace: str) -> dict:
    """Its Pod ends at once and stays."""
    spec = {"template": _template(name, restartPolicy="Never")}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
