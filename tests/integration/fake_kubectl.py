"""What docker/kubectl/kubectl-dns asks of kubectl, without a cluster: objects from a file of state, ports and programs of
this machine. A test's `kubectl` is a script that runs this file with the path of the state:

    {"containers": [line of its template, …], "addresses": "10.96.0.10", "endpoints": ["10.1.0.1", …],
     "owners": ["ReplicaSet/skydns-5d8c9b", …], "nodes": {"node-0": answer of its configz, or null: refused},
     "api": URL of an API server, "pods": {"prod/web-0": address}, "bin": folder of the programs,
     "refused": text, or absent: kubectl fails with it, "hangs": path, or absent: forwards never begin, and make
     this file}

With "real", the path of a kubectl, that one does everything else, and only kubelets are played: "nodes" and "bin" as above, and
"ports": {"POD:PORT": this machine's port}. With "exec", {POD: start of a command}, that one runs programs in containers,
called POD-CONTAINER.
"""

import json
import os
import signal
import sys
from pathlib import Path


def fail(text: str) -> None:
    print(f"Error from server: {text}", file=sys.stderr)
    sys.exit(1)


def api(state: dict, path: str) -> dict:
    import urllib.error  # only here: it takes longer than all the rest
    import urllib.request

    try:
        with urllib.request.urlopen(state["api"] + path, timeout=20) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        fail(json.load(error)["message"])


def listed(state: dict, kind: str, template: str, namespace: str, name: str, selector: str) -> None:
    """`kubectl get`."""
    if kind == "pods":
        sys.stdout.writelines(f"{line}\n" for line in (state["owners"] if selector else state["containers"]))
    elif kind == "pod":
        print(state["pods"].get(f"{namespace}/{name}", ""), end="")
    elif kind == "nodes":
        sys.stdout.writelines(f"{name}\n" for name in state["nodes"])
    elif kind == "service" and namespace == "kube-system":
        if state["addresses"] is None:
            fail(f'services "{name}" not found')
        print("k8s-app=kube-dns," if "selector" in template else state["addresses"], end="")
    elif kind == "service":
        value = api(state, f"/api/v1/namespaces/{namespace}/services/{name}")
        ip, version = value["spec"]["clusterIP"], value["metadata"]["resourceVersion"]
        print(f"{ip} {version}" if "resourceVersion" in template else ip)
    elif "addresses" in template:
        sys.stdout.writelines(f"{address}\n" for address in state["endpoints"])
    else:
        for value in api(state, f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices")["items"]:
            label = "kubernetes.io/service-name"
            if selector == f"{label}={value['metadata'].get('labels', {}).get(label)}":
                print(f"slice {value['metadata']['resourceVersion']}")


def forward(state: dict, address: str, pod: str, target: str) -> None:
    """Until it is killed."""
    assert address == "--address=127.0.0.1" and pod.startswith("pod/") and target.startswith(":")
    if state.get("hangs"):
        Path(state["hangs"]).touch()
        signal.pause()
    print(f"Forwarding from 127.0.0.1:{port_here(state, pod[4:], target[1:])} -> {target[1:]}", flush=True)
    signal.pause()


def port_here(state: dict, pod: str, port: str) -> str:
    return state.get("ports", {}).get(f"{pod}:{port}", port)


def execute(state: dict, pod: str, container: str, program: str, healthcheck: str) -> None:
    if "exec" in state:
        command = [*state["exec"][pod], f"{pod}-{container}", program, healthcheck]
        os.execvp(command[0], command)
    url, _, port = healthcheck.rpartition(":")
    path = f"{state['bin']}/{program}"
    os.execv(path, [path, f"{url}:{port_here(state, pod, port)}"])


def main(state: dict, words: list[str]) -> None:
    if "refused" in state:
        fail(state["refused"])
    namespace = "default"
    if words[0] == "-n":
        namespace, words = words[1], words[2:]
    verb, *rest = words
    if verb == "get" and rest[0] == "--raw":
        config = state["nodes"].get(rest[1].split("/")[4])
        if config is None:
            fail("nodes is forbidden")
        print(json.dumps(config))
    elif verb not in ("port-forward", "exec") and "real" in state:
        os.execv(state["real"], [state["real"], *sys.argv[2:]])
    elif verb == "get":
        flags = {flag: value for flag, value in zip(rest, rest[1:]) if flag in ("-o", "-l")}
        name = rest[1] if len(rest) > 1 and not rest[1].startswith("-") else ""
        listed(state, rest[0], flags["-o"], namespace, name, flags.get("-l", ""))
    elif verb == "port-forward":
        forward(state, *rest)
    elif verb == "exec":
        pod, _, container, _, program, healthcheck = rest
        execute(state, pod, container, program, healthcheck)
    else:
        fail(f"unexpected: {verb} {rest}")


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        main(json.load(file), sys.argv[2:])
