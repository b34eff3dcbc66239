"""Handover (-reuse-port): a new skydns takes the sockets of a running one over once it can answer; whatever becomes
of the new one before that, the running one goes on. No query is lost.

No test waits for a time to pass.
"""

import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from bed import BIN_DIR
from programs import Program, http_get, reserve_port, wait_until
from prometheus import parse
from query_load import QueryLoad, Question
from records import value
from stream_load import StreamLoad
from tls_bed import ADDRESS, NAME, Server

HANDOVERS = 20
HEAD = b"skydns\0\1"
RECORDS = {f"/skydns/local/cluster/svc/default/n{i}": f"10.0.1.{i}" for i in range(10)}
QUESTIONS = [Question(f"n{i}.default.svc.cluster.local", "A", [f"10.0.1.{i}"]) for i in range(10)]
QUESTIONS += [Question("no.default.svc.cluster.local", "A", ["NXDOMAIN"])]


class World:
    """Several skydns one after the other, at the same addresses."""

    def __init__(self, bed, folder: Path):
        self.bed, self.folder = bed, folder
        self.server = Server(bed, folder, "tls")
        self.snapshot = folder / "state" / "snapshot"
        self.snapshot.parent.mkdir(mode=0o777)
        self.http = self.server.http
        for key, address in RECORDS.items():
            bed.etcd.put(key, value(address))
        self.running: Program | None = None

    def make(self, *flags: str, machines: str | None = None, has_snapshot: bool = True) -> Program:
        command = [
            f"-machines={machines or self.bed.etcd_urls[0]}",
            f"-addr={self.server.addresses()}",
            "-domain=cluster.local.",
            "-no-rec",
            f"-http-addr=127.0.0.1:{self.http}",
            f"-cert={self.server.certificate}",
            f"-key={self.server.key}",
            "-reuse-port",
            *([f"-snapshot={self.snapshot}", "-snapshot-interval=1s"] if has_snapshot else []),
            *flags,
        ]
        return self.bed.command("skydns", *command)

    def start(self, *flags: str, **more) -> Program:
        program = self.make(*flags, **more).start()
        program.wait_line(r"ready for queries on cluster\.local\. for udp://")
        return program

    def start_waiting(self, old: Program, *flags: str) -> Program:
        """One that can never answer: no etcd, and no snapshot young enough."""
        nowhere = f"http://127.0.0.1:{reserve_port()}"
        program = self.make("-snapshot-max=1ms", *flags, machines=nowhere).start()
        old.wait_line(f"about to take over pid={program.pid}")
        return program

    def take_over(self, old: Program, *flags: str, **more) -> Program:
        new = self.take_over_from(old, *flags, **more)
        assert old.wait(40) == 0
        return new

    def take_over_from(self, old: Program, *flags: str, **more) -> Program:
        new = self.start(*flags, **more)
        new.wait_line(f"took the addresses over from={old.pid}")
        return new

    def answers(self) -> list[str]:
        return self.bed.dns.answers(NAME, "A")

    def has_all(self) -> None:
        assert self.answers() == [ADDRESS]
        assert self.bed.dns.query(NAME, tcp=True).answer[0][0].to_text() == ADDRESS
        connection = self.server.connect()
        connection.close() if hasattr(connection, "close") else None

    def metric(self, name: str) -> float:
        return parse(http_get(f"http://127.0.0.1:{self.http}/metrics")[1])[name].samples[(name, ())]

    @property
    def socket_path(self) -> Path:
        return Path(f"{self.snapshot}.handover")

    @property
    def key_path(self) -> Path:
        return Path(f"{self.snapshot}.handover-key")


@pytest.fixture
def world(bare_bed, tmp_path):
    return World(bare_bed, tmp_path)


# ---- Without loss ----


def test_twenty_handovers_lose_no_query(world):
    port = world.bed.dns.port
    ca = world.server.authority.certificate
    old = world.start("-workers=2")
    # Threads that wait for each other miss a tenth of their schedule.
    udp, tcp = QueryLoad(port, QUESTIONS, rate=1050), StreamLoad(port, NAME, [ADDRESS], rate=1150)
    tls = StreamLoad(world.server.ports["tls"], NAME, [ADDRESS], ca, rate=1150)
    with udp, tcp, tls:
        former = []
        for _ in range(HANDOVERS):
            udp.wait_sent(200)
            former.append(old)
            old = world.take_over_from(old, "-workers=2")
        for program in former:
            assert program.wait(40) == 0
    for load in (udp, tcp, tls):
        print(load.result)
    assert max(tcp.result.crossed, tls.result.crossed) <= HANDOVERS
    assert old.is_running()


def test_a_new_one_with_other_workers_takes_all_sockets_over(world):
    old = world.start("-workers=3")
    with QueryLoad(world.bed.dns.port, QUESTIONS) as load:
        for workers in (1, 4, 2):
            old = world.take_over(old, f"-workers={workers}")
            load.wait_sent(300)
    # Each client's queries come to one socket: all of them are read.
    for _ in range(50):
        assert world.answers() == [ADDRESS]


def test_other_addresses_are_opened_and_left(world):
    old = world.start()
    more = reserve_port()
    first = f"127.0.0.1:{world.bed.dns.port}"
    new = world.take_over(old, f"-addr={first},127.0.0.1:{more}")
    assert world.answers() == [ADDRESS]
    with socket.create_connection(("127.0.0.1", more)):
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", world.server.ports["tls"]))
    assert new.is_running()


def test_the_old_one_goes_on_until_there_are_records(world):
    old = world.start()
    new = world.start_waiting(old)
    for _ in range(20):
        assert world.answers() == [ADDRESS]
    assert world.metric("skydns_serving") == 1
    assert old.is_running() and not any("took" in line for line in new.lines)
    new.stop()
    old.wait_line("has failed, going on")
    world.has_all()


def test_a_snapshot_is_enough(world):
    old = world.start()
    wait_until(world.snapshot.exists, "the snapshot")
    nowhere = f"http://127.0.0.1:{reserve_port()}"
    world.take_over(old, machines=nowhere)
    assert world.answers() == [ADDRESS]


def test_without_a_snapshot_they_meet_in_tmp(world):
    old = world.start(has_snapshot=False)
    folder = Path(f"/tmp/skydns-{os.geteuid()}")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    new = world.take_over(old, has_snapshot=False)
    world.has_all()
    new.stop()
    for path in folder.glob(f"127.0.0.1:{world.bed.dns.port}.*"):
        path.unlink()


def test_the_pages_are_taken_over_too(world):
    old = world.start("-nsid=old")
    assert world.metric("skydns_serving") == 1
    world.take_over(old, "-nsid=new")
    assert world.metric("skydns_serving") == 1
    assert http_get(f"http://127.0.0.1:{world.http}/readiness") == (200, "ok")


# ---- A new one that fails ----


def check_goes_on(world: World, old: Program) -> None:
    assert old.is_running()
    with QueryLoad(world.bed.dns.port, QUESTIONS) as load:
        load.wait_sent(200)
    world.has_all()


def test_a_new_one_that_hangs_changes_nothing(world):
    old = world.start()
    new = world.start_waiting(old)
    new.signal(signal.SIGSTOP)
    check_goes_on(world, old)
    # A third one is not kept out by it.
    third = world.take_over(old)
    new.signal(signal.SIGCONT)
    assert new.wait() == 1
    assert any("a later skydns takes the addresses over" in line for line in new.lines)
    check_goes_on(world, third)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_new_one_that_ends_at_the_start_changes_nothing(world, number):
    old = world.start()
    new = world.start_waiting(old)
    new.signal(number)
    old.wait_line("has failed, going on")
    new.wait()
    check_goes_on(world, old)


def test_a_new_one_with_an_unusable_flag_changes_nothing(world):
    old = world.start()
    new = world.make("-addr=127.0.0.1:1,192.0.2.1:53").start()
    assert new.wait() == 1
    check_goes_on(world, old)


def test_a_new_one_with_an_unusable_snapshot_waits_for_etcd(world):
    old = world.start("-snapshot-interval=1h")
    wait_until(world.snapshot.exists, "the snapshot")
    world.snapshot.write_bytes(b"no snapshot")
    nowhere = world.make(machines=f"http://127.0.0.1:{reserve_port()}").start()
    nowhere.wait_line("snapshot")
    old.wait_line("about to take over")
    check_goes_on(world, old)
    nowhere.kill()
    old.wait_line("has failed, going on")
    world.take_over(old)
    world.has_all()


def test_when_the_old_one_dies_the_new_one_answers_at_once(world):
    old = world.start()
    new = world.start_waiting(old)
    old.kill()
    new.wait_line("has ended, taking its addresses over at once")
    world.bed.wait_answers(NAME, "A", ["SERVFAIL"])


def test_an_old_one_that_ends_by_a_signal_is_not_waited_for(world):
    old = world.start()
    old.stop()
    world.start()
    world.has_all()


# ---- Who may ----


def say(path: Path, *messages: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(20)
        peer.connect(str(path))
        for message in messages:
            with suppress(BrokenPipeError):  # refused before it has said anything
                peer.send(message)
        try:
            reply, descriptors, _, _ = socket.recv_fds(peer, 4096, 200)
        except ConnectionResetError:  # told once, before its answer, if it has left something unread
            reply, descriptors, _, _ = socket.recv_fds(peer, 4096, 200)
        for fd in descriptors:
            os.close(fd)
        assert not reply.startswith(HEAD + b"S") or descriptors
        return reply


def test_files_are_for_this_user_alone(world):
    world.start()
    assert stat.S_IMODE(world.key_path.stat().st_mode) == 0o600
    assert len(world.key_path.read_bytes()) == 32
    assert stat.S_IMODE(world.socket_path.stat().st_mode) == 0o600
    assert say(world.socket_path, HEAD + b"H" + world.key_path.read_bytes()).startswith(HEAD + b"S")


@pytest.mark.parametrize(
    "message",
    [HEAD + b"H" + bytes(32), HEAD + b"A", HEAD + b"H", b"skydns\0\2H" + bytes(32), b"x", bytes(2000)],
    ids=["secret", "serving", "short", "version", "byte", "long"],
)
def test_a_wrong_secret_and_nonsense_are_refused(world, message):
    old = world.start()
    assert say(world.socket_path, message) == HEAD + b"R\x02"
    old.wait_line("handover refused")
    wait_until(lambda: world.metric("skydns_handovers_refused_total") == 1, "counted")
    check_goes_on(world, old)


def test_a_start_with_another_secret_fails(world):
    old = world.start()
    world.key_path.write_bytes(bytes(32))
    new = world.make().start()
    assert new.wait() == 1
    assert any("wrong secret" in line for line in new.lines)
    check_goes_on(world, old)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user needs root")
def test_another_user_is_refused(world):
    folder = Path(tempfile.mkdtemp(prefix="handover-"))
    folder.chmod(0o777)
    world.snapshot = folder / "snapshot"
    old = world.start("-user=65534")
    world.socket_path.chmod(0o666)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgid(65533)
            os.setuid(65533)
            secret = b"H" + bytes(32)
            status = 0 if say(world.socket_path, HEAD + secret) == HEAD + b"R\x01" else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert status == 0
    old.wait_line("another user")
    check_goes_on(world, old)
    # A start as root that becomes that user may.
    new = world.take_over(old, "-user=65534")
    new.stop()
    shutil.rmtree(folder)


def test_silent_guests_keep_nobody_out(world):
    old = world.start()
    guests = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(40)]
    for guest in guests:
        guest.connect(str(world.socket_path))
    world.take_over(old)
    for guest in guests:
        guest.close()


def test_descriptors_that_a_peer_sends_are_closed(world):
    old = world.start()
    before = len(list(Path(f"/proc/{old.pid}/fd").iterdir()))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(str(world.socket_path))
        socket.send_fds(peer, [HEAD + b"H" + bytes(32)], [0, 1, 2])
        assert peer.recv(100) == HEAD + b"R\x02"
    wait_until(lambda: len(list(Path(f"/proc/{old.pid}/fd").iterdir())) <= before, "closed")


def test_it_excludes_systemd(world):
    new = Program("skydns", [str(BIN_DIR / "skydns"), "-reuse-port", "-systemd"]).start()
    assert new.wait() == 2
    assert any("flag -reuse-port: expected no -systemd" in line for line in new.lines)


# ---- In a container ----


needs_pids = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-p", "-f", "true"], capture_output=True, timeout=20).returncode != 0,
    reason="a PID namespace needs root",
)


@needs_pids
def test_in_a_container_the_old_one_stays_until_it_is_told_to_end(world):
    """Else it would be started again, and take the addresses back."""
    local = world.folder / "old"
    old = world.make(f"-http-socket={local}")
    old.argv[:0] = ["unshare", "--pid", "--fork", "--kill-child=SIGKILL"]
    old.start().wait_line(r"ready for queries on cluster\.local\. for udp://")
    new = world.start()
    old.wait_line("handed over, waiting for SIGTERM")
    assert old.is_running()

    def check(page: str) -> int:
        url = f"-healthcheck=http://unix:{local}:{page}"
        return Program("skydns", [str(BIN_DIR / "skydns"), url]).start().wait()

    assert (check("/healthz"), check("/readiness"), check("/serving"), check("/metrics")) == (0, 1, 1, 0)
    # It holds no socket: a start after the new one has ended finds the addresses free.
    new.stop()
    new = world.start()
    check_goes_on(world, new)
    (child,) = Path(f"/proc/{old.pid}/task/{old.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGTERM)
    assert old.wait() == 0


# ---- Probes of its own ----


def test_the_unix_socket_has_the_pages_of_this_process(world):
    def check(path: Path, page: str) -> int:
        command = ["-healthcheck=http://unix:" + str(path) + ":" + page]
        return Program("skydns", [str(BIN_DIR / "skydns"), *command]).start().wait()

    first, second = world.folder / "first", world.folder / "second"
    old = world.start(f"-http-socket={first}")
    assert check(first, "/readiness") == 0 and check(first, "/serving") == 0
    new = world.start_waiting(old, f"-http-socket={second}")
    new.wait_ready(lambda: check(second, "/healthz") == 0, "answers")
    assert check(second, "/readiness") == 1 and check(second, "/serving") == 1
    assert check(first, "/serving") == 0
    assert http_get(f"http://127.0.0.1:{world.http}/readiness") == (200, "ok")  # the old one's
    new.stop()
