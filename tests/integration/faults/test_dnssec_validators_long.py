"""-dnssec: more questions for more validators than make check has time for. make check-all has twice as many worlds,
and more questions for the tools, which take as much time for one as a resolver for ten.
"""

import os

import pytest
from bed import Bed
from dnssec_bed import SECURE, Delv, bind, drill, unbound
from dnssec_world import World
from test_dnssec_validators import CASES, POD, check_resolver, check_tool, questions

pytestmark = pytest.mark.faults

IS_ALL = "CHECK_ALL" in os.environ
QUESTIONS, TOOL_QUESTIONS = 2000, 400 if IS_ALL else 150
WORLDS = len(CASES) * (2 if IS_ALL else 1)


@pytest.fixture(scope="module", params=range(WORLDS), ids=lambda n: f"{CASES[n % len(CASES)][0]}-{n}")
def world(tmp_path_factory, request):
    bed = Bed(tmp_path_factory.mktemp("world"))
    bed.start_etcd()
    schema, flags, options = CASES[request.param % len(CASES)]
    world = World(bed, 100 + request.param, schema, *flags, **options)
    yield world
    world.close()
    bed.close()


@pytest.fixture(scope="module")
def asked(world):
    return asked_by(world, None)


def asked_by(world, client: str | None) -> list:
    """The same names and types in any order of tests."""
    world.rng.seed(client or "anybody")
    world.server.client = client
    return list(questions(world, QUESTIONS))


def check_started(resolver, asked: list) -> None:
    resolver.start()
    check_resolver(resolver, asked)
    resolver.stop()


@pytest.mark.parametrize("make", [unbound, bind])
def test_resolver(world, asked, tmp_path, make):
    check_started(make(tmp_path, world.server.dns.port, world.anchors), asked)


def test_unbound_of_a_pod(world, tmp_path):
    """With -visibility=own, names are there for it that are not for others."""
    resolver = unbound(tmp_path, world.server.dns.port, world.anchors, f"outgoing-interface: {POD}")
    check_started(resolver, asked_by(world, POD))


def test_delv(world, asked, tmp_path):
    check_tool(Delv(tmp_path, world.server.dns.port, world.anchors).judge, asked[:TOOL_QUESTIONS])


def test_drill(world, asked):
    """It follows signatures, so that it has no opinion of what is unsigned, and takes no name for an option; of type
    ANY it knows nothing."""

    def judge(name: str, rdtype: str) -> tuple[str, str]:
        return drill(world.server.dns.port, world.anchors, name, rdtype)

    check_tool(judge, [one for one in asked if one[3] == SECURE and drill_can(*one[:2])][:TOOL_QUESTIONS])


def drill_can(name: str, rdtype: str) -> bool:
    return rdtype != "ANY" and not name.startswith("-")
