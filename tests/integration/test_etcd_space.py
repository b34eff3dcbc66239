"""etcd's space: one namespace that changes much fills its share of it and then waits for a compaction, others do not;
and an etcd that has none left is told."""

import json

from kube import endpoint, endpoint_slice, headless, port, service
from programs import http_get, wait_until
from prometheus import Page
from records import SVC

PORTS = [port(8000 + i, f"p{i}") for i in range(4)]
ENDPOINTS = 100


def put_slice(bed, salt: int) -> None:
    entries = [endpoint(f"10.{salt}.0.{i}", ready=True) for i in range(1, ENDPOINTS + 1)]
    value = endpoint_slice("db-1", "db", entries, *PORTS, namespace="busy")
    (bed.kube.create if salt == 1 else bed.kube.replace)("endpointslices", value)


def keys_of(bed, salt: int) -> int:
    return sum(f'"10.{salt}.0.' in value for value in bed.etcd.values(f"{SVC}/busy/db/").values())


def metric(bed, name: str) -> float:
    return Page(http_get(f"http://127.0.0.1:{bed.readiness_port}/metrics")[1], "kube2sky_").get(name)


def explain(bed, name: str) -> dict:
    return json.loads(http_get(f"http://127.0.0.1:{bed.readiness_port}/explain?service={name}")[1])


def test_a_namespace_waits_for_a_compaction(bed):
    """With a share of 315 KB, beyond which the second change of all its 500 keys goes."""
    for namespace in ("busy", "quiet"):
        bed.kube.create_namespace(namespace)
    bed.start_kube2sky("--etcd-space=3")
    bed.kube.create("services", headless("db", *PORTS, namespace="busy"))
    put_slice(bed, 1)
    wait_until(lambda: keys_of(bed, 1) >= ENDPOINTS, "what is new is written, however much")
    put_slice(bed, 2)
    wait_until(lambda: keys_of(bed, 2) >= ENDPOINTS and not keys_of(bed, 1), "and changed")
    put_slice(bed, 3)
    wait_until(lambda: metric(bed, "namespaces_over_share") == 1, "the share is filled")
    bed.kube2sky.wait_line(r"namespace has filled its share of etcd's space.* namespace=busy")

    for salt in range(4, 20):
        put_slice(bed, salt)
    wait_until(lambda: not any(keys_of(bed, salt) for salt in range(1, 19)), "deletions go")
    bed.kube.create("services", service("web", namespace="quiet"))
    wait_until(lambda: bed.etcd.values(f"{SVC}/quiet/web/"), "another namespace's change goes")
    told = explain(bed, "busy/db")
    assert told["state"] == "held" and keys_of(bed, 19) < ENDPOINTS
    assert any("filled its share of etcd's space" in reason for reason in told["reasons"]), told["reasons"]
    assert bed.readiness()[0] == 200
    written = metric(bed, "keys_written_total")
    for salt in range(20, 30):
        put_slice(bed, salt)
    wait_until(lambda: explain(bed, "busy/db")["state"] == "held", "it waits")
    assert metric(bed, "keys_written_total") == written, "changes are merged"

    bed.etcd.compact()
    wait_until(lambda: keys_of(bed, 29) >= ENDPOINTS, "the last state is written")
    wait_until(lambda: explain(bed, "busy/db")["state"] == "settled", "it is settled")
    bed.kube2sky.wait_line("etcd was compacted, additions of namespaces go on")
    assert metric(bed, "namespaces_over_share") == 0


def test_an_etcd_without_space_is_told(bare_bed):
    bed = bare_bed
    bed.etcd_program.argv.append(f"--quota-backend-bytes={4 << 20}")
    bed.start_etcd()
    bed.start_apiserver()
    bed.start_kube2sky()
    bed.wait_model()
    assert metric(bed, "etcd_out_of_space") == 0
    for i in range(200):
        try:
            bed.etcd.put(f"/fill/{i}", "x" * 100_000)
        except Exception as error:  # etcd's refusal, as its gateway puts it
            assert "space" in str(error), error
            break
    bed.kube.create("services", service("web"))
    bed.kube2sky.wait_line("etcd is out of space and refuses writes: compact, defragment, disarm its alarm")
    assert metric(bed, "etcd_out_of_space") == 1
    _, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness?strict")
    assert "etcd is out of space and refuses writes: compact, defragment, disarm its alarm" in text
    assert "etcd is out of space and refuses writes" in explain(bed, "default/web")["reasons"]


SHORTAGE = "etcd has filled more than 80 % of --etcd-space: compact and defragment it, or raise its quota and --etcd-space"


def strict(bed) -> str:
    return http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness?strict")[1]


def test_etcd_fills(bare_bed):
    """Its quota is --etcd-space, and nothing has been refused yet."""
    bed, quota, number = bare_bed, 4 << 20, 0
    bed.etcd_program.argv.append(f"--quota-backend-bytes={quota}")
    bed.start_etcd()
    bed.start_apiserver()
    while bed.etcd.file_bytes() <= quota * 0.81:
        bed.etcd.put(f"/fill/{(number := number + 1)}", "x" * 10_000)
    bed.start_kube2sky("--etcd-space=4")
    bed.kube2sky.wait_line(rf"{SHORTAGE} file_bytes=\d+ in_use_bytes=\d+ space_bytes={quota}")
    assert quota * 0.8 < metric(bed, "etcd_file_bytes") < quota
    assert 0 < metric(bed, "etcd_in_use_bytes") <= metric(bed, "etcd_file_bytes")
    assert metric(bed, "etcd_out_of_space") == 0
    wait_until(lambda: SHORTAGE in strict(bed), "strict readiness says so")
    assert bed.readiness()[0] == 200
    bed.kube.create("services", service("web"))
    bed.wait_model()
    assert SHORTAGE in explain(bed, "default/web")["reasons"]


def test_etcd_has_space(bed):
    bed.start_kube2sky()
    wait_until(lambda: "kube2sky_etcd_file_bytes " in page(bed), "etcd's size")
    assert 0 < metric(bed, "etcd_in_use_bytes") <= metric(bed, "etcd_file_bytes")
    assert not any(SHORTAGE in line for line in bed.kube2sky.lines)
    wait_until(lambda: strict(bed) == "ok\n", "strictly ready")


def page(bed) -> str:
    return http_get(f"http://127.0.0.1:{bed.readiness_port}/metrics")[1]


def test_a_user_without_a_role_for_it(bare_bed):
    """etcd lets every user that has logged in ask for its size."""
    bed = bare_bed
    bed.start_etcd()
    bed.start_apiserver()
    bed.etcd.add_writer("dns", "secret", "/skydns/", "/kube2sky/")
    bed.etcd.enable_authentication("root")
    bed.etcd.log_in("root", "root")
    password = bed.folder / "password"
    password.write_text("secret\n")
    bed.start_kube2sky("--etcd-username=dns", f"--etcd-password-file={password}")
    wait_until(lambda: "kube2sky_etcd_file_bytes " in page(bed), "etcd's size")
