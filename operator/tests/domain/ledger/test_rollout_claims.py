"""Purges beside rolls: which datanodes keep their topics from new deletes, at every moment of a roll."""

from __future__ import annotations

from dataclasses import replace

from seawall.api.v1alpha1.cluster import WALClusterStatus
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.ledger.restarts import datanodes_that_keep
from tests.domain.datanodes.builders import KILLED, with_topic
from tests.domain.datanodes.world import World


def keeping(world: World) -> frozenset[int]:
    return datanodes_that_keep(WALClusterStatus(restart=world.status, disruption=world.entry))


def test_from_its_flush_until_it_serves_a_datanode_keeps_its_topics_and_no_other_does() -> None:
    world = World()
    world.run(3)
    assert keeping(world) == set()
    world.request("monday")
    kept = []
    while world.status.stage is not RollStage.COMPLETED:
        world.tick()
        busy = world.status.stage not in {None, RollStage.WAITING, RollStage.COMPLETED}
        assert bool(keeping(world)) is busy
        kept.append(keeping(world))
    assert set(kept) == {frozenset(), frozenset({0}), frozenset({1}), frozenset({2})}


def test_a_roll_that_waits_for_deletes_lets_no_other_begin_and_one_that_waits_for_a_broker_does() -> None:
    world = World()
    world.request("monday")
    observe = world.observe

    def cut() -> object:
        recorded = observe()
        facts = recorded.facts
        for number in range(3):
            facts = with_topic(facts, number, is_cut=True)
        return replace(recorded, facts=facts)

    world.observe = cut  # type: ignore[method-assign, assignment]
    world.run(5)
    assert world.status.reason == "DeleteOngoing"
    assert keeping(world) == {0}
    world.brokers_down = True
    world.run(5)
    assert world.status.reason == "NotFullyInSync"
    assert keeping(world) == set()


def test_a_datanode_that_cannot_come_up_keeps_its_topics() -> None:
    world = World()
    node = world.nodes[1]
    node.pod = replace(node.pod, ready=False, restarts=3, last_termination=KILLED)
    world.tick()
    assert [row.ailment for row in world.status.datanodes] == [None, "CrashLoop", None]
    assert keeping(world) == {1}
    node.pod = replace(node.pod, restarts=0)
    world.tick()
    assert world.status.datanodes[1].ailment == "NotServing"
    assert keeping(world) == set()
