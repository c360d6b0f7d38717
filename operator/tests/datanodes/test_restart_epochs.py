"""What a datanode says counts when another process says it: epochs may go back where metadata are restored."""

from __future__ import annotations

from functools import partial

import pytest

from seawall.api.v1alpha1.rollout import RollStage
from seawall.domain.datanodes import facts
from tests.datanodes.test_restart import ALL
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.restart_world import DATANODES, World

BEFORE = 8


def in_the_middle() -> World:
    """The first datanode of a roll is away, and all were started many times before."""
    world = World()
    world.data_plane.epochs.update(dict.fromkeys(range(DATANODES), BEFORE))
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


def test_a_later_epoch_is_needed_by_nothing() -> None:
    another = rewritten(
        facts.Datanode, "is_another_process", "self.epoch not in {None, epoch}", "(self.epoch or 0) > epoch"
    )
    story = partial(test_a_roll_goes_on_when_epochs_went_back_with_the_metadata, 1)
    assert not find_survivors(((another, story),))
