"""-dnssec: more questions for more validators than make check has time for; in make check-all twice as many worlds."""

import os

import pytest
from bed import Bed
from dnssec_bed import SECURE, Delv, bind, drill, unbound
from dnssec_world import World
from test_dnssec_validators import CASES, POD, check_resolver, check_tool, check_verdicts, questions

pytestmark = pytest.mark.faults

QUESTIONS, TOOL_QUESTIONS = 2000, 400
WORLDS = len(CASES) * (2 if "CHECK_ALL" in os.environ else 1)


@pytest.fixture(params=range(WORLDS), ids=lambda n: f"{CASES[n % len(CASES)][0]}-{n}")
def world(tmp_path, request):
    bed = Bed(tmp_path)
    bed.start_etcd()
    schema, flags, options = CASES[request.param % len(CASES)]
    world = World(bed, 100 + request.param, schema, *flags, **options)
    yield world
    world.close()
    bed.close()


@pytest.mark.parametrize("make", [unbound, bind])
def test_resolver(world, tmp_path, make):
    resolver = make(tmp_path, world.server.dns.port, world.anchors).start()
    check_resolver(world, resolver, QUESTIONS)
    resolver.stop()


def test_unbound_of_a_pod(world, tmp_path):
    """With -visibility=own, names are there for it that are not for others."""
    world.server.client = POD
    resolver = unbound(tmp_path, world.server.dns.port, world.anchors, f"outgoing-interface: {POD}").start()
    check_resolver(world, resolver, QUESTIONS)
    resolver.stop()


def test_delv(world, tmp_path):
    check_tool(world, Delv(tmp_path, world.server.dns.port, world.anchors).judge, TOOL_QUESTIONS)


def test_drill(world):
    """It follows signatures, so that it has no opinion of what is unsigned, and takes no name for an option; of type
    ANY it knows nothing."""

    def judge(name: str, rdtype: str) -> tuple[str, str]:
        return drill(world.server.dns.port, world.anchors, name, rdtype)

    asked = [one for one in questions(world, TOOL_QUESTIONS, drill_can) if one[3] == SECURE]
    check_verdicts(asked, judge)


def drill_can(name: str, rdtype: str) -> bool:
    return rdtype != "ANY" and not name.startswith("-")
