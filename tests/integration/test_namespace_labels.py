"""kube2sky --namespace-labels: records only of namespaces whose labels match, as these change."""

import pytest
from model import Model
from programs import wait_equal, wait_until
from records import SVC
from test_namespaces import make, of

FLAG = "--namespace-labels=dns=on"


def put_namespace(bed, name: str, **labels: str) -> None:
    bed.kube.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})


def label(bed, name: str, **labels: str | None) -> None:
    """A label of None goes."""
    bed.kube.patch("namespaces", name, {"metadata": {"labels": labels}}, "")


def right(bed, *namespaces: str) -> dict[str, str]:
    keys = Model().keys(bed.kube.objects())
    return {k: v for namespace in namespaces for k, v in of(keys, namespace).items()}


@pytest.fixture
def two(bed):
    """Namespaces team, with the label, and crew, both full."""
    put_namespace(bed, "team", dns="on")
    put_namespace(bed, "crew", dns="off")
    make(bed, "team", "web", 1)
    make(bed, "crew", "web", 2)
    return bed


def test_labels_are_followed(two):
    two.start_kube2sky(FLAG)
    two.wait_records("/skydns/", right(two, "team"))
    label(two, "crew", dns="on")
    two.wait_records("/skydns/", right(two, "team", "crew"))
    label(two, "team", dns=None)
    two.wait_records("/skydns/", right(two, "crew"))
    make(two, "team", "new", 3)
    make(two, "crew", "new", 4)
    two.wait_records("/skydns/", right(two, "crew"))
    label(two, "team", dns="on")
    two.wait_records("/skydns/", right(two, "team", "crew"))
    put_namespace(two, "staff", dns="on")
    make(two, "staff", "web", 5)
    two.wait_records("/skydns/", right(two, "team", "crew", "staff"))


def test_a_slice_of_another_namespace_changes_nothing(two):
    """Its change is planned by itself where the namespace is selected."""
    two.start_kube2sky(FLAG)
    two.wait_records("/skydns/", right(two, "team"))
    for namespace, address in (("crew", "10.2.0.7"), ("team", "10.1.0.7")):
        made = next(s for s in two.kube.items("endpointslices") if s["metadata"]["namespace"] == namespace)
        made["endpoints"].append({"addresses": [address], "conditions": {"ready": True}})
        two.kube.replace("endpointslices", made)
    two.wait_records("/skydns/", right(two, "team"))
    assert any("10.1.0.7" in value for value in two.etcd.values("/skydns/").values())


def test_what_changed_while_nothing_was_watched(two):
    """After a new list of Namespaces, those that it lacks go and others come."""
    two.start_kube2sky(FLAG)
    two.wait_records("/skydns/", right(two, "team"))
    two.kube.control("expire-history", resource="namespaces")
    two.kube.control("forbid", resource="namespaces", on=True)
    two.kube.control("drop-watches", resource="namespaces")
    two.kube2sky.wait_line("API cannot be followed, retrying kind=namespaces")
    label(two, "team", dns=None)
    label(two, "crew", dns="on")
    make(two, "team", "new", 3)  # as before: the last list counts
    two.wait_records("/skydns/", right(two, "team"))
    two.kube.control("forbid", resource="namespaces", on=False)
    two.wait_records("/skydns/", right(two, "crew"))


def test_nothing_goes_before_namespaces_are_known(two):
    """A start without permission to list them: nothing is written, nothing deleted, not ready."""
    stale = f"{SVC}/gone/old/aa"
    two.etcd.put(stale, '{"host":"10.9.9.9"}')
    two.kube.control("forbid", resource="namespaces", on=True)
    two.start_kube2sky(FLAG, is_waiting=False)
    two.kube2sky.wait_line("API cannot be followed, retrying kind=namespaces")
    wait_until(lambda: two.readiness()[0] == 503 and "namespaces are not listed yet" in two.readiness()[1], "not ready")
    assert list(two.etcd.values("/skydns/")) == [stale]
    two.kube.control("forbid", resource="namespaces", on=False)
    two.wait_records("/skydns/", right(two, "team"))


def test_an_empty_list_is_not_believed(two):
    """An API server whose storage was emptied has no Namespaces."""
    two.start_kube2sky(FLAG)
    two.wait_records("/skydns/", right(two, "team"))
    two.kube2sky.stop()
    kept = right(two, "team")
    label(two, "team", dns=None)
    two.start_kube2sky(FLAG)
    make(two, "crew", "new", 3)
    assert two.etcd.values("/skydns/") == kept
    label(two, "crew", dns="on")
    two.wait_records("/skydns/", right(two, "crew"))


NONE, SOME = "no namespace matches --namespace-labels labels=", "a namespace matches --namespace-labels now labels="


def told(bed) -> tuple[int, int]:
    """How often each of the two lines is in the log."""
    return tuple(sum(text in line for line in bed.kube2sky.lines) for text in (NONE, SOME))


def test_labels_that_no_namespace_has(two):
    """One line once all are listed, and again after some had them."""
    two.start_kube2sky("--namespace-labels=dns=yes", is_waiting=False)
    two.kube2sky.wait_line(f'{NONE}"dns=yes"$')
    for name in ("crew", "team"):
        label(two, name, dns="yes")
    two.wait_records("/skydns/", right(two, "team", "crew"))
    wait_equal(lambda: told(two), (1, 1), "lines")
    label(two, "crew", dns=None)
    two.wait_records("/skydns/", right(two, "team"))
    assert told(two) == (1, 1)
    label(two, "team", dns=None)
    two.wait_records("/skydns/", {})
    wait_equal(lambda: told(two), (2, 1), "lines")


def test_a_new_list_without_any_is_logged_once(two):
    """It removes nothing, so the inventory still has the namespaces of the last one."""
    two.start_kube2sky(FLAG)
    two.wait_records("/skydns/", right(two, "team"))
    kept = right(two, "team")
    two.kube.control("expire-history", resource="namespaces")
    two.kube.control("forbid", resource="namespaces", on=True)
    two.kube.control("drop-watches", resource="namespaces")
    two.kube2sky.wait_line("API cannot be followed, retrying kind=namespaces")
    label(two, "team", dns=None)
    assert told(two) == (0, 0)
    two.kube.control("forbid", resource="namespaces", on=False)
    two.kube2sky.wait_line(f'{NONE}"dns=on"$')
    assert two.etcd.values("/skydns/") == kept
    label(two, "crew", dns="on")
    two.wait_records("/skydns/", right(two, "crew"))
    wait_equal(lambda: told(two), (1, 1), "lines")


def test_explain_says_why(two):
    two.start_kube2sky(FLAG)
    two.wait_records("/skydns/", right(two, "team"))
    client = two.command("kube2sky", "--explain=crew/web", f"--healthz-port={two.readiness_port}").start()
    assert client.wait() == 0
    assert "not followed, since --namespace-labels=dns=on does not match its namespace" in client.log_text()


@pytest.mark.parametrize(("flags", "told"), [
    ([FLAG, "--namespaces=team"], "flag -namespace-labels: `dns=on`: expected no -namespaces with it"),
    (["--namespace-labels=a b"], "flag -namespace-labels: `a b`: "),
])  # fmt: skip
def test_wrong_flags(bed, flags, told):
    program = bed.command("kube2sky", *flags).start()
    assert program.wait() == 2 and told in program.log_text()
