"""A restore into scratch topics dies at every call: the next process ends at the same place, and leaves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from tests.restore.test_restore_crash import end_state
from tests.support.deaths import die_at_every_call
from tests.worlds.restore_world import BACK
from tests.worlds.scratch_world import CHANGES, ScratchWorld, backed_up


def after(world: ScratchWorld) -> Any:
    """What is left."""
    world.check("all is over")
    assert world.scratch_topics() == []
    return end_state(world), [each.metadata.finalizers for each in world.restores()]


def live(world: ScratchWorld, guard: Any) -> None:
    """A process, until it is over."""
    world.settle_restore(process=world.restorer(guard))


@pytest.mark.parametrize("attributes", [{}, {"half_written": 1}, {"undecodable": True}])
def test_a_death_at_any_call_of_a_drill_changes_nothing_about_the_end(attributes: dict[str, Any]) -> None:
    world = backed_up(**attributes)
    world.drill()
    assert die_at_every_call(world, live, after, CHANGES) > 20


@pytest.mark.parametrize("stage", [RestoreStage.PREPARING, RestoreStage.WRITING, RestoreStage.REMOVING])
def test_a_death_at_any_call_of_a_deletion_leaves_nothing(stage: RestoreStage) -> None:
    world = backed_up(slow=9)
    world.drill_until(stage)
    process = world.restorer()
    while not world.scratch_topics():
        world.settle_restore(process=process, ticks=1)
    world.kube.remove(BACK, WALRestore)

    def left(each: ScratchWorld) -> Any:
        each.check("all is over")
        return each.scratch_topics(), each.restores()

    assert die_at_every_call(world, live, left, CHANGES) > 3


def test_two_operators_at_once_drill_once() -> None:
    world = backed_up()
    world.drill()
    processes = [world.restorer(), world.restorer()]
    for number in range(300):
        found = world.settle_restore(process=processes[number % 2], ticks=1)
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 2)
    assert (world.scratch_topics(), found.metadata.finalizers) == ([], ())
