"""Search paths as pods' own resolvers see them: glibc, musl, c-ares and busybox in a network namespace with the pod's
address and resolv.conf. With -autopath, a name takes one question for each type, and every name resolves as without.
Needs root.
"""

import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from bed import BIN_DIR
from nameservers import needs, unbound
from programs import Program, output, reserve_port, wait_until
from records import value

sys.path.insert(0, str(Path(__file__).parent / "faults"))
from netns import Network, fill_etcd, network_missing  # noqa: E402

# Each name on a line of its own: what it resolves to, or that it does not.
RESOLVE_C = r"""
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
int main(int argc, char **argv)
{
    for (int n = 1; n < argc; n++) {
        char text[INET6_ADDRSTRLEN];
        struct addrinfo *list = NULL, hints = {.ai_socktype = SOCK_STREAM};
        int r = getaddrinfo(argv[n], NULL, &hints, &list);
        printf("%s %s", argv[n], r == 0 ? "found" : r == EAI_AGAIN ? "failed" : "absent");
        for (struct addrinfo *i = r == 0 ? list : NULL; i; i = i->ai_next) {
            const void *ip = i->ai_family == AF_INET ? (void *)&((struct sockaddr_in *)i->ai_addr)->sin_addr
                                                     : (void *)&((struct sockaddr_in6 *)i->ai_addr)->sin6_addr;
            printf(" %s", inet_ntop(i->ai_family, ip, text, sizeof(text)));
        }
        puts("");
    }
    return 0;
}
"""
CARES_C = r"""
#include <ares.h>
#include <netdb.h>
#include <stdio.h>
#include <arpa/inet.h>
#include <sys/select.h>
static void print(void *name, int status, int timeouts, struct ares_addrinfo *found)
{
    char text[INET6_ADDRSTRLEN];
    (void)timeouts;
    printf("%s %s", (char *)name,
           status == ARES_SUCCESS ? "found"
           : status == ARES_ENOTFOUND || status == ARES_ENODATA ? "absent" : "failed");
    for (struct ares_addrinfo_node *i = found ? found->nodes : NULL; i; i = i->ai_next) {
        const void *ip = i->ai_family == AF_INET ? (void *)&((struct sockaddr_in *)i->ai_addr)->sin_addr
                                                 : (void *)&((struct sockaddr_in6 *)i->ai_addr)->sin6_addr;
        printf(" %s", inet_ntop(i->ai_family, ip, text, sizeof(text)));
    }
    puts("");
    ares_freeaddrinfo(found);
}
int main(int argc, char **argv)
{
    ares_channel channel;
    struct ares_addrinfo_hints hints = {.ai_socktype = SOCK_STREAM, .ai_flags = ARES_AI_NOSORT};
    if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS || ares_init(&channel) != ARES_SUCCESS) {
        return 1;
    }
    for (int n = 1; n < argc; n++) {
        fd_set in, out;
        int count;
        ares_getaddrinfo(channel, argv[n], NULL, &hints, print, argv[n]);
        for (;;) {
            FD_ZERO(&in);
            FD_ZERO(&out);
            count = ares_fds(channel, &in, &out);
            if (count == 0) {
                break;
            }
            struct timeval wait = {.tv_sec = 1}, *until = ares_timeout(channel, &wait, &wait);
            select(count, &in, &out, NULL, until);
            ares_process(channel, &in, &out);
        }
    }
    ares_destroy(channel);
    return 0;
}
"""
KEYS = {
    "/skydns/local/cluster/svc/default/web/1": value("10.0.0.1"),
    "/skydns/local/cluster/svc/default/six/1": value("fd00::6"),
    "/skydns/local/cluster/svc/other/db/1": value("10.0.0.2"),
    "/skydns/local/cluster/svc/other/both/1": value("10.0.0.3"),
    "/skydns/local/cluster/svc/other/both/2": value("fd00::3"),
    "/skydns/local/cluster/svc/default/alias": value("db.other.svc.cluster.local."),
    "/skydns/local/cluster/name/deep/1": value("10.0.0.4"),
    "/skydns/local/cluster/svc/default/text": '{"text":"no address"}',
}
FOREIGN = {"www.example.com": "192.0.2.1", "a.b.c.d.e.example.com": "192.0.2.2", "example.org": "192.0.2.3"}


@dataclass
class Served:
    """One skydns with the pod's way to it."""

    skydns: Program
    prefix: list[str]  # of commands in the pod: resolv.conf names this skydns
    address: str
    asked: list[tuple[str, str]]  # (name, type), as the log tells
    beside: list[str]  # of commands beside skydns
    pod: str

    def questions(self, command: list[str]) -> list[tuple[str, str]]:
        """What the command asks."""
        before = self._mark()
        output(*self.prefix, *command)
        return self.asked[before : self._mark() - 1]

    def _mark(self) -> int:
        """Asks a question of its own; its place in the log, which is written late but in order, plus one."""
        mark = (f"mark{random.randrange(10**9)}.cluster.local.", "TXT")
        output(*self.prefix, needs("dig"), f"@{self.address}", *mark, "+tries=1")
        wait_until(lambda: mark in self.asked, "the log is written")
        return self.asked.index(mark) + 1


def log_reader(asked: list[tuple[str, str]]):
    def on_line(line: str) -> None:
        match = re.search(r" query .* name=(\S+) type=(\S+) ", line)
        if match:
            asked.append((match[1].lower(), match[2]))

    return on_line


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Servers with the same records, with and without -autopath, one that also searches a domain of names without
    addresses; and a pod of the namespace default.
    """
    reason = network_missing()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("pod_resolvers")
    with Network(count=4) as network:
        first, _second, _third, pod = network.addresses
        etcd_port, foreign_port = reserve_port(), reserve_port()
        started = []

        def start(program: Program) -> Program:
            started.append(program)
            return program.start()

        etcd = start(
            Program(
                "etcd",
                [*network.command(0), shutil.which("etcd"), "--data-dir", str(folder / "etcd"), "--log-level", "warn"]
                + [f"--listen-client-urls=http://{first}:{etcd_port}"]
                + [f"--advertise-client-urls=http://{first}:{etcd_port}", "--listen-peer-urls=http://127.0.0.1:0"],
            )
        )
        start(foreign_server(folder, foreign_port, first, network.command(0)))
        keys = KEYS | {f"/skydns/local/cluster/pod/default/{pod.replace('.', '-')}/1": value(pod)}
        fill_etcd(etcd, network.command(0), f"http://{first}:{etcd_port}", keys)
        served = {}
        kinds = {"autopath": ["-autopath"], "plain": [], "empty": ["-autopath", "-search=empty.test"]}
        for number, (name, flags) in enumerate(kinds.items()):
            address = network.addresses[number]
            asked: list[tuple[str, str]] = []
            skydns = start(
                Program(
                    f"skydns-{name}",
                    [*network.command(number), str(BIN_DIR / "skydns"), f"-addr={address}:53", "-verbose", *flags]
                    + ["-domain=cluster.local.", f"-nameservers={first}:{foreign_port}"]
                    + ["-allow-recursion=all", f"-machines=http://{first}:{etcd_port}", "-http-addr=127.0.0.1:8080"],
                    on_line=log_reader(asked),
                )
            )
            skydns.wait_line("ready for queries on .* for udp://")  # with all keys
            if "-autopath" in flags:
                wait_known(network.command(number), pod)
            conf = folder / f"{name}.conf"
            conf.write_text(
                f"nameserver {address}\n"
                "search default.svc.cluster.local svc.cluster.local cluster.local"
                + (" empty.test" if name == "empty" else "")
                + "\noptions ndots:5\n"
            )
            bind = f'mount --bind {conf} /etc/resolv.conf && exec "$@"'
            prefix = [*network.command(3), "unshare", "-m", "sh", "-c", bind, "sh"]
            served[name] = Served(skydns, prefix, address, asked, network.command(number), pod)
        yield served
        for program in reversed(started):
            program.stop(expected=(0, -15))


def wait_known(prefix: list[str], pod: str) -> None:
    """Until a server with -autopath knows the pod: it reads the addresses of nodes after the records."""

    def is_known() -> bool:
        result = subprocess.run(
            [*prefix, str(BIN_DIR / "skydns"), "-http-addr=127.0.0.1:8080", "-client", pod]
            + ["-explain", "deep.name.default.svc.cluster.local"],
            capture_output=True,
            text=True,
            timeout=30,
        )
        return f"client     {pod}: namespace default" in result.stdout and "NOERROR" in result.stdout

    wait_until(is_known, "the pod is known")


def foreign_server(folder: Path, port: int, host: str, prefix: list[str]) -> Program:
    """Knows the names of FOREIGN, and that no others exist, but those below empty.test: all do, without addresses."""
    lines = ["local-zone: . static", "local-zone: empty.test redirect"]
    lines += [f'local-data: "{zone} SOA ns.test. root.test. 1 3600 600 86400 60"' for zone in (".", "empty.test.")]
    lines += [f'local-data: "{name}. 60 A {address}"' for name, address in FOREIGN.items()]
    return unbound(folder, 1, port, *lines, host=host, prefix=prefix)


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """Resolver -> the command that resolves the names after it."""
    folder = tmp_path_factory.mktemp("resolvers")
    (folder / "resolve.c").write_text(RESOLVE_C)
    (folder / "cares.c").write_text(CARES_C)
    output("gcc", "-o", str(folder / "glibc"), str(folder / "resolve.c"))
    output(needs("musl-gcc"), "-static", "-o", str(folder / "musl"), str(folder / "resolve.c"))
    if Path("/usr/include/ares.h").exists():
        output("gcc", "-Wno-deprecated-declarations", "-o", str(folder / "cares"), str(folder / "cares.c"), "-lcares")
    return folder


def resolver(tools: Path, name: str) -> str:
    if not (tools / name).exists():
        pytest.skip("no c-ares (Debian package libc-ares-dev)")
    return str(tools / name)


RESOLVERS = ("glibc", "musl", "cares")


@pytest.mark.parametrize("name", RESOLVERS)
def test_one_question_for_each_type(world, tools, name):
    command = [resolver(tools, name), "www.example.com"]
    assert sorted(rdtype for _, rdtype in world["autopath"].questions(command)) == ["A", "AAAA"]
    # so that it is known to differ: as many as the search list has, and the name itself
    assert len(world["plain"].questions(command)) == 8


@pytest.mark.parametrize("name", RESOLVERS)
def test_a_short_name_that_does_not_exist(world, tools, name):
    """The last question of a search is for one label: musl takes SERVFAIL for no answer and asks for five seconds."""
    for served in world.values():
        assert looked_up(served, [resolver(tools, name), "absent"]) == "absent absent\n"


@pytest.mark.parametrize("name", RESOLVERS)
def test_names_of_the_search_list_take_one_question(world, tools, name):
    for ours in ("web", "both.other", "deep.name"):
        assert len(world["autopath"].questions([resolver(tools, name), ours])) == 2, ours


def test_what_is_told_about_it(world):
    """The explanation for the pod, from the command line; and the metrics."""
    served = world["autopath"]
    command = [*served.beside, str(BIN_DIR / "skydns"), "-http-addr=127.0.0.1:8080"]
    name = "deep.name.default.svc.cluster.local"
    for told in (
        output(*command, "-client", served.pod, "-explain", name, "A"),
        output(*command, "-explain", name, "-client", served.pod),
    ):
        assert told.startswith(f"{name}. A: NOERROR, answers: 1;")
        assert f"\nclient     {served.pod}: namespace default, as the pod with this address\n" in told
        assert f"\nsearch     1. {name}. does not exist\n" in told
        assert "\n           3. deep.name.cluster.local. answers\n" in told
    assert f"{name}. A: NXDOMAIN" in output(*command, "-explain", name)
    metrics = output(*served.beside, needs("curl"), "-s", "http://127.0.0.1:8080/metrics")
    assert '\nskydns_client_addresses{state="known"} 1\n' in metrics
    assert '\nskydns_client_addresses{state="shared"} 0\n' in metrics
    assert "\nskydns_client_namespaces 1\n" in metrics


@pytest.mark.parametrize("name", RESOLVERS)
def test_a_search_domain_without_data(world, tools, name):
    """It hides no external name, as it hides none from glibc; musl by itself would end its search there."""
    command = [resolver(tools, name), "www.example.com"]
    assert looked_up(world["empty"], [*command, "absent.example"]) == (
        "www.example.com found 192.0.2.1\nabsent.example absent\n"
    )
    assert sorted(rdtype for _, rdtype in world["empty"].questions(command)) == ["A", "AAAA"]


def test_what_is_told_about_a_domain_without_data(world, tools):
    served = world["empty"]
    output(*served.prefix, str(tools / "glibc"), "www.example.com", "absent.example")  # so that both are kept
    explain = [*served.beside, str(BIN_DIR / "skydns"), "-http-addr=127.0.0.1:8080", "-client", served.pod, "-explain"]
    told = output(*explain, "www.example.com.default.svc.cluster.local")
    assert "\n           4. www.example.com.empty.test. exists, but has no such record\n" in told
    assert "\n           5. www.example.com. answers\n" in told
    told = output(*explain, "absent.example.default.svc.cluster.local")
    assert "\n           5. absent.example. does not exist\n" in told
    assert told.startswith("absent.example.default.svc.cluster.local. A: NOERROR;")


def test_getent(world):
    command = [needs("getent"), "ahosts", "www.example.com"]
    assert output(*world["autopath"].prefix, *command) == output(*world["plain"].prefix, *command) != ""
    assert sorted(rdtype for _, rdtype in world["autopath"].questions(command)) == ["A", "AAAA"]


def looked_up(served: Served, command: list[str]) -> str:
    """Its exit status tells of the last type alone."""
    return subprocess.run([*served.prefix, *command], capture_output=True, text=True, timeout=60).stdout


def test_busybox(world):
    """Its nslookup searches as well, and shows what it found."""
    for name in ("www.example.com", "web"):
        command = [needs("busybox"), "nslookup", name]
        found = [re.findall(r"Address: (?:1: )?(\S+)$", looked_up(served, command), re.M) for served in world.values()]
        assert found[0][-1:] == found[1][-1:] != [], name


def looks_like_a_search(name: str) -> bool:
    """A name that says `default` itself and does not exist there is, to a server, the first step of a search: with
    -autopath it has the answer of the next ones, in every implementation."""
    head, found, _ = re.sub(r"(\.svc(\.cluster\.local)?)?\.?$", "", name.lower()).rpartition(".default")
    return bool(found) and head not in ("web", "six", "alias", "text")


def random_names(rng: random.Random, count: int) -> list[str]:
    """Ours, foreign ones, absent ones; relative, partly qualified and whole; around ndots, with and without a dot."""
    ours = ["web", "six", "alias", "text", "db.other", "both.other", "deep.name", "web.default", "absent"]
    ours += ["web.default.svc", "db.other.svc", "absent.other", "web.absent", "default.svc", "other", "svc"]
    foreign = [*FOREIGN, "absent.example.com", "absent", "a.b.absent", "example.com", "com"]
    names = set()
    while len(names) < count:
        name = rng.choice(ours + foreign)
        if rng.random() < 0.3:  # ndots: up to six dots
            name = ".".join(["x"] * rng.randrange(1, 6)) + "." + name
        if rng.random() < 0.3 and "example" not in name:
            name += rng.choice([".cluster.local", ".svc.cluster.local", ".default.svc.cluster.local"])
        if rng.random() < 0.25:
            name += "."
        if rng.random() < 0.2:
            name = "".join(rng.choice((c.upper(), c)) for c in name)
        if not looks_like_a_search(name):
            names.add(name)
    return sorted(names)


def resolve(served: Served, program: str, names: list[str]) -> dict[str, tuple[str, list[str]]]:
    """Many at once: musl waits for 5 s after a SERVFAIL, as names without a dot get."""
    with ThreadPoolExecutor(max_workers=50) as pool:
        parts = list(pool.map(lambda part: output(*served.prefix, program, *part), (names[n::100] for n in range(100))))
    words = [line.split() for part in parts for line in part.splitlines()]
    return {one[0]: (one[1], sorted(set(one[2:]))) for one in words}


@pytest.mark.parametrize("name", RESOLVERS)
def test_random_names_resolve_as_without(world, tools, name):
    names = random_names(random.Random(7), 200)
    with ThreadPoolExecutor() as pool:
        servers = (world["autopath"], world["plain"])
        results = list(pool.map(lambda served: resolve(served, resolver(tools, name), names), servers))
    assert set(results[0]) == set(names)
    differing = {one: (results[0][one], results[1][one]) for one in names if results[0][one] != results[1][one]}
    assert not differing
    found = [one for one in names if results[0][one][0] == "found"]
    assert 40 < len(found) < 180  # both happen
