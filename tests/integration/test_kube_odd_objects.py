"""Objects that the API server lets through and that make no sense: whoever may edit a namespace can write them. A
part that cannot be understood is left out alone; doubt about a whole object concerns the owner it names. Nobody
else's keys wait, and neither does readiness.
"""

import re

import pytest
from kube import endpoint, endpoint_slice, endpoints, headless, port, service
from model import Model, reverse_key
from programs import http_get, wait_until
from records import SVC, service_records, value
from test_kube_dry_run import dry_run, plan
from test_kube_explain import ask, run
from test_kube_live import live
from watched import Watched

_MAP = "endpoints.beta.kubernetes.io/hostnames-map"


def odd_slice(name: str = "odd-1", of: str = "odd", ip: str = "10.1.0.1") -> dict:
    """One port too large, an annotation that is no JSON, an address that is none."""
    entries = [endpoint(ip), endpoint("10.1.0.1.1")]
    made = endpoint_slice(name, of, entries, port(70000, "large"), port(80, "http"))
    made["metadata"]["annotations"] = {_MAP: "{oops"}
    return made


def right_of_odd() -> dict:
    """Its model: the slice without them."""
    made = odd_slice()
    del made["metadata"]["annotations"]
    return made | {"endpoints": made["endpoints"][:1], "ports": made["ports"][1:]}


def leave_rubbish(bed) -> list[str]:
    """Keys that kube2sky must delete at its start, of every sort."""
    host = "gone.default.svc.cluster.local."
    rubbish = [f"{SVC}/default/gone/a", f"{SVC}/prod/gone/a", reverse_key("10.9.9.9")]
    for key in rubbish:
        bed.etcd.put(key, value(host))
    return rubbish


def wait_plan(bed, *lines: str) -> None:
    """etcd may have a record before kube2sky knows that it has."""
    wait_until(lambda: sorted(plan(bed)) == sorted(lines), f"the plan {lines}")


def wait_right(bed) -> None:
    """Everything is as the objects demand, judging the odd slice by what is right of it."""
    model, objects = Model(), bed.kube.objects()
    slices = [right_of_odd() if s["metadata"]["name"] == "odd-1" else s for s in objects["endpointslices"]]
    bed.wait_records("/skydns/", model.keys(objects | {"endpointslices": slices}))


@pytest.fixture
def odd_bed(bed):
    bed.kube.create("services", headless("odd", port(80, "http")))
    bed.kube.create("endpointslices", odd_slice())
    bed.kube.create("services", headless("good", port(80, "http")))
    bed.kube.create("endpointslices", endpoint_slice("good-1", "good", [endpoint("10.1.0.2")]))
    return bed


def test_parts_are_left_out_alone(odd_bed):
    """Ready after a start, keys of others deleted, forward and reverse; also while it runs."""
    bed = odd_bed
    leave_rubbish(bed)
    bed.start_kube2sky()
    wait_right(bed)
    wait_plan(bed, "# nothing to do")
    bed.kube.delete("services", "good")
    moved = bed.kube.create("services", service("moved", clusterIP="10.96.0.50"))
    wait_right(bed)
    bed.kube.delete("services", "moved")
    bed.kube.create("services", service("taker", clusterIP=moved["spec"]["clusterIP"]))
    wait_right(bed)


def test_each_fault_is_told_and_counted_once(odd_bed):
    bed = odd_bed
    bed.start_kube2sky()
    watched = Watched(bed.kube2sky, bed.readiness_port, "kube2sky_")
    bed.kube2sky.wait_line("part of an object cannot be understood, left out .*name=default/odd-1 parts=2 .*oops.*70000")
    assert watched.metrics().get("object_faults_total", kind="endpointslices") == 2
    assert watched.metrics().get("objects_skipped_total", kind="endpointslices") == 0
    bed.kube.control("expire-history")
    bed.kube.control("drop-watches")  # it lists everything again
    watched.wait_metric(2, "api_lists_total", kind="endpoints")
    assert watched.metrics().get("object_faults_total", kind="endpointslices") == 2
    changed = odd_slice()
    changed["ports"].append(port(80000, "larger"))
    bed.kube.replace("endpointslices", changed)
    watched.wait_metric(5, "object_faults_total", kind="endpointslices")
    told = "cannot be understood, left out"
    bed.kube2sky.wait_line(f"{told} .*name=default/odd-1 parts=3 ")  # HTTP may be ahead of the log's pipe
    assert sum(told in line for line in bed.kube2sky.lines) == 2


def test_the_annotation_of_endpoints(bed):
    bed.kube.create("services", headless("odd", port(80, "http")))
    made = endpoints("odd", ["10.1.0.1"], port(80, "http"))
    bed.kube.create("endpoints", made | {"metadata": made["metadata"] | {"annotations": {_MAP: "{oops"}}})
    rubbish = leave_rubbish(bed)
    bed.start_kube2sky("--endpoints=endpoints")
    objects = bed.kube.objects() | {"endpoints": [made]}
    bed.wait_records("/skydns/", Model("endpoints").keys(objects))
    assert not set(rubbish) & set(bed.etcd.values("/skydns/"))


def put_service(bed, spec) -> None:
    """Unchecked. A spec that is no object: only its name is known."""
    made = {"metadata": {"name": "odd", "namespace": "default"}, "spec": spec}
    bed.kube.control("put", resource="services", object=made)


def test_doubt_is_about_the_owner_it_names(bed):
    """Of a Service only its name is known: what it has stays, forward and reverse; everything else goes on."""
    kept = {
        **service_records("odd", "10.96.0.9", ("tcp", "http", 80)),
        reverse_key("10.96.0.9"): value("odd.default.svc.cluster.local."),
    }
    for key, text in kept.items():
        bed.etcd.put(key, text)
    rubbish = leave_rubbish(bed)
    put_service(bed, 17)
    bed.kube.create("services", service("good"))
    bed.start_kube2sky()
    objects = bed.kube.objects()
    objects["services"] = [s for s in objects["services"] if s["metadata"]["name"] != "odd"]
    right = Model().keys(objects)
    bed.wait_records("/skydns/", right | kept)
    assert not set(rubbish) & set(bed.etcd.values("/skydns/"))
    wait_plan(bed, *(f"? {key}" for key in kept))
    result = dry_run(bed)
    assert (result.returncode, result.stdout) == (0, "")
    put_service(bed, {"clusterIP": "10.96.0.8", "ports": []})
    bed.wait_model()
    wait_plan(bed, "# nothing to do")


def test_dry_run_with_an_object_in_doubt(bed):
    """It shows everything else."""
    rubbish = leave_rubbish(bed)
    put_service(bed, 17)
    bed.kube.create("services", service("good", clusterIP="10.96.0.7"))
    result = dry_run(bed)
    lines = set(result.stdout.splitlines())
    assert result.returncode == 3
    assert {f"- {key}" for key in rubbish} <= lines
    assert {f"+ {key} {text}" for key, text in service_records("good", "10.96.0.7").items()} <= lines


def test_plan_marks_deletes_that_wait(bed):
    """Before Services are listed, nothing is listed as deleted that may stay."""
    for key, text in service_records("web", "10.96.0.9").items():
        bed.etcd.put(key, text)
    bed.etcd.put(reverse_key("10.96.0.9"), value("web.default.svc.cluster.local."))
    bed.kube.control("forbid", resource="services")
    bed.start_kube2sky(is_waiting=False)
    bed.kube2sky.wait_line("API cannot be followed")
    bed.kube2sky.wait_ready(lambda: any(line.startswith("?") for line in plan(bed)), "the plan")
    lines = plan(bed)
    assert re.match("# not everything is known yet: services are not listed yet", lines[0])
    assert all(line.startswith("? /skydns/") for line in lines[1:]), lines
    assert http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness")[0] == 503


def test_leading_zeros_are_decimal(bed):
    """The API server has let such addresses in since its first version and keeps them as they were written."""
    for spec in ({"clusterIP": "10.96.011.012"}, {"clusterIP": "None"}):
        name = "all" if spec["clusterIP"] == "None" else "odd"
        made = {"metadata": {"name": name, "namespace": "default"}, "spec": spec | {"ports": [port(80, "http")]}}
        bed.kube.control("put", resource="services", object=made)
    made = endpoint_slice("all-1", "all", [endpoint("010.1.0.08"), endpoint("10.1.0.8")], port(80, "http"))
    bed.kube.control("put", resource="endpointslices", object=made)
    bed.start_writer_and_reader()
    bed.etcd.put("/skydns/local/cluster/old", value("10.1.00.009"))
    bed.wait_answers("odd.default.svc.cluster.local", "A", ["10.96.11.12"])
    bed.wait_answers("12.11.96.10.in-addr.arpa", "PTR", ["odd.default.svc.cluster.local."])
    bed.wait_answers("all.default.svc.cluster.local", "A", ["10.1.0.8"])
    bed.wait_answers("old.cluster.local", "A", ["10.1.0.9"])
    records = service_records("odd", "10.96.11.12", ("tcp", "http", 80))
    assert {k: v for k, v in bed.etcd.values(f"{SVC}/default/odd/").items()} == records
    wait_plan(bed, "# nothing to do")


def wait_skipped(bed, *right: tuple[str, str]) -> None:
    """In /live, the latest first."""
    with live(bed) as event:

        def told() -> bool:
            found = [(one["what"], one["reason"]) for one in event()["skipped"]]
            return found == list(right)

        wait_until(told, f"skipped are {right}")


@pytest.mark.parametrize("flags", [(), ("--external-zone=lb.example.com",)], ids=["", "with an external zone"])
def test_names_that_cannot_be_in_a_key_are_told(bed, flags):
    """In the log, /live, /explain and --explain; once, however often the Service is named again."""
    made = {"metadata": {"name": "odd_name", "namespace": "default"}, "spec": {"clusterIP": "10.96.0.9", "ports": [], "externalIPs": ["203.0.113.9"]}}
    bed.kube.control("put", resource="services", object=made)
    bed.start_kube2sky(*flags)
    reason = "cannot be part of a key"
    wait_skipped(bed, ("services default/odd_name", f"service name `odd_name`: {reason}"))
    bed.kube2sky.wait_line(f"{reason}, left out .*kind=services .*what=.*service name.* value=odd_name")
    bed.kube.create("services", service("web", port(80, "not_a_label"), port(81, "ok")))
    web = ("services default/web", f"port name `not_a_label`: {reason}")
    wait_skipped(bed, web, ("services default/odd_name", f"service name `odd_name`: {reason}"))
    made["spec"]["clusterIP"] = "10.96.0.10"
    bed.kube.control("put", resource="services", object=made)
    wait_skipped(bed, ("services default/odd_name", f"service name `odd_name`: {reason}"), web)
    (skipped,) = ask(bed, "default/odd_name")["skipped"]
    assert skipped == {"what": "service name", "value": "odd_name", "reason": reason}
    assert f"service name `odd_name`: {reason}" in run(bed, "default/odd_name").stdout


def test_a_slice_of_names_is_told(bed):
    """Its endpoints are host names (addressType FQDN): an endpoint's name cannot be an alias and have addresses."""
    bed.kube.create("services", headless("db", port(80, "http")))
    made = endpoint_slice("db-1", "db", [endpoint("www.example.org")], port(80, "http"), family="FQDN")
    bed.kube.create("endpointslices", made)
    bed.start_kube2sky()
    bed.wait_model()
    reason = "addressType: `FQDN`: expected IPv4 or IPv6, there are no records for others"
    wait_skipped(bed, ("endpointslices default/db-1", reason))
    bed.kube2sky.wait_line(f"part of an object cannot be understood, left out .*name=default/db-1 .*{reason}")
    (fault,) = ask(bed, "default/db")["faults"]
    assert fault == {"kind": "endpointslices", "name": "db-1", "reason": reason}
    assert reason in run(bed, "default/db").stdout
    wait_plan(bed, "# nothing to do")
