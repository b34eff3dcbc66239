"""kube2sky --config-map: kube-dns's ConfigMap becomes keys and a document, against the tests' API server and a
real one.
"""

import json
import signal
import subprocess
from contextlib import suppress

import pytest
from kube import KubeError, port, service
from programs import http_get, reserve_port, wait_equal, wait_until
from records import label
from test_kube_dry_run import dry_run
from watched import Watched

BESIDE = "/skydns/local/cluster/"
STUB = BESIDE + "dns/stub/"
DOCUMENT = "/kube2sky/cluster.local/config"
REST = ',"priority":10,"weight":10,"ttl":30,"targetstrip":0}'
FLAG = "--config-map=kube-dns"


def config_map(name: str = "kube-dns", **data: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "kube-system"},
        "data": data,
    }


def stub(zone: str, host: str, number: int = 0) -> dict[str, str]:
    value = f'{{"host":"{host}"' + (f',"port":{number}' if number else "") + REST
    return {f"{STUB}{'/'.join(reversed(zone.split('.')))}/{fnv(value)}": value}


def fnv(text: str) -> str:
    found = 0x811C9DC5
    for byte in text.encode():
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{found:x}"


def settings(bed) -> dict[str, str]:
    """What is in etcd beside the keys of objects, and the document."""
    found = {k: v for k, v in bed.etcd.values(BESIDE).items() if not k.startswith((BESIDE + "svc/", BESIDE + "pod/"))}
    return found | bed.etcd.values(DOCUMENT)


def document(keys: dict[str, str], *nameservers: str) -> dict[str, str]:
    value = {"nameservers": list(nameservers)} if nameservers else {}
    value["keys"] = sorted(keys)
    return {DOCUMENT: json.dumps(value, separators=(",", ":"))}


def wait_settings(bed, keys: dict[str, str], *nameservers: str, foreign: dict[str, str] | None = None) -> None:
    """Exactly these keys and their document; no document if there is nothing to say."""
    right = keys | (document(keys, *nameservers) if keys or nameservers else {}) | (foreign or {})
    wait_equal(lambda: settings(bed), right, "the settings")


def strict(bed) -> tuple[int, str]:
    return http_get(f"http://127.0.0.1:{bed.readiness_port}/readiness?strict")


def metric(bed, name: str) -> float:
    return Watched(bed.kube2sky, bed.readiness_port, "kube2sky_").metrics().get(name)


@pytest.fixture(params=["tests' own server", "JSON only", "real server"])
def any_bed(request, bare_bed):
    bare_bed.start_etcd()
    if request.param == "real server":
        server = request.getfixturevalue("server")
        bare_bed.use_kube(server.kube, server.flags)
    else:
        bare_bed.start_apiserver(*(["--json-only"] if request.param == "JSON only" else []))
    yield bare_bed
    with suppress(KubeError):  # the real server serves the next test, too
        bare_bed.kube.delete("configmaps", "kube-dns", "kube-system")
    with suppress(KubeError):
        bare_bed.kube.delete("configmaps", "other", "kube-system")


ACME = {"stubDomains": '{"acme.local": ["10.0.0.1:10053", "ns.default.svc.cluster.local"]}'}
ACME_KEYS = stub("acme.local", "10.0.0.1", 10053) | stub("acme.local", "ns.default.svc.cluster.local.")


def test_from_creation_to_deletion(any_bed):
    bed = any_bed
    bed.start_kube2sky(FLAG)
    assert settings(bed) == {} and metric(bed, "config_map_refused") == 0

    bed.kube.create("configmaps", config_map("other", upstreamNameservers='["9.9.9.9"]'))
    bed.kube.create("configmaps", config_map(**ACME))
    wait_settings(bed, ACME_KEYS)

    records = '{"db.cluster.local": {"host": "10.1.2.3"}, "WWW.cluster.local.": [{"host": "a.", "port": 80}]}'
    bed.kube.replace("configmaps", config_map(records=records, upstreamNameservers='["8.8.8.8","[fd00::1]:54"]'))
    value = '{"host":"a.","port":80}'
    keys = {BESIDE + "db": '{"host":"10.1.2.3"}', f"{BESIDE}www/{fnv(value)}": value}
    wait_settings(bed, keys, "8.8.8.8:53", "[fd00::1]:54")
    wait_until(lambda: metric(bed, "config_map_keys") == 2, "counted")

    bed.kube.replace("configmaps", config_map(upstreamNameservers='["8.8.8.8"]'))
    wait_settings(bed, {}, "8.8.8.8:53")
    bed.kube.delete("configmaps", "kube-dns", "kube-system")
    wait_settings(bed, {})
    bed.wait_model()


def test_an_invalid_map_leaves_the_last_good_one(any_bed):
    bed = any_bed
    bed.kube.create("configmaps", config_map(**ACME))
    bed.start_kube2sky(FLAG)
    wait_settings(bed, ACME_KEYS)
    assert strict(bed) == (200, "ok\n")

    wrong = '{"acme.local": ["10.0.0.300"]}'
    bed.kube.replace("configmaps", config_map(stubDomains=wrong, upstreamNameservers='["8.8.8.8"]'))
    line = bed.kube2sky.wait_line("ConfigMap refused")
    why = "stubDomains: acme.local: `10.0.0.300`: expected an IP address, IP:port or a host name of this domain"
    assert why in line
    status, text = strict(bed)
    assert status == 503 and why in text
    assert bed.readiness()[0] == 200 and metric(bed, "config_map_refused") == 1
    bed.kube.create("services", service("web", port(80, "http")))
    bed.wait_model()  # nothing else is held up
    wait_settings(bed, ACME_KEYS)

    result = dry_run(bed, FLAG)
    assert result.returncode == 1 and why in result.stderr

    # Restarted, the last good one is what is in etcd, even if somebody changes it.
    bed.kube2sky.stop()
    bed.start_kube2sky()
    bed.kube2sky.wait_ready(lambda: strict(bed)[0] == 503, "still refused")
    wait_settings(bed, ACME_KEYS)

    bed.kube.replace("configmaps", config_map(upstreamNameservers='["8.8.8.8"]'))
    wait_settings(bed, {}, "8.8.8.8:53")
    wait_until(lambda: strict(bed) == (200, "ok\n"), "accepted again")
    assert metric(bed, "config_map_refused") == 0


def test_a_refusal_is_one_line(bed):
    bed.kube.create("configmaps", config_map(stubDomains='{"acme\\nok\\n.local": ["10.0.0.1"]}'))
    bed.start_kube2sky(FLAG, is_waiting=False)
    bed.kube2sky.wait_ready(lambda: "stubDomains" in strict(bed)[1], "refused")
    status, text = strict(bed)
    assert status == 503 and "`acme?ok?.local`: expected a domain" in text and text.count("\n") == 1


def test_keys_that_somebody_changes_are_written_again(bed):
    bed.kube.create("configmaps", config_map(**ACME))
    bed.start_kube2sky(FLAG)
    wait_settings(bed, ACME_KEYS)
    first, second = sorted(ACME_KEYS)
    bed.etcd.delete(first)
    wait_settings(bed, ACME_KEYS)
    bed.etcd.put(second, "spoilt")
    wait_settings(bed, ACME_KEYS)
    bed.etcd.delete(DOCUMENT)
    wait_settings(bed, ACME_KEYS)
    bed.etcd.put(DOCUMENT, '{"keys":[]}')
    wait_settings(bed, ACME_KEYS)
    bed.etcd.put(DOCUMENT, "nonsense")
    wait_settings(bed, ACME_KEYS)
    wait_until(lambda: metric(bed, "keys_restored_total") >= 5, "counted")

    # Those who keep doing it meet rests before each restoration; a change of the map does not wait.
    while "another writer" not in strict(bed)[1]:
        bed.etcd.delete(first)
        wait_settings(bed, ACME_KEYS)
    bed.etcd.delete(first)
    bed.kube2sky.wait_line("another writer keeps changing keys of the ConfigMap")
    wait_settings(bed, ACME_KEYS)
    bed.etcd.delete(first)
    bed.kube.replace("configmaps", config_map(upstreamNameservers='["8.8.8.8"]'))
    wait_settings(bed, {}, "8.8.8.8:53")


def test_keys_of_others_are_left_alone(bed):
    theirs = {BESIDE + "db": '{"host":"10.9.9.9"}', BESIDE + "dns/stub/local/mine/1": '{"host":"10.9.9.9"}'}
    bed.etcd.put_all(theirs)
    records = '{"db.cluster.local": {"host": "10.1.2.3"}, "web.cluster.local": {"host": "10.1.2.4"}}'
    bed.kube.create("configmaps", config_map(records=records))
    bed.start_kube2sky(FLAG)
    ours = {BESIDE + "web": '{"host":"10.1.2.4"}'}
    wait_settings(bed, ours, foreign=theirs)
    assert f"key={BESIDE}db" in bed.kube2sky.wait_line("another writer wrote a key that the ConfigMap wants")
    assert metric(bed, "config_map_keys_foreign") == 1
    _, plan = http_get(f"http://127.0.0.1:{bed.readiness_port}/plan")
    assert f'= {BESIDE}db {{"host":"10.1.2.3"}}' in plan
    bed.etcd.delete(BESIDE + "db")
    del theirs[BESIDE + "db"]
    wait_settings(bed, ours | {BESIDE + "db": '{"host":"10.1.2.3"}'}, foreign=theirs)
    bed.kube.delete("configmaps", "kube-dns", "kube-system")
    wait_settings(bed, {}, foreign=theirs)


def test_a_document_lists_nothing_that_cannot_be_ours(bed):
    """Whoever may write it must not make kube2sky delete anything else."""
    victims = {"/registry/secret": "x", "/skydns/local/other/a": "{}", "/skydns/config": "{}"}
    bed.etcd.put_all(victims)
    keys = [*victims, BESIDE + "svc/default/kubernetes", BESIDE, BESIDE + "svc", DOCUMENT]
    bed.etcd.put(DOCUMENT, json.dumps({"keys": keys}))
    bed.start_kube2sky()
    wait_until(lambda: not bed.etcd.values(DOCUMENT), "the document goes")
    bed.wait_model()
    assert {k: v for k, v in bed.etcd.values("/").items() if k in victims} == victims


def test_without_the_flag_its_keys_go(bed):
    bed.kube.create("configmaps", config_map(**ACME, upstreamNameservers='["8.8.8.8"]'))
    bed.etcd.put(BESIDE + "mine", '{"host":"10.9.9.9"}')
    theirs = {BESIDE + "mine": '{"host":"10.9.9.9"}'}
    flags = bed.kube_flags
    bed.start_kube2sky(FLAG)
    wait_settings(bed, ACME_KEYS, "8.8.8.8:53", foreign=theirs)
    bed.kube2sky.stop()
    result = dry_run(bed, FLAG)
    assert (result.returncode, result.stdout) == (0, "")
    result = dry_run(bed)
    assert sorted(result.stdout.splitlines()) == sorted(f"- {key}" for key in [*ACME_KEYS, DOCUMENT])
    bed.kube.control("forbid", resource="configmaps")  # no permission is needed
    bed.kube2sky, bed.kube_flags = None, flags
    bed.start_kube2sky("--namespaces=kube-system", "--leader-elect")
    wait_settings(bed, {}, foreign=theirs)


def test_a_writer_of_other_namespaces_leaves_them(bed):
    bed.kube.create("configmaps", config_map(**ACME))
    bed.start_kube2sky(FLAG, "--namespaces=kube-system")
    wait_settings(bed, ACME_KEYS)
    bed.kube2sky, since = None, bed.etcd.revision()
    bed.readiness_port = reserve_port()
    bed.start_kube2sky("--namespaces=default")
    bed.kube.create("services", service("web", port(80, "http")))
    bed.kube2sky.wait_ready(lambda: bed.etcd.values(BESIDE + "svc/default/web/"), "it writes")
    assert not [key for _, key in bed.etcd.history(since + 1) if key in {*ACME_KEYS, DOCUMENT}]
    assert strict(bed) == (200, "ok\n")
    plan = f"http://127.0.0.1:{bed.readiness_port}/plan"  # may still hold what etcd has by now
    wait_until(lambda: http_get(plan) == (200, "# nothing to do\n"), "nothing left to do")


def test_what_cannot_be_read_holds_up_nothing_else(bed):
    bed.kube.create("configmaps", config_map(**ACME))
    bed.start_kube2sky(FLAG)
    wait_settings(bed, ACME_KEYS)
    bed.kube2sky.stop()
    bed.kube.control("forbid", resource="configmaps")
    bed.kube2sky.argv.append("--etcd-mutation-timeout=500ms")
    bed.start_kube2sky()
    bed.kube.create("services", service("web", port(80, "http")))
    bed.wait_model()
    bed.kube.delete("services", "web")
    bed.wait_model()
    wait_until(lambda: (told := strict(bed))[0] == 503 and "configmaps" in told[1], "told")
    wait_settings(bed, ACME_KEYS)
    bed.kube.control("forbid", resource="configmaps", on=False)
    bed.kube.replace("configmaps", config_map(upstreamNameservers='["8.8.8.8"]'))
    wait_settings(bed, {}, "8.8.8.8:53")
    wait_until(lambda: strict(bed) == (200, "ok\n"), "all is well")


def large(count: int, start: int = 0) -> tuple[dict, dict[str, str]]:
    names = [f"n{number}" for number in range(start, start + count)]
    records = {f"{name}.cluster.local": {"host": "10.0.0.1"} for name in names}
    return config_map(records=json.dumps(records)), {BESIDE + name: '{"host":"10.0.0.1"}' for name in names}


def test_a_large_map_is_listed_before_and_unlisted_after(bed):
    """At each revision, every key of ours is in the list; and nothing of it is left by a crash."""
    first, first_keys = large(1000)
    second, second_keys = large(1000, 500)
    bed.kube.create("configmaps", first)
    since = bed.etcd.revision()
    bed.start_kube2sky(FLAG)
    wait_settings(bed, first_keys)
    bed.kube.replace("configmaps", second)
    wait_settings(bed, second_keys)
    check_history(bed, since)


def check_history(bed, since: int) -> None:
    present: set[str] = set()
    listed: set[str] = set()
    revisions: dict[int, list] = {}
    for revision, key, value in bed.etcd.changes(since):
        revisions.setdefault(revision, []).append((key, value))
    seen = 0
    for _, changes in sorted(revisions.items()):
        for key, value in changes:
            if key == DOCUMENT:
                listed = set(json.loads(value)["keys"]) if value else set()
            elif key.startswith(BESIDE + "n"):
                (present.add if value else present.discard)(key)
                seen += 1
        assert present <= listed
    assert seen >= 2000


def test_a_crash_between_transactions_leaves_nothing_behind(bed):
    first, _ = large(1500)
    bed.kube.create("configmaps", first)
    bed.start_kube2sky(FLAG, is_waiting=False)
    wait_until(lambda: len(settings(bed)) > 2, "some are written")
    bed.kube2sky.kill()
    found = settings(bed)
    assert set(found) - {DOCUMENT} <= set(json.loads(found[DOCUMENT])["keys"])
    bed.kube2sky = None
    bed.start_kube2sky()
    wait_settings(bed, {})


def test_settings_without_effect_are_told_once(bed):
    values = config_map(federations='{"a":"b"}', stubdomains="{}", upstreamNameservers='["8.8.8.8"]')
    bed.kube.create("configmaps", values)
    bed.start_kube2sky(FLAG)
    wait_settings(bed, {}, "8.8.8.8:53")
    values["data"]["upstreamNameservers"] = '["8.8.4.4"]'
    bed.kube.replace("configmaps", values)
    wait_settings(bed, {}, "8.8.4.4:53")
    for key in ("federations", "stubdomains"):
        bed.kube2sky.wait_line(rf"setting of the ConfigMap ignored.* key={key}\b")
    assert sum("setting of the ConfigMap ignored" in line for line in bed.kube2sky.lines) == 2


def test_another_etcd_gets_all_of_it(bed):
    bed.kube.create("configmaps", config_map(**ACME))
    bed.start_kube2sky(FLAG)
    wait_settings(bed, ACME_KEYS)
    bed.etcd_program.kill()
    subprocess.run(["rm", "-rf", str(bed.folder / "etcd")], check=True)
    bed.start_etcd()
    wait_settings(bed, ACME_KEYS)
    bed.wait_model()


def test_only_the_leader_writes(bed):
    bed.kube.create("configmaps", config_map(**ACME))
    bed.start_kube2sky(FLAG, "--leader-elect", "--leader-elect-lease-duration=2s")
    wait_settings(bed, ACME_KEYS)
    first, bed.kube2sky = bed.kube2sky, None
    bed.readiness_port = reserve_port()
    bed.start_kube2sky(FLAG, "--leader-elect", "--leader-elect-lease-duration=2s")
    first.signal(signal.SIGSTOP)
    bed.kube2sky.wait_line("leading|leader")
    bed.kube.replace("configmaps", config_map(upstreamNameservers='["8.8.8.8"]'))
    wait_settings(bed, {}, "8.8.8.8:53")
    first.signal(signal.SIGCONT)
    bed.kube.delete("configmaps", "kube-dns", "kube-system")
    wait_settings(bed, {})


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--config-map=Kube_Dns"], "flag -config-map: `Kube_Dns`: expected a ConfigMap like"),
        (["--config-map=a/b/c"], "flag -config-map: `a/b/c`: expected a ConfigMap like"),
        (["--config-map=/a"], "flag -config-map: `/a`: expected a ConfigMap like"),
        (["--config-map-namespace=a.b"], "flag -config-map-namespace: `a.b`: expected a namespace like"),
    ],
)
def test_wrong_flags(bare_bed, flags, expected):
    done = subprocess.run([*bare_bed.command("kube2sky").argv, *flags], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2 and expected in done.stderr


def test_labels_are_those_of_addresses():
    assert next(iter(stub("acme.local", "10.0.0.1"))).endswith("/acme/" + label("10.0.0.1"))
