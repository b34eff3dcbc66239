"""Somebody else keeps changing kube2sky's keys: it notices, says so, and restores them less often."""

import json
import shutil

import pytest
import yaml
from kube import port, service
from model import reverse_key
from programs import reserve_port, wait_until
from records import SVC, label, value
from test_monitoring import ALERTS, needs_promtool, promtool
from watched import Watched

ALERT = "DNSWritersFight"


@pytest.fixture
def writer(bed):
    bed.kube.create("services", service("web", port(80, "http")))
    bed.start_kube2sky()
    return Watched(bed.kube2sky, bed.readiness_port, "kube2sky_")


def start_second(bed) -> Watched:
    """All its keys and values differ, since its TTL does."""
    number = reserve_port()
    flags = [f"--etcd-server={bed.etcd_urls[0]}", f"--healthz-port={number}", "--ttl=60", *bed.kube_flags]
    return Watched(bed.command("kube2sky", *flags).start(), number, "kube2sky_")


def contested(watched: Watched) -> float:
    return watched.metrics().get("contested_services")


def is_firing(folder, scraped: list[float]) -> bool:
    """Whether the alert fires when one of these values of the metric is scraped each minute."""
    right = {"labels": f'ALERTS{{alertname="{ALERT}",alertstate="firing",severity="warning",instance="a"}}', "value": 1}
    case = {
        "interval": "1m",
        "input_series": [
            {"series": 'kube2sky_contested_services{instance="a"}', "values": " ".join(f"{v:g}" for v in scraped)}
        ],
        "promql_expr_test": [
            {
                "expr": f'ALERTS{{alertname="{ALERT}",alertstate="firing"}}',
                "eval_time": f"{len(scraped) - 1}m",
                "exp_samples": [right],
            }
        ],
    }
    shutil.copy(ALERTS, folder)
    (folder / "case.yaml").write_text(
        yaml.safe_dump({"rule_files": [ALERTS.name], "evaluation_interval": "1m", "tests": [case]})
    )
    done = promtool("test", "rules", str(folder / "case.yaml"))
    assert done.returncode == 0 or "exp:" in done.stdout + done.stderr, done.stdout + done.stderr
    return done.returncode == 0


def test_two_writers_notice_each_other(bed, writer):
    assert contested(writer) == 0
    second = start_second(bed)
    for one in (writer, second):
        one.program.wait_ready(lambda one=one: contested(one) == 2, "web and kubernetes are contested")
        line = one.program.wait_line("another writer keeps changing keys of the service")
        ours, theirs = ("30", "60") if one is writer else ("60", "30")
        assert 'writer="another kube2sky"' in line
        assert f'\\"ttl\\":{ours}' in line.split(" ours=")[1].split(" their_key=")[0]
        assert f'\\"ttl\\":{theirs}' in line.split(" theirs=")[1]
        assert "keeps changing keys of 2 services" in one.wait_strict(503)
    made = bed.kube.create("services", service("new"))["spec"]["clusterIP"]
    wait_until(lambda: made in str(bed.etcd.values(f"{SVC}/default/new/")), "a new Service is not held up")
    second.program.stop()
    bed.wait_model()


@needs_promtool
def test_the_alert_fires_in_a_fight_and_not_in_peace(bed, writer, tmp_path):
    minutes = 10
    peace = [contested(writer) for _ in range(minutes)]
    second = start_second(bed)
    writer.program.wait_ready(lambda: contested(writer) > 0, "contested")
    fight = []
    for _ in range(minutes):  # it goes on: the metric must not waver
        seen = writer.metrics().get("keys_written_total")
        writer.program.wait_ready(
            lambda seen=seen: writer.metrics().get("keys_written_total") > seen or len(fight) > 2, "a restoration"
        )
        fight.append(contested(writer))
    second.program.stop()
    assert not is_firing(tmp_path, peace)
    assert is_firing(tmp_path, fight)


def test_a_script_that_spoils_a_key(bed, writer):
    """Only its Service is contested, and the value is told."""
    key = next(key for key in bed.etcd.values(f"{SVC}/default/web/") if "_tcp" not in key)

    def spoil() -> float:
        bed.etcd.put(key, value("10.9.9.9").replace("}", ',"text":"mine"}'))
        return contested(writer)

    writer.program.wait_ready(lambda: spoil() == 1, "contested")
    spoil()
    line = writer.program.wait_line(f"keeps changing keys of the service.* owner=svc/default/web .*key={key} ours=")
    assert 'writer="not kube2sky"' in line and "mine" in line.split(" theirs=")[1]
    bed.wait_model()


def test_a_reverse_name_that_a_script_spoils(bed, writer):
    """It rests alone, and is told: what somebody changes of the Service's other keys is put right at once."""
    ip = bed.kube.get("services", "web")["spec"]["clusterIP"]
    reverse, theirs = reverse_key(ip), value("stolen.default.svc.cluster.local.")
    own = next(key for key in bed.etcd.values(f"{SVC}/default/web/") if "_tcp" not in key)

    def spoil() -> dict | None:
        bed.etcd.put(reverse, theirs)
        _, text = writer.ask("/explain?service=default/web")
        told = json.loads(text)
        return told if told["state"] == "contested" else None

    told = writer.program.wait_ready(spoil, "contested")
    assert told["contested"]["key"] == reverse and told["contested"]["restored"] >= 5
    assert any("its reverse names" in reason for reason in told["reasons"])
    bed.etcd.delete(own)
    bed.wait_model()
    entries = bed.etcd.get_prefix("/skydns/")
    assert entries[own].mod_revision < entries[reverse].mod_revision


def test_a_leader_s_key_written_by_hand(bed):
    """It has no lease, so it never goes: the strict probe says so, and it is overwritten after the time of a lease."""
    key = "/kube2sky/cluster.local/leader"
    bed.kube.create("services", service("web"))
    bed.etcd.put(key, "by hand")
    bed.start_kube2sky("--leader-elect", "--leader-elect-lease-duration=3s", is_waiting=False)
    follower = Watched(bed.kube2sky, bed.readiness_port, "kube2sky_")
    bed.kube2sky.wait_ready(lambda: f"{key} has no lease" in follower.ask("/readiness?strict")[1], "reported")
    assert not bed.etcd.values(SVC)
    bed.wait_model()
    assert bed.etcd.values(key)[key] != "by hand"
    follower.wait_strict(200)


def test_repairs_by_hand_are_no_contest(bed, writer):
    """A person tries something: each key is restored at once."""
    key = f"{SVC}/default/web/{label('10.9.9.9')}"
    for _ in range(3):
        bed.etcd.put(key, value("10.9.9.9"))
        bed.wait_model()
    assert contested(writer) == 0 and writer.ask("/readiness?strict")[0] == 200


def test_what_somebody_else_did_is_told_in_one_line(bed, writer):
    """Not what kube2sky does itself for a change in the API, nor at its start."""
    web = next(key for key in bed.etcd.values(f"{SVC}/default/web/") if "_tcp" not in key)
    bed.kube.create("services", service("own", port(80, "http")))
    bed.wait_model()
    told = r"info .*another writer changed keys of the service, restored owner=svc/default/web key="
    for change, counts in (
        (lambda: bed.etcd.put(web, value("10.9.9.9")), "changed=1 deleted=0 added=0"),
        (lambda: bed.etcd.delete_prefix(f"{SVC}/default/web/"), "changed=0 deleted=2 added=0"),
        (lambda: bed.etcd.put(f"{SVC}/default/web/mine", value("10.9.9.9")), "changed=0 deleted=0 added=1"),
    ):
        since = len(bed.kube2sky.lines)
        change()
        assert counts in bed.kube2sky.wait_line(told, since)
    bed.wait_model()
    writer.wait_metric(4, "keys_restored_total")  # counted once etcd has said that it has them
    assert len([line for line in bed.kube2sky.lines if "another writer changed" in line]) == 3
