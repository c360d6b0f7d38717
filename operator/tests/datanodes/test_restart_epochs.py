"""What a datanode says counts when another process says it: epochs may go back where metadata are restored."""

from __future__ import annotations

from functools import partial

import pytest

from seawall.api.v1alpha1.disruption import RestartedDatanode
from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.datanodes import facts
from tests.datanodes.test_restart import ALL
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.restart_world import DATANODES, World

BEFORE = 8


NANOSECONDS = 1_790_000_000_000_000_000


def in_the_middle(before: int = BEFORE) -> World:
    """The first datanode of a roll is away, and all were started many times before."""
    world = World()
    world.data_plane.epochs.update(dict.fromkeys(range(DATANODES), before))
    world.settle()
    world.annotate(restart="monday")
    world.settle(until=lambda: world.restart().stage is RollStage.REPLAYING)
    return world


@pytest.mark.parametrize("restored", [1, BEFORE - 2])
def test_a_roll_goes_on_when_epochs_went_back_with_the_metadata(restored: int) -> None:
    world = in_the_middle()
    world.data_plane.epochs.update(dict.fromkeys(range(DATANODES), restored))
    world.settle()
    assert sorted(world.went) == ALL
    assert world.restart().stage is RollStage.COMPLETED
    assert world.restart().done_request == "monday"


def test_an_epoch_that_is_a_time_in_nanoseconds_is_recorded_as_a_number_that_json_has() -> None:
    """Found by a reader: the API server refuses a greater one, and the database was in maintenance again and again."""
    world = in_the_middle(NANOSECONDS)
    entry = world.cluster().status.disruption
    assert entry is not None
    assert entry.datanode is not None
    assert entry.datanode.epoch == NANOSECONDS % 2**53
    world.settle()
    assert sorted(world.went) == ALL
    assert world.restart().stage is RollStage.COMPLETED


def test_a_later_epoch_is_needed_by_nothing() -> None:
    another = rewritten(
        facts.Datanode,
        "is_another_process",
        "self.recorded_epoch not in {None, epoch}",
        "(self.recorded_epoch or 0) > epoch",
    )
    whole = rewritten(facts.Datanode, "is_another_process", "self.recorded_epoch not in", "self.epoch not in")
    stories = (
        (another, partial(test_a_roll_goes_on_when_epochs_went_back_with_the_metadata, 1)),
        (whole, a_report_of_the_process_of_before),
    )
    assert not find_survivors(stories)


def a_report_of_the_process_of_before() -> None:
    """Is none of another one."""
    datanode = facts.Datanode(0, NANOSECONDS, (), (), 0, 0)
    assert not datanode.is_another_process(RestartedDatanode(id=0, epoch=datanode.recorded_epoch))
