"""Regions whose rows skip the log, before a restart that Seawall makes: what they have in memory is nowhere else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from seawall.api.v1alpha1.cluster import WALClusterStatus
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.datanodes.facts import Memtable
from seawall.domain.datanodes.from_ledger import datanodes_by_id
from seawall.domain.dataplane.in_memory import InMemory
from seawall.domain.dataplane.metadata import LeaderState, Route
from seawall.domain.ledger.declarations import Grounds
from seawall.domain.ledger.restarts import pod_that_restarts
from tests.domain.datanodes.test_from_ledger import REPORTS, SNAPSHOT, make_report, sources
from tests.domain.datanodes.test_transcripts import asked_to_flush, limited
from tests.domain.datanodes.world import World

SIZE = 4_096


def asked(unlogged: int | None, *, flush_first: bool = False, flushes: bool = True) -> World:
    """All datanodes are to be restarted; one region of the second has so much that no log has."""
    world = limited(World(flushes=flushes), seconds=600, flush_first=flush_first)
    node = world.nodes[1]
    first, *others = node.datanode.regions
    changed = replace(first, unlogged_bytes=unlogged, in_memory=unlogged != 0)
    node.datanode = replace(node.datanode, regions=(changed, *others))
    world.request("monday")
    return world


def rolled(unlogged: int | None, *, flush_first: bool = False, flushes: bool = True) -> World:
    """All of them are."""
    world = asked(unlogged, flush_first=flush_first, flushes=flushes)
    world.run(1_000, until_stage=RollStage.COMPLETED)
    assert len(world.evicted) == 3
    return world


def test_they_flush_although_nobody_wants_flushes_and_no_other_region_does() -> None:
    world = rolled(SIZE)
    lines = [line.partition("asked ")[2] for line in world.lines if "to flush" in line]
    assert lines == ["1 regions of datanode-1 to flush"]
    assert asked_to_flush(rolled(None)) == asked_to_flush(rolled(0)) == 0


def test_those_of_a_table_that_never_had_a_log_flush_too() -> None:
    """No topic is theirs, and no replay: what they have in memory is lost by a restart as well."""
    world = asked(0)
    node = world.nodes[1]
    memtable = Memtable(region=99, flushed_to=7, in_memory=True, leads=True, unlogged_bytes=SIZE)
    node.datanode = replace(node.datanode, without_topic=(memtable,))
    world.run(1_000, until_stage=RollStage.COMPLETED)
    lines = [line.partition("asked ")[2] for line in world.lines if "to flush" in line]
    assert lines == ["1 regions of datanode-1 to flush"]
    assert len(world.evicted) == 3


def test_they_are_waited_for_until_less_is_in_memory_and_no_longer() -> None:
    """Their id never moves, and they are written to while they flush."""
    took = rolled(SIZE, flush_first=True).now - rolled(None, flush_first=True).now
    assert took < timedelta(seconds=10)


def stopped() -> World:
    """A roll that waits for rows that no log has; the datanode before is restarted."""
    world = asked(SIZE, flushes=False)
    world.run(900)
    return world


def test_those_that_cannot_flush_stop_the_roll_and_that_is_said_once() -> None:
    world = stopped()
    assert (world.evicted, world.entry, world.maintenance) == (["datanode-0"], None, False)
    assert (world.status.stage, world.status.reason) == (RollStage.WAITING, "UnloggedNotFlushed")
    assert "(regions 11)" in world.status.message
    assert sum("event Warning UnloggedNotFlushed" in line for line in world.lines) == 1
    world.flushes = True
    world.run(300, until_stage=RollStage.COMPLETED)
    assert len(world.evicted) == 3


def test_a_person_gives_up_rows_that_cannot_flush() -> None:
    world = stopped()
    world.facts = replace(world.facts, override=Grounds("the bucket is gone", world.now + timedelta(hours=1)))
    world.run(300, until_stage=RollStage.COMPLETED)
    assert len(world.evicted) == 3


def test_that_rows_are_given_up_is_said_by_whose_word_also_where_that_was_there_before() -> None:
    world = asked(SIZE, flushes=False)
    world.facts = replace(world.facts, override=Grounds("the bucket is gone", world.now + timedelta(hours=1)))
    world.run(1_000, until_stage=RollStage.COMPLETED)
    assert sum("event Warning UnloggedNotFlushed" in line for line in world.lines) == 1
    assert any("they are given up" in line and "the bucket is gone" in line for line in world.lines)


def test_what_a_datanode_that_is_down_had_in_memory_stops_nothing() -> None:
    world = stopped()
    node = world.nodes[1]
    regions = tuple(replace(region, leads=False) for region in node.datanode.regions)
    node.pod, node.datanode = replace(node.pod, ready=False), replace(node.datanode, regions=regions)
    world.run(60)
    assert world.evicted == ["datanode-0", "datanode-1"]


def test_what_a_datanode_that_serves_has_in_memory_is_waited_for_whatever_reports_say_of_who_leads() -> None:
    """They may be late, or the region on its way: its process is there, and has the rows."""
    world = asked(SIZE, flushes=False)
    node = world.nodes[1]
    regions = tuple(replace(region, leads=False) for region in node.datanode.regions)
    node.datanode = replace(node.datanode, regions=regions)
    world.run(900)
    assert "datanode-1" not in world.evicted
    assert world.status.reason == "UnloggedNotFlushed"


def test_one_with_little_in_memory_when_it_was_asked_is_asked_as_if_anew() -> None:
    """It is written to faster than it flushes, so that it never has less."""
    world = stopped()
    node = world.nodes[1]
    first, *others = node.datanode.regions
    node.datanode = replace(node.datanode, regions=(replace(first, unlogged_bytes=2 * SIZE), *others))
    world.run(600)
    assert world.status.reason == "UnloggedNotFlushed"
    node.datanode = replace(node.datanode, regions=(replace(first, unlogged_bytes=SIZE + 1), *others))
    world.run(300, until_stage=RollStage.COMPLETED)
    assert len(world.evicted) == 3


def test_a_datanode_in_the_journal_whose_rows_no_longer_flush_keeps_its_turn_and_stays() -> None:
    world = asked(SIZE)
    world.run(300, until_stage=RollStage.RESTARTING)
    world.run(300, until_stage=RollStage.WAITING)
    world.run(60, until_stage=RollStage.RESTARTING)
    world.forbids, world.flushes = "not now", False
    world.run(700)
    world.forbids = None
    world.run(600)
    assert (world.evicted, world.maintenance) == (["datanode-0"], False)
    assert (world.status.stage, world.status.reason) == (RollStage.RESTARTING, "UnloggedNotFlushed")
    status = WALClusterStatus(restart=world.status, disruption=world.entry)
    assert pod_that_restarts(status) is None, "replicas may move meanwhile"


def test_what_is_in_the_log_too_is_waited_for_two_minutes_and_no_longer() -> None:
    took = rolled(None, flush_first=True, flushes=False).now - rolled(None, flush_first=True).now
    assert timedelta(minutes=5) < took < timedelta(minutes=6)


def test_the_ledger_tells_what_they_have_in_memory() -> None:
    found = datanodes_by_id(sources(snapshot=replace(SNAPSHOT, unlogged=frozenset({1, 2}))))[1]
    sizes = {report.region_id: report.memtable_bytes for report in REPORTS}
    assert {region.region: region.unlogged_bytes for region in found.regions} == {1: sizes[1], 2: 0}


def test_what_a_former_leader_said_last_is_in_nobodys_memory() -> None:
    """Its report stays for as long as the metasrv leads."""
    former = make_report(1, 9, 100, memtable=1 << 30)
    found = datanodes_by_id(sources(reports=(former, *REPORTS), snapshot=replace(SNAPSHOT, unlogged=frozenset({1}))))[1]
    sizes = {report.region_id: report.memtable_bytes for report in REPORTS}
    assert {region.region: region.unlogged_bytes for region in found.regions} == {1: sizes[1], 2: None}


def test_what_may_be_of_when_the_log_was_skipped_is_waited_for_too() -> None:
    found = datanodes_by_id(sources(snapshot=replace(SNAPSHOT, logged_again=frozenset({1}))))[1]
    sizes = {report.region_id: report.memtable_bytes for report in REPORTS}
    assert {region.region: region.unlogged_bytes for region in found.regions} == {1: sizes[1], 2: None}


WITHOUT_TOPIC = replace(
    SNAPSHOT,
    unlogged=frozenset({7, 8, 9}),
    without_topic=frozenset({7, 8, 9, 10}),
    routes={**SNAPSHOT.routes, **{region: Route(1, LeaderState.NORMAL, 6) for region in (7, 8, 9, 10)}},
)


def test_the_ledger_tells_what_regions_without_a_topic_have_in_memory() -> None:
    """Of region 8 nothing is in memory, 9 is reported by a former leader, and 10 has a log on its datanode's disk."""
    reports = (make_report(7, 1, 3), make_report(8, 1, 3, memtable=0), make_report(9, 2, 3), make_report(10, 1, 3))
    found = datanodes_by_id(sources(reports=(*REPORTS, *reports), snapshot=WITHOUT_TOPIC))
    memtable = Memtable(region=7, flushed_to=3, in_memory=True, leads=True, unlogged_bytes=1)
    assert {number: each.without_topic for number, each in found.items() if each.without_topic} == {1: (memtable,)}
    assert [region.region for region in found[1].regions] == [1, 2]


def test_whether_a_region_without_a_topic_is_led_is_as_known_as_of_its_datanodes_others() -> None:
    """Of an operator that has just started, or a datanode that died, the last report says nothing good."""
    reports = (*REPORTS, make_report(7, 1, 3))
    (found,) = datanodes_by_id(sources(observer=1, reports=reports, snapshot=WITHOUT_TOPIC))[1].without_topic
    assert (found.in_memory, found.leads) == (True, False)


@pytest.mark.parametrize(
    ("now", "flushed_to", "size", "is_flushed"),
    [
        (InMemory(9, 0), 9, None, True),
        (InMemory(9, 5), 9, None, False),
        (InMemory(9, 5), 8, None, True),
        (InMemory(None, 5), 8, None, True),
        (InMemory(9, 5), 9, 5, False),
        (InMemory(9, 6), 9, 5, False),
        (InMemory(9, 4), 9, 5, True),
        (InMemory(9, 4), 9, None, False),
        (InMemory(9, 7), 8, 5, True),
    ],
)
def test_a_flush_is_judged_by_the_id_or_by_what_is_in_memory(
    now: InMemory, flushed_to: int, size: int | None, *, is_flushed: bool
) -> None:
    assert now.is_flushed_since(flushed_to, size) is is_flushed
