"""What Prometheus is told of restores: each that ends is counted once, but for those whose policy tells of them."""

from __future__ import annotations

import pytest

from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.controllers.restore import WALRestoreController
from tests.backup import test_drills as drills
from tests.ledger.test_metrics import Metrics
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import WAL
from tests.worlds.restore_world import RestoreWorld, lost
from tests.worlds.scratch_world import backed_up


def counted(world: RestoreWorld) -> list[RestoreStage | None]:
    """How those ended that were counted, all of them of the WALCluster."""
    assert {key for key, _ in world.meters.restores} <= {WAL}
    return [status.stage for _, status in world.meters.restores]


@pytest.mark.parametrize(
    ("world", "stage"), [({}, RestoreStage.COMPLETED), ({"foreign_writer": True}, RestoreStage.FAILED)]
)
def test_a_restore_is_counted_once_when_it_ends(world: dict[str, bool], stage: RestoreStage) -> None:
    bed = lost(**world)
    assert bed.restored().status.stage is stage
    assert counted(bed) == [stage]
    for _ in range(3):
        bed.settle_restore(ticks=1)
    assert counted(bed) == [stage]


def those_of_policies_are_not_counted() -> None:
    world = drills.declared()
    world.live(drills.TWENTY)
    assert {each.status.stage for each in world.drills()} == {RestoreStage.COMPLETED}
    assert counted(world) == []


def test_a_drill_of_a_policy_is_not_counted_and_one_by_hand_is() -> None:
    those_of_policies_are_not_counted()
    world = backed_up()
    assert world.drilled().status.stage is RestoreStage.COMPLETED
    assert counted(world) == [RestoreStage.COMPLETED]


def test_restores_are_counted_by_result_and_begin_at_zero() -> None:
    metrics = Metrics()
    metrics.wal.measure_ledger(WAL, None)
    assert metrics.value("seawall_restores_total", result="Failed") == 0
    world = lost(foreign_writer=True)
    setattr(world, "meters", metrics.wal)  # noqa: B010 - tests have a fake there
    world.restored()
    assert metrics.value("seawall_restores_total", result="Failed") == 1
    assert metrics.value("seawall_restores_total", result="Completed") == 0
    metrics.wal.forget_ledger(WAL)
    assert metrics.series("seawall_restores") == 0


def test_no_guard_can_be_taken_away() -> None:
    mutants: tuple[Mutant, ...] = (
        (rewritten(WALRestoreController, "record", "not is_drill(obj)", "True"), those_of_policies_are_not_counted),
    )
    assert find_survivors(mutants) == []
