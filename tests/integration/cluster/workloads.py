"""Objects of the cluster's tests: Deployments, StatefulSets and single Pods, which kwok runs."""


def _template(app: str, annotations: dict | None, **spec) -> dict:
    containers = [{"name": "main", "image": "app:1"}]
    # Nobody waits for a container to end; and a namespace's end waits at least half as long.
    spec = {"containers": containers, "terminationGracePeriodSeconds": 1} | spec
    return {"metadata": {"labels": {"app": app}, "annotations": annotations or {}}, "spec": spec}


def deployment(name: str, namespace: str, replicas: int, strategy: dict | None = None, **pod_spec) -> dict:
    """strategy: of the rolling update. Its Pods have the label app=NAME."""
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": _template(name, None, **pod_spec),
    }
    if strategy:
        spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": strategy}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def stateful_set(name: str, namespace: str, replicas: int, **fields) -> dict:
    """Its Pods have host names: the Service is called as it is."""
    spec = {
        "replicas": replicas,
        "serviceName": name,
        "selector": {"matchLabels": {"app": name}},
        "template": _template(name, None),
    }
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec | fields}


def single_pod(name: str, namespace: str, app: str, **spec) -> dict:
    value = _template(app, None, **spec)
    value["metadata"] |= {"name": name, "namespace": namespace}
    return value
