"""Regions whose rows skip the log, before a restart that Seawall makes: what they have in memory is nowhere else."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.datanodes.from_ledger import datanodes_by_id
from seawall.domain.dataplane.in_memory import InMemory
from tests.domain.datanodes.test_from_ledger import REPORTS, SNAPSHOT, sources
from tests.domain.datanodes.test_transcripts import asked_to_flush, limited
from tests.domain.datanodes.world import World

SIZE = 4_096


def rolled(unlogged: int | None, *, flush_first: bool = False, flushes: bool = True) -> World:
    """All datanodes are restarted; one region of the second has so much that no log has."""
    world = limited(World(flushes=flushes), seconds=600, flush_first=flush_first)
    node = world.nodes[1]
    first, *others = node.datanode.regions
    changed = replace(first, unlogged_bytes=unlogged, in_memory=unlogged != 0)
    node.datanode = replace(node.datanode, regions=(changed, *others))
    world.request("monday")
    world.run(1_000, until_stage=RollStage.COMPLETED)
    assert len(world.evicted) == 3
    return world


def test_they_flush_although_nobody_wants_flushes_and_no_other_region_does() -> None:
    world = rolled(SIZE)
    lines = [line.partition("asked ")[2] for line in world.lines if "to flush" in line]
    assert lines == ["1 regions of datanode-1 to flush"]
    assert asked_to_flush(rolled(None)) == asked_to_flush(rolled(0)) == 0


def test_they_are_waited_for_until_less_is_in_memory_and_no_longer() -> None:
    """Their id never moves, and they are written to while they flush."""
    took = rolled(SIZE, flush_first=True).now - rolled(None, flush_first=True).now
    assert took < timedelta(seconds=10)


def test_those_that_cannot_flush_are_waited_for() -> None:
    assert rolled(SIZE, flushes=False).now - rolled(SIZE).now >= timedelta(minutes=1)


def test_the_ledger_tells_what_they_have_in_memory() -> None:
    found = datanodes_by_id(sources(snapshot=replace(SNAPSHOT, unlogged=frozenset({1, 2}))))[1]
    sizes = {report.region_id: report.memtable_bytes for report in REPORTS}
    assert {region.region: region.unlogged_bytes for region in found.regions} == {1: sizes[1], 2: 0}


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
