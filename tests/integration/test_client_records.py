"""--client-records: from a pod in the API to the key in etcd, to the lines of skydns's query log and its /explain. Clients
are at several addresses of the loopback network.
"""

import json

import dns.message
import dns.query
import dns.rcode
from kube import node, pod, port, service
from programs import http_get, reserve_port, wait_until
from test_kube_dry_run import dry_run

CLIENT = "/kube2sky/cluster.local/client/"
FLAG = "--client-records"
NAME = "web.default.svc.cluster.local."


def placed(name: str, *ips: str, on: str = "n1", host: bool = False, **more: str) -> dict:
    value = pod(name, *ips, **more)
    value["spec"] |= {"nodeName": on, "hostNetwork": host}
    return value


def zoned(name: str, zone: str | None) -> dict:
    value = node(name, "10.0.0.1")
    value["metadata"]["labels"] = {"topology.kubernetes.io/zone": zone} if zone else {}
    return value


def record(namespace: str, name: str = "", on: str = "", zone: str = "") -> str:
    fields = {"namespace": namespace, "pod": name, "node": on, "zone": zone}
    return json.dumps({key: value for key, value in fields.items() if value}, separators=(",", ":"))


def wait_keys(bed, right: dict[str, str]) -> None:
    keys = {CLIENT + ip.replace(".", "-").replace(":", "-"): value for ip, value in right.items()}
    bed.wait_records(CLIENT, keys)


def ask(bed, client: str) -> str:
    question = dns.message.make_query(NAME, "A")
    return dns.rcode.to_text(dns.query.udp(question, "127.0.0.1", timeout=20, port=bed.dns.port, source=client).rcode())


def logged(bed, client: str) -> str:
    """What the query log says of the client before its address."""
    since = len(bed.skydns.lines)
    assert ask(bed, client) in ("NOERROR", "NXDOMAIN", "SERVFAIL")
    line = bed.skydns.wait_line(rf"query .*client={client}:", since)
    return line.split("query ", 1)[1].split("client=")[0].strip()


def wait_logged(bed, client: str, right: str) -> None:
    wait_until(lambda: logged(bed, client) == right, f"{client} is logged as `{right}`")


def test_from_the_pod_to_the_query_log(bed):
    http = f"127.0.0.1:{reserve_port()}"
    bed.kube.put_node(zoned("n1", "eu-1a"))
    bed.kube.put_node(zoned("n2", None))
    bed.kube.create("services", service("web", port(80)))
    bed.start_kube2sky(FLAG)
    bed.start_skydns("-no-rec", "-query-log=all", f"-http-addr={http}")
    assert logged(bed, "127.0.0.5") == ""
    bed.kube.put_pod(placed("web-0", "127.0.0.5", "fd00::5"))
    wait_keys(bed, dict.fromkeys(("127.0.0.5", "fd00::5"), record("default", "web-0", "n1", "eu-1a")))
    wait_logged(bed, "127.0.0.5", "namespace=default pod=web-0 node=n1")
    found = json.loads(http_get(f"http://{http}/explain?name={NAME}&type=A&client=127.0.0.5")[1])["client"]
    assert {key: found[key] for key in ("namespace", "pod", "node", "zone")} == {
        "namespace": "default", "pod": "web-0", "node": "n1", "zone": "eu-1a"}  # fmt: skip
    text = http_get(f"http://{http}/explain?name={NAME}&type=A&client=127.0.0.5&text")[1]
    assert "namespace default, as the pod web-0 with this address, on node n1, zone eu-1a" in text

    # Another zone, then another node and address: the key follows.
    bed.kube.patch("nodes", "n1", {"metadata": {"labels": {"topology.kubernetes.io/zone": "eu-1b"}}})
    wait_keys(bed, dict.fromkeys(("127.0.0.5", "fd00::5"), record("default", "web-0", "n1", "eu-1b")))
    bed.kube.delete("pods", "web-0")
    bed.kube.put_pod(placed("web-0", "127.0.0.6", on="n2"))
    wait_keys(bed, {"127.0.0.6": record("default", "web-0", "n2")})
    wait_logged(bed, "127.0.0.6", "namespace=default pod=web-0 node=n2")
    wait_logged(bed, "127.0.0.5", "")

    # Several pods of a namespace; of several; then the address passes to the other one.
    bed.kube.put_pod(placed("web-1", "127.0.0.6"))
    wait_keys(bed, {"127.0.0.6": record("default")})
    wait_logged(bed, "127.0.0.6", "namespace=default")
    bed.kube.put_pod(placed("other", "127.0.0.6", namespace="kube-system"))
    wait_keys(bed, {})
    wait_logged(bed, "127.0.0.6", "")
    bed.kube.delete("pods", "web-0")
    bed.kube.delete("pods", "web-1")
    wait_keys(bed, {"127.0.0.6": record("kube-system", "other", "n1", "eu-1b")})
    wait_logged(bed, "127.0.0.6", "namespace=kube-system pod=other node=n1")

    # A pod on the host network has its node's address.
    bed.kube.put_pod(placed("proxy", "127.0.0.6", host=True))
    wait_keys(bed, {})
    wait_logged(bed, "127.0.0.6", "")
    bed.kube.delete("pods", "proxy")
    bed.kube.delete("pods", "other", "kube-system")
    wait_keys(bed, {})


def test_without_the_flag_they_go(cluster_bed):
    bed = cluster_bed
    bed.kube.put_pod(placed("web-0", "10.1.0.5"))
    bed.start_kube2sky(FLAG, "--pods=disabled")
    wait_keys(bed, {"10.1.0.5": record("default", "web-0", "n1")})
    assert not bed.etcd.values("/skydns/local/cluster/pod/")
    bed.kube2sky.stop()
    bed.kube2sky = None
    bed.kube.put_pod(placed("web-1", "10.1.0.6"))
    assert f"+ {CLIENT}10-1-0-6" in dry_run(bed, FLAG, "--pods=disabled").stdout
    assert f"- {CLIENT}10-1-0-5\n" in dry_run(bed, "--pods=disabled").stdout
    bed.start_kube2sky()
    wait_keys(bed, {})


def test_nodes_that_are_refused(bed):
    """The zones are absent, and nothing else waits for them; permitted again, they are there."""
    bed.kube.control("forbid", resource="nodes")
    bed.kube.put_node(zoned("n1", "eu-1a"))
    bed.kube.put_pod(placed("web-0", "10.1.0.5"))
    bed.start_kube2sky(FLAG)
    wait_keys(bed, {"10.1.0.5": record("default", "web-0", "n1")})
    bed.kube.control("forbid", resource="nodes", on=False)
    wait_keys(bed, {"10.1.0.5": record("default", "web-0", "n1", "eu-1a")})
    assert not bed.etcd.values("/skydns/local/cluster/node/")


def test_two_writers_of_some_namespaces(bed):
    """Neither takes the other one's."""
    bed.kube.put_pod(placed("web-0", "10.1.0.5"))
    bed.kube.put_pod(placed("agent", "10.1.0.6", namespace="kube-system"))
    bed.etcd.put(CLIENT + "10-1-0-6", record("kube-system", "agent", "n9"))
    bed.etcd.put(CLIENT + "10-1-0-7", record("default", "gone"))
    bed.start_kube2sky(FLAG, "--namespaces=default")
    wait_keys(bed, {"10.1.0.5": record("default", "web-0", "n1"), "10.1.0.6": record("kube-system", "agent", "n9")})


def test_an_etcd_that_denies_reading_them(bare_bed, tmp_path):
    """skydns says so once, and knows clients by the pods' keys."""
    bed = bare_bed
    bed.start_etcd()
    (tmp_path / "password").write_text("secret")
    beside = CLIENT.removesuffix("client/")
    bed.etcd.add_user("reader", "secret")
    for keys in ("/skydns/", *(beside + name for name in ("store", "node-address/", "visible/"))):
        bed.etcd.permit("reader", "READ", keys)
    bed.etcd.put("/skydns/local/cluster/pod/default/127-0-0-5/x", '{"host":"127.0.0.5"}')
    bed.etcd.put(CLIENT + "127-0-0-5", record("default", "web-0"))
    bed.etcd.enable_authentication("root")
    bed.start_skydns("-no-rec", "-query-log=all", "-username=reader", f"-password-file={tmp_path / 'password'}")
    bed.skydns.wait_line("cannot read client records: no client's pod is named")
    wait_logged(bed, "127.0.0.5", "namespace=default")
