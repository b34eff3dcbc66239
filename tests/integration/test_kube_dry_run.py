"""--dry-run shows what would be written and writes nothing; GET /plan shows what is still to be written."""

import signal
import subprocess

from kube import endpoints, headless, port, service
from programs import http_get, reserve_port, wait_until
from records import SVC, label, value


def dry_run(bed, *flags: str, timeout_s: float = 60) -> subprocess.CompletedProcess:
    return subprocess.run(
        [
            *bed.command("kube2sky").argv,
            f"--etcd-server={bed.etcd_urls[0]}",
            *bed.kube_flags,
            "--dry-run",
            *flags,
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )


def everything(bed) -> dict:
    return bed.etcd.get_prefix("/")


def test_all_that_an_empty_etcd_lacks(bed):
    kubernetes = bed.kube.get("services", "kubernetes")["spec"]["clusterIP"]
    result = dry_run(bed)
    assert result.returncode == 3
    lines = result.stdout.splitlines()
    assert f"+ {SVC}/default/kubernetes/{label(kubernetes)} {value(kubernetes)}" in lines
    assert all(line.startswith("+ /skydns/") for line in lines) and len(set(lines)) == len(lines)
    assert everything(bed) == {}
    bed.start_kube2sky()
    assert {line.split(" ", 1)[1] for line in lines} == {
        f"{key} {text}" for key, text in bed.etcd.values("/skydns/").items()
    }


def test_nothing_to_do(bed):
    bed.kube.create("services", service("web", port(80, "http")))
    bed.start_kube2sky()
    wait_until(lambda: "/kube2sky/cluster.local/store" in bed.etcd.values("/kube2sky/"), "the store key, which comes last")
    before = everything(bed)
    result = dry_run(bed)
    assert (result.returncode, result.stdout) == (0, "")
    assert everything(bed) == before


def test_addresses_that_several_claim(bed):
    """The losing claim arrives first and is briefly the only one: it must not appear in the plan."""
    bed.kube.create("services", headless("a"))
    bed.kube.create("endpoints", endpoints("a", ["10.96.0.77"]))
    bed.kube.create("services", service("z", clusterIP="10.96.0.77"))
    reverse = "/skydns/arpa/in-addr/10/96/0/77 "
    lines = [line for line in dry_run(bed).stdout.splitlines() if reverse in line]
    assert lines == [f"+ {reverse}{value('z.default.svc.cluster.local.')}"]
    bed.start_kube2sky()
    bed.wait_model()
    result = dry_run(bed)
    assert (result.returncode, result.stdout) == (0, "")


def test_each_kind_of_line(bed):
    made = bed.kube.create("services", service("web", port(80, "http")))
    ip = made["spec"]["clusterIP"]
    bed.start_kube2sky()
    bed.kube2sky.stop()
    bed.etcd.delete(f"{SVC}/default/web/{label(ip)}")
    bed.etcd.put(f"{SVC}/default/web/_tcp/_http/{label(ip)}", "spoilt")
    bed.etcd.put(f"{SVC}/default/gone/a\nb\\", value("10.9.9.9"))
    before = everything(bed)
    result = dry_run(bed)
    assert result.returncode == 3
    right = value("web.default.svc.cluster.local.", 80)
    assert sorted(result.stdout.splitlines()) == sorted(
        [
            f"+ {SVC}/default/web/{label(ip)} {value(ip)}",
            f"~ {SVC}/default/web/_tcp/_http/{label(ip)} {right}",
            f"- {SVC}/default/gone/a\\x0ab\\x5c",
        ]
    )
    assert everything(bed) == before


def test_it_needs_no_port(bed):
    """The running kube2sky has the port."""
    bed.start_kube2sky()
    assert dry_run(bed, f"--healthz-port={bed.readiness_port}").returncode == 0


def test_what_cannot_be_known(bed):
    """No etcd, then no API: status 1, one reason, no line of a plan."""
    for flags in (
        [f"--etcd-server=http://127.0.0.1:{reserve_port()}"],
        [f"--kube-master-url=http://127.0.0.1:{reserve_port()}"],
    ):
        result = dry_run(bed, "--etcd-mutation-timeout=300ms", *flags)
        assert (result.returncode, result.stdout) == (1, "")
        last = result.stderr.splitlines()[-1]
        assert last.startswith("error ") and "cannot compute the changes" in last and "refused" in last


def test_stdout_that_is_full(bed):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*bed.command("kube2sky").argv, f"--etcd-server={bed.etcd_urls[0]}", *bed.kube_flags, "--dry-run"],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert result.returncode == 1 and "cannot print the changes" in result.stderr


# ---- GET /plan ----


def plan(bed) -> list[str]:
    status, text = http_get(f"http://127.0.0.1:{bed.readiness_port}/plan", timeout_s=30)
    assert status == 200
    return text.splitlines()


def test_plan_while_etcd_is_away(bed):
    """Shows all pending writes, any number of them; nothing once they are written."""
    bed.start_kube2sky()
    assert plan(bed) == ["# nothing to do"]
    bed.etcd_program.signal(signal.SIGSTOP)
    try:
        made = bed.kube.create("services", service("web", port(80, "http")))["spec"]["clusterIP"]
        bed.kube.control("bulk", count=3000, namespace="big")
        wait_until(lambda: len(plan(bed)) == 3 + 9000, "every line is there", timeout_s=60)
        lines = plan(bed)
    finally:
        bed.etcd_program.signal(signal.SIGCONT)
    assert all(line.startswith("+ /skydns/") for line in lines) and len(set(lines)) == len(lines)
    assert f"+ {SVC}/default/web/{label(made)} {value(made)}" in lines
    wait_until(lambda: plan(bed) == ["# nothing to do"], "written")
    assert {f"+ {key} {text}" for key, text in bed.etcd.values("/skydns/").items()} > set(lines)


def test_plan_before_everything_is_known(bare_bed):
    bed = bare_bed
    bed.start_etcd()
    bed.use_kube(None, [f"--kube-master-url=http://127.0.0.1:{reserve_port()}"])
    bed.start_kube2sky(is_waiting=False)
    bed.kube2sky.wait_ready(bed.readiness, "answers")
    lines = plan(bed)
    assert lines[0].startswith("# not everything is known yet: ")
