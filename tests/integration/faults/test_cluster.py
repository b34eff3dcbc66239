"""Three members, some of which die, hang or become unreachable."""

import signal
import time

import pytest
from fault_bed import PATIENCE_S, news_port
from programs import wait_until


def used_member(bed, cluster, name):
    """The member from which the program gets its events."""
    program = getattr(bed, name)
    members = {member.client_port: member for member in cluster.members}
    return wait_until(lambda: members.get(news_port(program.pid)), "a watch of etcd", PATIENCE_S)


def check_both_left(bed, made, since_s) -> None:
    """kube2sky changes an object again only once its own watch of etcd has shown the first change."""
    bed.wait_visible(made, since_s, "change visible after", 10)
    bed.wait_visible(bed.undo(made), since_s, "undone after", 10)


def test_leader_killed(cluster):
    bed, members = cluster
    with bed.under_load(is_restarting=True):
        leader = members.leader()
        leader.program.kill()
        made = bed.change()
        killed_s = time.monotonic()
        bed.use_store_of(members.others(leader)[0])
        bed.wait_visible(made, killed_s, "changes visible after the kill", 3)
        leader.program.start()
        members.wait_healthy([leader])


@pytest.mark.faults
def test_two_of_three_killed_and_restarted(cluster):
    bed, members = cluster
    with bed.under_load(is_restarting=True) as load:
        leader = members.leader()
        second = members.others(leader)[0]
        for member in (leader, second):
            member.program.kill()
        made = bed.change()
        load.wait_sent(5000)
        for member in (leader, second):
            member.program.start()
        members.wait_healthy(members.members)
        bed.wait_visible(made, time.monotonic(), "changes visible after the quorum", 3)


@pytest.mark.faults
@pytest.mark.parametrize("user", ["skydns", "kube2sky"])
def test_member_stopped(cluster, user):
    bed, members = cluster
    with bed.under_load(is_restarting=True):
        member = used_member(bed, members, user)
        bed.use_store_of(members.others(member)[0])
        member.program.signal(signal.SIGSTOP)
        stopped_s = time.monotonic()
        made = bed.change()
        check_both_left(bed, made, stopped_s)
        member.program.signal(signal.SIGCONT)
        members.wait_healthy([member])


@pytest.mark.faults
@pytest.mark.parametrize("way", ["cut", "mute"])
@pytest.mark.parametrize("user", ["skydns", "kube2sky"])
def test_link_cut(network_cluster, user, way):
    """The member's packets are lost, without an error: `mute` lets packets to it arrive."""
    bed, members, network = network_cluster
    with bed.under_load(is_restarting=True):
        member = used_member(bed, members, user)
        number = members.members.index(member)
        bed.use_store_of(members.others(member)[0])
        cut, mend = (network.cut, network.mend) if way == "cut" else (network.mute, network.unmute)
        cut(number)
        cut_s = time.monotonic()
        made = bed.change()
        check_both_left(bed, made, cut_s)
        mend(number)
        members.wait_healthy([member])


@pytest.mark.faults
@pytest.mark.parametrize("user", ["skydns", "kube2sky"])
def test_member_without_a_leader(network_cluster, user):
    """The programs reach it, but it does not reach the other members: it replies, also to pings, without new data."""
    bed, members, network = network_cluster
    with bed.under_load(is_restarting=True):
        member = used_member(bed, members, user)
        number = members.members.index(member)
        bed.use_store_of(members.others(member)[0])
        network.part(number)
        wait_until(lambda: not member.is_healthy(), "no leader", PATIENCE_S)
        leaderless_s = time.monotonic()
        made = bed.change()
        check_both_left(bed, made, leaderless_s)
        network.rejoin(number)
        members.wait_healthy([member])
