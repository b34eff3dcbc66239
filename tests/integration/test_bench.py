"""The parts of the answer benchmark that could break unnoticed: its data, its figures and verdicts, and its tools
against each other. No test depends on speed.
"""

import socket
import subprocess
import sys
from pathlib import Path

import dns.flags
import dns.message
import dns.name
import dns.rdatatype
import dns.zone
import pytest
from bed import BIN_DIR, make_certificate
from bench_runs import figures, one_run, quiet_runs
from dns_client import Dns
from programs import Program, reserve_port, wait_until
from records import SVC, label

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))

import hops  # noqa: E402
import measuring  # noqa: E402
from answers import (  # noqa: E402
    bursts,
    data,
    kept,
    nameserver,
    path,
    report,
    rounds,
    servers,
    signed,
    summary,
    tables,
)

TOOLS = BIN_DIR.parent / "tests/bench/answers"
SERVICES = 300
QUESTIONS = 1200


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    """The zones as dnspython parses them."""
    folder = tmp_path_factory.mktemp("zones")
    data.write_zones(SERVICES, folder)
    return {
        name: dns.zone.from_file(str(folder / name), f"{name}.", relativize=False)
        for name in ("cluster.local", data.REVERSE_ZONE)
    }


def kind_of_answer(zone, name: str, rdtype: str) -> str:
    """The kind of answer from a server with the zone, named like the parts of a mix."""
    owner = dns.name.from_text(name)
    if zone.get_rdataset(owner, rdtype):
        return "records"
    return "nodata" if any(node.is_subdomain(owner) for node in zone) else "nxdomain"


# ---- Data ----


@pytest.mark.parametrize("mix", data.MIXES, ids=lambda mix: mix.name)
def test_mix_has_the_answers_it_says(zones, mix):
    asked = list(data.questions(mix.name, SERVICES, QUESTIONS))
    assert len(asked) == QUESTIONS
    kinds = [kind_of_answer(zones["cluster.local"], name, rdtype) for name, rdtype in asked]
    for kind in ("records", "nodata", "nxdomain"):
        assert kinds.count(kind) / QUESTIONS == pytest.approx(getattr(mix, kind)), kind
    assert len(set(asked)) > 100  # not always the same


def test_mixes_are_the_same_every_time():
    once, again = (list(data.questions("kubernetes", SERVICES, 100)) for _ in range(2))
    assert once == again
    assert once != list(data.questions("kubernetes", 2 * SERVICES, 100))


def test_keys_are_those_of_kube2sky():
    keys = dict(data.keys(SERVICES))
    assert len(keys) == 3 * SERVICES
    base = f"{SVC}/default/svc-00259"
    hashed = label("10.96.1.3")
    assert '"host":"10.96.1.3"' in keys[f"{base}/{hashed}"]
    assert '"port":80' in keys[f"{base}/_tcp/_http/{hashed}"]
    assert f'"host":"{data.name(259)}."' in keys["/skydns/arpa/in-addr/10/96/1/3"]
    assert data.key_lines(2).count(b"\n") == data.key_lines(2).count(b"\t") == 6 + 1  # the client


def test_zones_and_local_data_say_the_same(zones, tmp_path):
    data.write_local_data(SERVICES, tmp_path / "local")
    lines = [line for line in (tmp_path / "local").read_text().splitlines() if line.startswith("local-data")]
    local = set()
    for line in lines:
        owner, _ttl, rdtype, text = line.split('"')[1].split(" ", 3)
        if rdtype != "SOA":
            local.add((owner.rstrip("."), rdtype, text))
    in_zones = {
        (owner.to_text(omit_final_dot=True), dns.rdatatype.to_text(rdata.rdtype), rdata.to_text())
        for zone in zones.values()
        for owner, _ttl, rdata in zone.iterate_rdatas()
        if rdata.rdtype in (dns.rdatatype.A, dns.rdatatype.SRV, dns.rdatatype.PTR)
        and not owner.to_text().startswith("ns.dns.")
    }
    assert len(local) == 3 * SERVICES
    assert local == in_zones


def test_unbound_reads_what_is_written_for_it(tmp_path):
    data.write_local_data(SERVICES, tmp_path / "local")
    (tmp_path / "conf").write_text(f'server:\n  chroot: ""\n  include: "{tmp_path}/local"\n')
    command = ["unbound-checkconf", str(tmp_path / "conf")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


# ---- Other domains' names ----


@pytest.mark.parametrize("mix", data.FOREIGN_MIXES, ids=lambda mix: mix.name)
def test_mix_asks_only_for_what_is_kept(zones, mix):
    asked = list(data.questions(mix.name, SERVICES, 16 * 100))
    kept_already = set(data.foreign_questions(SERVICES))
    foreign = [question for question in asked if question[0].endswith(".com")]
    assert kept_already.issuperset(foreign) and len(set(foreign)) > 100
    assert len(foreign) / len(asked) == (1.0 if mix.name == "kept" else 0.25)
    own = [kind_of_answer(zones["cluster.local"], *question) for question in asked if question not in kept_already]
    of_foreign = ["records" if rdtype == "A" else "nodata" for _, rdtype in foreign]
    for kind in ("records", "nodata", "nxdomain"):
        assert (own + of_foreign).count(kind) / len(asked) == pytest.approx(getattr(mix, kind)), kind


def test_a_search_begins_with_the_client_s_namespace_and_ends_with_what_is_kept():
    asked = list(data.questions(data.SEARCH_MIX.name, SERVICES, 400))
    kept_already = set(data.foreign_questions(SERVICES))
    suffix = ".default.svc.cluster.local"
    assert all(name.endswith(suffix) and (name.removesuffix(suffix), rdtype) in kept_already for name, rdtype in asked)
    assert data.key_lines(1).count(b"/pod/default/127-0-0-1/") == 1


@pytest.mark.parametrize("use_edns", [False, 0])
def test_nameserver_of_other_domains(use_edns):
    for name, rdtype, is_tcp, records, soa in [
        ("www.example.com", "A", False, 1, 0),
        ("www.example.com", "AAAA", False, 0, 1),
        ("big1.example.com", "A", False, 0, 0),
        ("big1.example.com", "A", True, 4060, 0),
    ]:
        query = dns.message.make_query(name, rdtype, use_edns=use_edns)
        wire = nameserver.reply(query.to_wire(), is_tcp)
        reply = dns.message.from_wire(wire)
        assert query.is_response(reply) and reply.edns == query.edns
        assert [len(section) for section in (reply.answer, reply.authority)] == [bool(records), soa]
        assert all(len(rrset) == records for rrset in reply.answer)
        assert bool(reply.flags & dns.flags.TC) == (name.startswith("big") and not is_tcp)
        assert len(wire) >= 64_900 if records > 1 else len(wire) < 200


def test_all_questions_are_asked_and_counted():
    server = kept.Nameserver()
    try:
        questions = data.foreign_questions(100)
        kept.ask_all(server.port, questions)
        assert server.asked() == len(questions) == 150
    finally:
        server.close()


def test_servers_that_ask_for_what_they_keep_are_left_out():
    class Counting:
        counts = iter((0, 0, 0, 5))

        def asked(self) -> int:
            return next(self.counts)

    def run(pattern, server):
        return {"faults": []}

    watched = kept.watching(run, Counting())
    assert [watched(None, None)["faults"] for _ in range(2)] == [[], [kept.ASKED]]


# ---- Figures and verdicts ----


@pytest.mark.parametrize(
    "more, expected",
    [
        ({}, []),
        ({"generator_used": 0.84}, [rounds.STARVED]),
        ({"lost": 1}, ["lost"]),
        ({"errors": 2, "lost": 1}, ["lost", "errors"]),
        ({"records": 900, "others": 100}, ["wrong answers"]),
        ({"records": 900, "nxdomain": 100}, ["wrong answers"]),
    ],
)
def test_run_with_a_fault_is_found(more, expected):
    assert rounds.faults(figures(1.0, **more), data.MIXES[0]) == expected


def test_bare_responder_may_answer_anything():
    assert rounds.faults(figures(1.0, records=1000), None) == []
    assert rounds.faults(figures(1.0, records=1000), data.MIXES[2]) == ["wrong answers"]


def test_figures_are_medians_of_ratios_within_rounds():
    told = summary.summarise(quiet_runs(), {}, busy=0.0)
    cell = told.cell(10_000, "a", "skydns")
    assert cell.ratio == pytest.approx(1.1)
    assert (cell.ratio_min, cell.ratio_max) == (pytest.approx(1.0), pytest.approx(1.3))
    assert (cell.rounds, cell.left_out, cell.is_trusted) == (3, 0, True)
    assert told.noise == []


def test_ratio_does_not_see_that_the_machine_drifts():
    runs = quiet_runs()
    for run in runs:
        if run["round"] == 2:
            run["figures"]["server_us"] *= 2
    told = summary.summarise(runs, {}, busy=0.0)
    assert told.cell(10_000, "a", "skydns").ratio == pytest.approx(1.1)
    assert len(told.noise) == 1 and "differed by" in told.noise[0]


def test_rounds_with_a_fault_are_left_out():
    runs = quiet_runs()
    next(run for run in runs if run["server"] == "skydns" and run["round"] == 0)["faults"] = ["lost"]
    cell = summary.summarise(runs, {}, busy=0.0).cell(10_000, "a", "skydns")
    assert cell.ratio == pytest.approx(1.15)  # of 1.0 and 1.3
    assert (cell.left_out, cell.is_trusted) == (1, True)
    next(run for run in runs if run["server"] == "skydns" and run["round"] == 1)["faults"] = [rounds.STARVED]
    cell = summary.summarise(runs, {}, busy=0.0).cell(10_000, "a", "skydns")
    assert (cell.left_out, cell.is_trusted) == (2, False)


def test_busy_machine_is_not_trusted():
    assert summary.summarise(quiet_runs(), {}, busy=0.5).noise == ["others used 50% of the machine"]
    runs = [run | {"faults": [rounds.STARVED]} for run in quiet_runs()]
    (reason,) = summary.summarise(runs, {}, busy=0.0).noise
    assert "of 12 runs 12 are left out: generator starved in 12" in reason


@pytest.mark.parametrize(
    "skydns_us, missed",
    [(1.0, []), (1.16, ["of the bare responder, 10,000 Services"]), (1.3, ["of the bare responder, ", "no more than gdnsd"])],
)
def test_missed_goals_are_named(skydns_us, missed):
    runs = [one_run(0, "bare", 1.0), one_run(0, "bare", 1.0), one_run(0, "gdnsd", 1.2), one_run(0, "skydns", skydns_us)]
    verdicts = summary.judge(summary.summarise(runs, {}, busy=0.0))
    assert len(verdicts) == 2
    texts = [verdict.text for verdict in verdicts if verdict.is_missed]
    assert len(texts) == len(missed)
    assert all(part in text for part, text in zip(missed, texts))


def test_wildcard_sockets_must_not_fall_behind_gdnsd():
    for any_us, missed in ((1.2, 0), (1.3, 1)):
        costs = {"bare": 1.0, "gdnsd": 1.15, "gdnsd-any": 1.25, "skydns": 1.1, "skydns-any": any_us, "knot": 1.15}
        runs = [one_run(0, name, us) for name, us in costs.items()]
        verdicts = summary.judge(summary.summarise(runs, {}, busy=0.0))
        texts = [verdict.text for verdict in verdicts if verdict.is_missed]
        assert len(texts) == missed and all("on 0.0.0.0" in text and "gdnsd" in text for text in texts)


@pytest.mark.parametrize("pattern, of", [("large-33", "large-32"), ("large-1000-aaaa", "large-32-aaaa")])
def test_goals_of_large_names(pattern, of):
    for us, missed in ((3.9, 0), (4.1, 1)):
        runs = [one_run(0, "bare", 1.0, pattern=name) for name in (pattern, of)]
        runs += [one_run(0, "skydns", 2.0, pattern=of), one_run(0, "skydns", us, pattern=pattern)]
        (verdict,) = summary.judge(summary.summarise(runs, {}, busy=0.0))
        assert verdict.is_missed == missed and verdict.value == pytest.approx(us / 2.0)


@pytest.mark.parametrize("skydns, missed", [(900, 0), (1000, 0), (1001, 1)])
def test_goals_of_bursts(skydns, missed):
    lost = {"skydns": skydns, "gdnsd": 2000, "nsd": 1000, "bare": 10}
    values = {f"burst_busy_lost.{name}": count for name, count in lost.items()} | {"burst_lost.skydns": 5}
    told = summary.summarise([], values, busy=0.0)
    (verdict,) = summary.judge(told)
    assert verdict.is_missed == missed and "core busy, no more than NSD" in verdict.text
    assert f"| **skydns** | **5** | **{skydns:,}** |" in tables.markdown(told, "", {})


def test_burst_counts_what_is_not_answered(tmp_path):
    (tmp_path / "questions").write_text("a.example A\nb.example AAAA\n" * 100)
    port = reserve_port()
    bare = Program("bare", [str(TOOLS / "bare_udp"), f"127.0.0.1:{port}"]).start()
    bare.wait_ready(lambda: servers.echoes(port), "echoes")
    argv = [TOOLS / "burst_udp", f"-questions={tmp_path / 'questions'}", "-size=130"]
    try:
        done = subprocess.run([*argv, f"-server=127.0.0.1:{port}"], capture_output=True, text=True, timeout=60, check=True)
        assert bursts.lost(done.stdout) == 0 and rounds.parse_figures(done.stdout)["sent"] == 130
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", 0))
            server = f"-server=127.0.0.1:{silent.getsockname()[1]}"
            done = subprocess.run([*argv, server], capture_output=True, text=True, timeout=60, check=True)
        assert bursts.lost(done.stdout) == 130
    finally:
        bare.kill()


def test_large_names_have_their_addresses(tmp_path):
    lines = data.large_key_lines().decode().splitlines()
    assert len(set(lines)) == len(lines) == data.LARGE_NAMES * sum(data.LARGE_SIZES)
    below = f"{SVC}/default/large-100-7/"
    assert len({line.split("\t")[1] for line in lines if line.startswith(below)}) == 100
    paths = data.write_large_questions(tmp_path)
    assert [paths[mix.name].read_text().split()[1] for mix in (data.LARGE_MIXES[0], data.LARGE_MIXES[-1])] == ["A", "AAAA"]


@pytest.mark.parametrize("services, right_us, wrong_us", [(10_000, 1.2, 1.3), (100_000, 1.3, 1.4)])
def test_goals_of_names_that_are_kept(services, right_us, wrong_us):
    for skydns_us, missed in ((right_us, 0), (wrong_us, 1), (2.1, 2)):
        costs = {"bare": 1.0, "skydns": skydns_us, "unbound": 2.0, "dnsmasq": 4.0}
        runs = [one_run(0, name, us, pattern="kept", services=services) for name, us in costs.items()]
        told = summary.summarise(runs, {}, busy=0.0)
        assert sum(verdict.is_missed for verdict in summary.judge(told)) == missed
        assert f"| **skydns** | **{skydns_us:.2f}** |" in tables.markdown(told, "", {})


def test_goals_of_values():
    values = {"start_s.100000": 1.2, "idle_mib": 10.0, "etcd_reads": 1}
    verdicts = summary.judge(summary.summarise([], values, busy=0.0))
    assert [(verdict.value, verdict.is_missed) for verdict in verdicts] == [(1.2, True), (10.0, False), (1, True)]


def test_every_round_turns_the_servers_between_two_bare_runs():
    names = ["bare", "bare-tcp", "skydns", "skydns-any", "nsd"]
    all_servers = [servers.Server(name, name, None, 53) for name in names]
    udp, tcp = rounds.PATTERNS["a"], rounds.PATTERNS["tcp-one"]
    orders = [[one.name for one in rounds.order(all_servers, udp, number)] for number in range(3)]
    assert orders[0] == ["bare", "skydns", "skydns-any", "nsd", "bare"]
    assert orders[1] == ["bare", "skydns-any", "nsd", "skydns", "bare"]
    assert all(sorted(order) == sorted(orders[0]) for order in orders)
    assert [one.name for one in rounds.order(all_servers, tcp, 0)] == ["bare-tcp", "skydns", "nsd", "bare-tcp"]


@pytest.mark.parametrize(
    "resumed, more, expected",
    [
        (None, {"connections": 10, "resumed": 5}, []),
        (True, {"connections": 1000, "resumed": 990}, []),
        (True, {"connections": 1000, "resumed": 0}, ["not resumed"]),
        (False, {"connections": 1000, "resumed": 0}, []),
        (False, {"connections": 1000, "resumed": 500}, ["resumed"]),
        (True, {"connections": 0, "resumed": 0}, ["not resumed"]),
    ],
)
def test_sessions_are_resumed_where_that_is_measured(resumed, more, expected):
    assert rounds.faults(figures(1.0, **more), data.MIXES[0], resumed) == expected


def test_https_is_compared_with_bare_tls():
    ports = {"bare-tls": (1, 0), "skydns": (2, 3), "nsd": (4, 0)}
    all_servers = [servers.Server(name, name, None, 9, *both) for name, both in ports.items()]
    bare, skydns, _ = all_servers
    dot, doh = rounds.PATTERNS["tls-one"], rounds.PATTERNS["https-one"]
    assert [one.name for one in rounds.order(all_servers, dot, 0)] == ["bare-tls", "skydns", "nsd", "bare-tls"]
    assert [one.name for one in rounds.order(all_servers, doh, 0)] == ["bare-tls", "skydns", "bare-tls"]
    assert [one.port_of(doh.transport_to(one.name)) for one in (bare, skydns)] == [1, 3]
    assert "-protocol=doh" in doh.flags_to("skydns")
    assert "-protocol=doh" not in doh.flags_to("bare-tls") + dot.flags_to("skydns")


@pytest.mark.parametrize("skydns_us, missed", [(1.2, 0), (1.29, 1), (1.35, 2)])
def test_goals_over_tls(skydns_us, missed):
    costs = {"bare-tls": 1.0, "skydns": skydns_us, "dnsdist": 1.25}
    told = summary.summarise([one_run(0, name, us, pattern="tls-one") for name, us in costs.items()], {}, busy=0.0)
    assert sum(verdict.is_missed for verdict in summary.judge(told)) == missed
    assert f"| **skydns** | – | **{skydns_us:.2f}** |" in tables.markdown(told, "", {})


@pytest.mark.parametrize("skydns_us, missed", [(1.2, [False, False]), (6.4, [True, False]), (6.6, [True, True])])
def test_goals_of_https_are_those_of_bare_tls_and_of_bare_https(skydns_us, missed):
    costs = {"bare-tls": 1.0, "bare-https": 5.0, "skydns": skydns_us}
    told = summary.summarise([one_run(0, name, us, pattern="https-many") for name, us in costs.items()], {}, busy=0.0)
    assert [verdict.is_missed for verdict in summary.judge(told)] == missed


def test_goals_of_idle_connections_and_handshakes():
    values = {"idle_tls_kib": 25.5, "idle_https_kib": 24.5, "handshakes_p99_more_ms": 0.21}
    verdicts = summary.judge(summary.summarise([], values, busy=0.0))
    assert [verdict.is_missed for verdict in verdicts] == [True, False, True]


@pytest.mark.parametrize("skydns_us, missed", [(1.4, 0), (1.55, 1), (2.1, 2)])
def test_goals_of_signed_answers(skydns_us, missed):
    costs = {"bare-signed": 1.0, "skydns-signing": skydns_us, "knot-signing": 2.0, "nsd-signed": 1.0}
    told = summary.summarise([one_run(0, name, us, pattern="signed") for name, us in costs.items()], {}, busy=0.0)
    assert sum(verdict.is_missed for verdict in summary.judge(told)) == missed
    assert f"| skydns with a key | – | {skydns_us:.2f} | – |" in tables.markdown(told, "", {})


@pytest.mark.parametrize("with_key_us, missed", [(1.10, 0), (1.12, 1)])
def test_a_key_costs_those_nothing_who_want_no_signatures(with_key_us, missed):
    costs = {"bare": 1.0, "skydns": 1.1, "skydns-signing": with_key_us}
    told = summary.summarise([one_run(0, name, us, pattern="unsigned") for name, us in costs.items()], {}, busy=0.0)
    assert sum(verdict.is_missed for verdict in summary.judge(told)) == missed


def test_a_kept_signature_costs_what_the_longer_reply_does_not():
    costs = {"unsigned": {"bare": 4.0, "skydns-signing": 4.5}, "signed": {"bare-signed": 4.5, "skydns-signing": 5.75}}
    runs = [one_run(0, name, us, pattern=pattern) for pattern, of in costs.items() for name, us in of.items()]
    assert signed.kept_signature_us(runs) == pytest.approx(0.75)


def test_only_servers_with_a_key_are_asked_for_signatures():
    all_servers = [servers.Server(name, name, None, 53) for name in ("bare", "skydns", "skydns-signing", "bare-signed")]
    patterns = (rounds.PATTERNS["signed"], rounds.PATTERNS["unsigned"])
    with_do, without = ([one.name for one in rounds.order(all_servers, pattern, 0)] for pattern in patterns)
    assert with_do == ["bare-signed", "skydns-signing", "bare-signed"]
    assert without == ["bare", "skydns", "skydns-signing", "bare"]
    assert "-dnssec" in rounds.PATTERNS["signed"].flags and "-dnssec" not in rounds.PATTERNS["unsigned"].flags


def test_servers_that_deny_with_nodata_may():
    pattern = rounds.PATTERNS["signed-nxdomain"]
    kinds = ("skydns-signing", "knot-signing", "bare-signed")
    ours, knot, bare = (rounds.expected(pattern, servers.Server(name, name, None, 53)) for name in kinds)
    assert (ours.nxdomain, ours.nodata, knot.nxdomain, knot.nodata, bare) == (1.0, 0.0, 0.0, 1.0, None)


@pytest.mark.parametrize("more", [0, 100])
def test_bare_responder_answers_at_the_length_of_signed_replies(more):
    port = reserve_port()
    bare = Program("bare", [str(TOOLS / "bare_udp"), f"127.0.0.1:{port}", str(more)]).start()
    try:
        wait_until(lambda: servers.echoes(port), "bare responder answers")
        asked = path.dns_query("a.example", 7)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(20)
            client.connect(("127.0.0.1", port))
            client.send(asked)
            assert len(client.recv(4096)) == len(asked) + 16 + more
    finally:
        bare.kill()


# ---- Report ----


def test_report_shows_every_server_and_the_verdict():
    runs = quiet_runs()
    told = summary.summarise(runs, {"resident_mib.10000.skydns": 12.0, "start_s.100000": 0.5}, busy=0.0)
    text = report.text(told, summary.judge(told), "a machine")
    assert all(title in text for title in ("a machine", "bare responder", "skydns", "gdnsd"))
    assert "The machine was quiet." in text and "0 of 3 goals missed" in text
    noisy = summary.summarise([run | {"faults": ["lost"]} for run in runs], {}, busy=0.0)
    assert "TOO NOISY" in report.text(noisy, [], "")


def test_dnsperf_is_understood():
    output = """
  Queries sent:         52340
  Queries completed:    52338 (100.00%)
  Queries lost:         2 (0.00%)

  Response codes:       NOERROR 52338 (100.00%)
  Queries per second:   261690.123456
"""
    assert path.dnsperf_figures(output) == {"dnsperf_qps": 261690.123456, "dnsperf_lost": 2.0}
    assert path.dnsperf_figures("nothing of that") == {}


# ---- The tools ----


@pytest.fixture
def bare(request):
    """A bare responder for the protocol that a test names, and its port."""
    port = reserve_port()
    program = Program("bare", [str(TOOLS / f"bare_{request.param}"), f"127.0.0.1:{port}"]).start()
    dns = Dns(port, timeout_s=0.5)
    program.wait_ready(lambda: is_answering(dns) if request.param == "udp" else ask_tcp(dns), "answers")
    yield program, port
    program.stop(expected=(-15,))


def is_answering(dns: Dns) -> bool:
    return dns.answers(data.name(0)) != ["no answer"]


def ask_tcp(dns: Dns):
    return dns.query(data.name(0), tcp=True)


def run_tool(name: str, port: int, questions: Path, *flags: str, seen: str = "answers") -> dict[str, float]:
    """Its figures, from the first run with a nonzero `seen`: on a busy machine a run may get no CPU time."""
    command = [str(TOOLS / name), f"-server=127.0.0.1:{port}", f"-questions={questions}", "-warm-up=10ms"]

    def run() -> dict[str, float] | None:
        done = subprocess.run([*command, "-run=250ms", *flags], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        got = rounds.parse_figures(done.stdout)
        return got if got[seen] else None

    return wait_until(run, f"{name} sees {seen}")


@pytest.fixture
def questions(tmp_path) -> Path:
    return data.write_questions(SERVICES, tmp_path, QUESTIONS)["a"]


@pytest.mark.parametrize("bare", ["udp"], indirect=True)
@pytest.mark.parametrize("flags", [(), ("-sockets=1", "-window=1"), ("-rate=1000", "-window=500")], ids=str)
def test_udp_generator_counts_what_the_bare_responder_answers(bare, questions, flags):
    program, port = bare
    got = run_tool("load_udp", port, questions, f"-pids={program.pid}", *flags)
    assert got["answers"] == got["records"]
    assert got["errors"] == got["others"] == 0
    assert got["server_us"] > 0 and got["generator_us"] > 0
    assert 0 < got["p50_us"] <= got["p99_us"]


@pytest.mark.parametrize("bare", ["tcp"], indirect=True)
@pytest.mark.parametrize(
    "flags",
    [("-connections=2", "-in-flight=20"), ("-connections=4",), ("-connections=2", "-per-connection=1")],
    ids=str,
)
def test_tcp_generator_counts_what_the_bare_responder_answers(bare, questions, flags):
    program, port = bare
    got = run_tool("load_tcp", port, questions, f"-pids={program.pid}", *flags)
    assert got["answers"] == got["records"]
    assert got["errors"] == got["others"] == 0
    assert got["server_us"] > 0
    if "-per-connection=1" in flags:
        assert got["connections"] >= got["answers"] - 2  # connections that were already open
    else:
        assert got["connections"] <= 4


@pytest.fixture
def bare_tls(tmp_path):
    """A bare TLS responder and its port."""
    port = reserve_port()
    files = make_certificate(tmp_path)
    program = Program("bare", [str(TOOLS / "bare_tls"), f"127.0.0.1:{port}", *files]).start()
    program.wait_ready(lambda: socket.create_connection(("127.0.0.1", port)).close() is None, "listens")
    yield program, port
    program.stop(expected=(-15,))


@pytest.mark.parametrize("flags", [("-connections=2", "-in-flight=20"), ("-connections=4",)], ids=str)
@pytest.mark.parametrize("protocol", ["dot", "doh"])
def test_tls_generator_counts_what_the_bare_responder_answers(bare_tls, questions, flags, protocol):
    program, port = bare_tls
    got = run_tool("load_tls", port, questions, f"-pids={program.pid}", f"-protocol={protocol}", *flags)
    assert got["answers"] == got["records"]
    assert got["errors"] == got["others"] == 0
    assert got["server_us"] > 0


@pytest.mark.parametrize("flags, resumed", [((), 0), (("-resume",), 1), (("-rate=50",), 0)], ids=str)
def test_each_connection_has_its_handshake(bare_tls, questions, flags, resumed):
    _, port = bare_tls
    got = run_tool("load_tls", port, questions, "-connections=2", "-per-connection=1", *flags)
    assert got["errors"] == 0
    assert got["connections"] >= got["answers"] - 2  # connections that were already open
    # Before the first ticket there is nothing to resume, on a slow machine after the warm-up, too.
    assert got["resumed"] == 0 if not resumed else got["resumed"] >= got["connections"] - 2


def test_idle_connections_wait(bare_tls, questions):
    program, port = bare_tls
    command = [str(TOOLS / "load_tls"), f"-server=127.0.0.1:{port}", f"-questions={questions}", "-connections=20", "-idle"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as load:
        assert load.stdout.readline() == "idle 20\n"
        output, _ = load.communicate(timeout=60)
    got = rounds.parse_figures(output)
    assert load.returncode == 0 and got["answers"] == got["records"] == 20 and got["errors"] == 0


def test_idle_connections_that_are_closed_are_seen(questions, tmp_path):
    port = reserve_port()
    program = Program("bare", [str(TOOLS / "bare_tls"), f"127.0.0.1:{port}", *make_certificate(tmp_path)]).start()
    program.wait_ready(lambda: socket.create_connection(("127.0.0.1", port)).close() is None, "listens")
    command = [str(TOOLS / "load_tls"), f"-server=127.0.0.1:{port}", f"-questions={questions}", "-connections=20", "-idle"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as load:
        assert load.stdout.readline() == "idle 20\n"
        program.kill()
        output, _ = load.communicate(timeout=60)
    assert rounds.parse_figures(output)["errors"] == 20


def test_sleeping_generator_counts(questions):
    port = reserve_port()
    program = Program("bare", [str(TOOLS / "bare_udp"), f"127.0.0.1:{port}"]).start()
    dns = Dns(port, timeout_s=0.5)
    program.wait_ready(lambda: is_answering(dns), "answers")
    got = run_tool("load_udp", port, questions, "-rate=1000", "-window=500", "-sleep")
    assert got["answers"] == got["records"] and got["errors"] == 0
    assert 0 < got["p50_us"] <= got["p99_us"]
    program.stop(expected=(-15,))


def test_nobody_answering_is_seen(questions):
    got = run_tool("load_udp", reserve_port(), questions, "-window=10", seen="errors")
    assert got["answers"] == 0
    assert "errors" in rounds.faults(got, None)


def test_lost_answers_are_seen(questions):
    """A socket receives the queries and never replies."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        got = run_tool("load_udp", port, questions, "-window=10", "-run=400ms", seen="lost")
    assert got["answers"] == 0 and got["lost"] <= 2 * 4 * 10  # each socket's window, sent again after 200 ms
    assert "lost" in rounds.faults(got, None)


@pytest.mark.parametrize("text", ["", "no-type\n", "a..b A\n", f"{'x' * 64} A\n", "a.b TYPE\n"])
def test_bad_questions_are_refused(tmp_path, text):
    (tmp_path / "questions").write_text(text)
    command = [str(TOOLS / "load_udp"), f"-questions={tmp_path / 'questions'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "questions" in done.stderr


def test_generator_and_skydns(bare_bed, questions):
    """Each mix gets its kinds of answers; `propagation` sees a change."""
    bare_bed.start_etcd()
    for key, text in data.keys(20):
        bare_bed.etcd.put(key, text)
    bare_bed.start_skydns()
    paths = data.write_questions(20, questions.parent, QUESTIONS)
    for mix in data.MIXES:
        got = run_tool("load_udp", bare_bed.dns.port, paths[mix.name], "-window=12", "-batch=12", "-sockets=1")
        assert got["others"] == got["errors"] == 0
        for kind in ("records", "nodata", "nxdomain"):
            assert got[kind] == 0 or getattr(mix, kind) > 0, kind
        if got["answers"] > 10 * QUESTIONS:  # else a slow machine has not sent all questions
            assert rounds.faults(got | {"generator_used": 1.0, "lost": 0}, mix) == []
    command = [str(TOOLS / "propagation"), bare_bed.etcd_urls[0], f"127.0.0.1:{bare_bed.dns.port}", "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    changes = [[int(us) for us in line.split()] for line in done.stdout.splitlines()]
    assert len(changes) == 5 and all(acknowledged > 0 and right > 0 for acknowledged, right in changes)


# ---- The hops of a change ----


def pages_of(planned: tuple, committed: tuple, seen: tuple) -> dict[str, str]:
    """Pages of metrics with these sums, s, and counts."""
    pages = {"kube2sky": "", "skydns": ""}
    for (program, name), (sum_s, count) in zip(hops.HISTOGRAMS.values(), (planned, committed, seen)):
        pages[program] += (
            f"# HELP {name} Text.\n# TYPE {name} histogram\n"
            f'{name}_bucket{{le="+Inf"}} {count}\n{name}_sum {sum_s}\n{name}_count {count}\n'
        )
    return pages


def test_hops_add_up_to_what_was_measured_outside():
    before = hops.sums(pages_of((1.0, 10), (2.0, 10), (3.0, 10)))
    after = hops.sums(pages_of((1.002, 12), (2.01, 12), (3.004, 12)))
    shares = hops.shares(before, after, [7.0, 8.0], [2.5, 3.5])
    assert shares == pytest.approx({"planned": 1.0, "committed": 5.0, "seen": 2.0, "api": 1.5, "asked": 1.0})
    assert sum(shares.values()) == pytest.approx(7.5 + 3.0)
    assert {f"own {hop}_ms" for hop in shares} == {figure.name for figure in hops.hop_figures("own")}


def test_hops_nobody_went_are_no_zero():
    page = hops.sums(pages_of((1.0, 10), (2.0, 10), (3.0, 10)))
    with pytest.raises(ValueError, match="kube2sky_change_planned_seconds"):
        hops.shares(page, page, [7.0], [2.5])


# ---- What time alone causes ----


@pytest.mark.parametrize("took_s, looks", [(0.0, 16), (7.4, 16), (7.5, 24), (60.0, 80)])
def test_looks_at_etcd_are_few(took_s, looks):
    assert measuring.etcd_looks(2, took_s) == looks
