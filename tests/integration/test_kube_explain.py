"""GET /explain of kube2sky, and kube2sky --explain: why a Service's records are in etcd, or not."""

import json
import subprocess

import pytest
from kube import endpoints, headless, port, service
from programs import http_get, reserve_port, wait_until
from records import SVC, label, value


def ask(bed, name: str, status: int = 200) -> dict:
    got, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/explain?service={name}")
    assert got == status, text
    return json.loads(text)


def run(bed, name: str, *flags: str) -> subprocess.CompletedProcess:
    command = bed.command("kube2sky", f"--explain={name}", f"--healthz-port={bed.readiness_port}", *flags)
    return subprocess.run(command.argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)


def test_a_service_in_order(bed):
    ip = bed.kube.create("services", service("web", port(80, "http")))["spec"]["clusterIP"]
    bed.start_kube2sky()
    bed.wait_model()
    page = ask(bed, "Default/WEB")
    assert (page["service"], page["exists"], page["headless"], page["state"]) == ("default/web", True, False, "settled")
    assert page["cluster_ips"] == [ip]
    assert page["ports"] == [{"name": "http", "protocol": "TCP", "port": 80}]
    keys = {entry["key"]: entry for entry in page["keys"]}
    stored = bed.etcd.values(f"{SVC}/default/web/")
    assert {key: entry["value"] for key, entry in keys.items()} == stored
    assert all(entry["state"] == "present" and entry["revision"] > 0 for entry in page["keys"])
    assert page["counts"]["present"] == len(stored)
    (reverse,) = page["reverse"]
    assert reverse["address"] == ip and reverse["wins"] and reverse["state"] == "present"
    assert page["held_back"] == page["faults"] == page["skipped"] == page["reasons"] == []
    assert page["etcd"] == page["api"] == {"connected": True}
    assert page["leader"] == {"is_leader": True, "id": ""}
    done = run(bed, "default/web")
    assert (done.returncode, done.stderr) == (0, "")
    for part in ("default/web, type ClusterIP", ip, "http 80/TCP", f"{SVC}/default/web/{label(ip)}", "(present, revision"):
        assert part in done.stdout, done.stdout


def test_endpoints_are_counted(bed):
    bed.kube.create("services", headless("db"))
    made = endpoints("db", ["10.1.0.1", "10.1.0.2"])
    made["subsets"][0]["notReadyAddresses"] = [{"ip": "10.1.0.3"}]
    bed.kube.create("endpoints", made)
    bed.kube.create("services", headless("idle"))
    bed.start_kube2sky("--endpoints=endpoints")
    bed.wait_model()
    page = ask(bed, "default/db")
    assert page["endpoints"] == {"ready": 2, "not_ready": 1} and page["publish_not_ready"] is False
    page = ask(bed, "default/idle")
    assert page["endpoints"] == {"ready": 0, "not_ready": 0} and page["keys"] == []
    assert "0 ready, 0 not ready" in run(bed, "default/idle").stdout


def test_a_service_whose_port_is_bad(bed):
    bad = "Not_A\u001b[31mLabel"
    bed.kube.create("services", service("web", port(80, bad), port(81, "ok")))
    bed.start_kube2sky()
    page = ask(bed, "default/web")
    (skipped,) = page["skipped"]
    assert skipped["what"] == "port name" and skipped["value"].lower() == bad.lower()
    assert page["ports"][0]["name"].lower() == bad.lower()
    text = run(bed, "default/web").stdout
    assert "skipped" in text and "\x1b" not in text


def test_a_name_that_does_not_exist(bed):
    bed.kube.create("services", service("frontend"))
    bed.start_kube2sky()
    assert ask(bed, "default/frontned", 404)["near"] == ["default/frontend"]
    assert ask(bed, "other/frontend", 404)["near"] == ["default/frontend"]
    assert ask(bed, "other/unlike", 404)["near"] == []
    done = run(bed, "default/frontned")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "kube2sky: service default/frontned does not exist; did you mean default/frontend?\n"


def test_a_namespace_that_is_not_followed(bed):
    bed.kube.create("services", service("web"))
    bed.start_kube2sky("--namespaces=other", "--label-selector=a=b", is_waiting=False)
    page = bed.kube2sky.wait_ready(lambda: ask(bed, "default/web", 404), "an answer")
    assert page["followed"] is False and page["label_selector"] == "a=b"
    assert "is not followed" in run(bed, "default/web").stderr


@pytest.mark.parametrize("name", ["", "web", "/web", "default/", "a/b/c", "a b/c", "a/\u00e9", f"{'a' * 254}/b"])
def test_what_is_no_service(bed, name):
    done = run(bed, name)
    assert done.returncode == 2
    assert done.stderr == f"kube2sky: flag -explain: `{name[:200]}`: expected NAMESPACE/SERVICE, such as default/kubernetes\n"


def test_bad_requests(bed):
    bed.start_kube2sky()
    for query in ("", "?service", "?service=web", "?service=%3Cscript%3E", "?service=a/b/c"):
        status, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/explain{query}")
        assert status == 400 and "expected NAMESPACE/SERVICE" in json.loads(text)["error"]


def test_nobody_answers(bare_bed):
    bare_bed.readiness_port = reserve_port()
    done = run(bare_bed, "default/web")
    assert done.returncode == 1 and "must be those of a running kube2sky" in done.stderr


def test_etcd_that_is_away(bed):
    """What waits is told, and since when etcd is away."""
    bed.start_kube2sky("--etcd-mutation-timeout=300ms")
    bed.wait_model()
    bed.etcd_program.kill()
    bed.kube.create("services", service("late", port(80)))

    def page() -> dict | None:
        got, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/explain?service=default/late")
        told = json.loads(text)
        return told if got == 200 and not told["etcd"]["connected"] and told["reasons"] else None

    told = wait_until(page, "etcd is away")
    assert told["counts"]["missing"] >= 1 and told["state"] in ("queued", "in flight")
    assert "etcd is away" in told["reasons"] and told["etcd"]["away_s"] >= 0
    assert "away for" in run(bed, "default/late").stdout


def test_one_that_does_not_lead(bed):
    """It says who does, and what it would write."""
    bed.start_kube2sky("--leader-elect")
    (leader,) = bed.etcd.values("/kube2sky/cluster.local/leader").values()
    bed.readiness_port = reserve_port()
    flags = [f"--etcd-server={bed.etcd_urls[0]}", f"--healthz-port={bed.readiness_port}", "--leader-elect"]
    follower = bed.command("kube2sky", *flags, *bed.kube_flags).start()
    follower.wait_ready(lambda: bed.readiness()[0] == 200, "ready")
    page = ask(bed, "default/kubernetes")
    assert page["leader"] == {"is_leader": False, "id": leader}
    assert f"leader      {leader}\n" in run(bed, "default/kubernetes").stdout


def test_a_key_deleted_behind_its_back(bed):
    """By another writer again and again: it is contested, and rests before the next restoration."""
    bed.kube.create("services", service("web"))
    bed.start_kube2sky()
    bed.wait_model()
    key = next(iter(bed.etcd.values(f"{SVC}/default/web/")))

    def spoil() -> dict | None:
        bed.etcd.delete(key)
        page = ask(bed, "default/web")
        return page if "contested" in page and page["counts"]["missing"] == 1 else None

    page = bed.kube2sky.wait_ready(spoil, "contested")
    assert page["contested"]["restored"] >= 5
    entry = next(entry for entry in page["keys"] if entry["key"] == key)
    assert (entry["state"], entry["revision"]) == ("missing", 0)


def test_keys_that_etcd_refuses(bed, tmp_path):
    """One Service's: it waits by itself, and says what etcd said, until etcd takes them."""
    bed.etcd.add_writer("writer", "secret", f"{SVC}/default/", "/skydns/arpa/", "/kube2sky/")
    bed.etcd.enable_authentication("secret")
    bed.etcd.log_in("root", "secret")
    bed.kube.create("services", service("web"))
    bed.kube.create("services", service("secret", namespace="kube-system"))
    (tmp_path / "password").write_text("secret")
    bed.start_kube2sky("--etcd-username=writer", f"--etcd-password-file={tmp_path / 'password'}", is_waiting=False)

    def page() -> dict | None:
        got, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/explain?service=kube-system/secret")
        told = json.loads(text)
        # Its transaction failed first with the others': for that moment, etcd counted as away.
        return told if got == 200 and "refused" in told and told["etcd"] == {"connected": True} else None

    told = bed.kube2sky.wait_ready(page, "refused")
    assert "permission denied" in told["refused"]["reason"] and told["refused"]["retry_ms"] >= 0
    assert told["state"] in ("refused", "queued", "in flight") and "etcd refuses its keys" in told["reasons"]
    assert told["counts"]["missing"] >= 1
    text = run(bed, "kube-system/secret").stdout
    assert "because     etcd refuses its keys\n" in text, text
    assert "permission denied" in text and "; tried again in" in text, text
    wait_until(lambda: ask(bed, "default/web")["state"] == "settled", "another Service is settled")
    assert "refused" not in ask(bed, "default/web")
    bed.etcd.permit_writer("writer", "/skydns/")
    told = wait_until(lambda: (told := ask(bed, "kube-system/secret"))["state"] == "settled" and told, "its keys are written")
    assert "refused" not in told and told["reasons"] == [] and told["counts"]["missing"] == 0


def test_deletes_that_are_held_back(bed):
    """A list without default/kubernetes is not believed: of a Service and of one that is gone, nothing is deleted."""
    bed.kube.delete("services", "kubernetes")
    bed.kube.create("services", service("web"))
    old, orphan = f"{SVC}/default/web/old", f"{SVC}/default/orphan/x"
    for key in (old, orphan):
        bed.etcd.put(key, value("10.0.0.1"))
    bed.start_kube2sky(is_waiting=False)
    waits = "deletes wait: not everything that may want its keys has been listed"

    def held(name: str, exists: bool) -> dict | None:
        got, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/explain?service={name}")
        told = json.loads(text)
        return told if got == 200 and told["held_back"] and told["exists"] is exists else None

    for name, key, exists in (("default/web", old, True), ("default/orphan", orphan, False)):
        told = bed.kube2sky.wait_ready(lambda: held(name, exists), f"a delete of {name} is held back")
        assert told["held_back"] == [{"what": "delete", "key": key}]
        assert waits in told["reasons"] and told["due"]["deletes"] == 0
        text = run(bed, name).stdout
        assert f"held back   delete {key}\n" in text and f"because     {waits}\n" in text
    assert {old, orphan} <= set(bed.etcd.get_prefix(SVC))
    bed.kube.create("services", service("kubernetes", port(443, "https")))
    wait_until(lambda: ask(bed, "default/web")["held_back"] == [], "nothing is held back")
    wait_until(lambda: not {old, orphan} & set(bed.etcd.get_prefix(SVC)), "both are deleted")


def test_who_wins_a_reverse_name(bed):
    bed.kube.create("services", headless("a"))
    bed.kube.create("endpoints", endpoints("a", ["10.96.0.77"]))
    bed.kube.create("services", service("z", clusterIP="10.96.0.77"))
    bed.start_kube2sky("--endpoints=endpoints")
    bed.wait_model()
    (claim,) = ask(bed, "default/a")["reverse"]
    assert not claim["wins"] and claim["winner_owner"] == "svc/default/z"
    assert claim["winner"] == "z.default.svc.cluster.local." and claim["state"] == "present"
    assert "which wins against" in run(bed, "default/a").stdout


def test_what_is_left_of_a_service(bed):
    """A key below its name that kube2sky did not write stays, and is told."""
    bed.etcd.put(f"{SVC}/default/gone/a", '{"host":"10.9.9.9","text":"mine"}')
    bed.start_kube2sky("--own-only-written")
    page = ask(bed, "default/gone")
    assert page["exists"] is False and page["counts"]["foreign"] == 1
    assert "does not exist; what is left of it in etcd" in run(bed, "default/gone").stdout
