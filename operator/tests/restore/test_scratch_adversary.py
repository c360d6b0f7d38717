"""The world moves between what a restore into scratch topics decided and what it does."""

from __future__ import annotations

from datetime import timedelta

from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.ledger.observation import Observation
from tests.worlds.purge_world import Calls
from tests.worlds.restore_world import BACK
from tests.worlds.scratch_world import CHANGES, backed_up


def test_a_restore_that_is_deleted_right_before_its_topics_are_made_makes_none() -> None:
    """Another process has seen to its end by then, and nobody would delete them any more."""
    world = backed_up()
    world.drill_until(RestoreStage.PREPARING)
    calls = Calls(world.check, CHANGES)

    def goes(name: str) -> None:
        """Between the decision, which read the topics, and the reads right before the act."""
        found = world.kube.get(WALRestore, BACK)
        is_made_next = found is not None and found.status.none_existed and not world.scratch_topics()
        if calls.names[-2:] == ["list", "get"] and name == "get" and is_made_next:
            world.kube.remove(BACK, WALRestore)
            assert world.settle_restore() is None

    calls.before = goes
    process = world.restorer(calls)
    for _ in range(10):
        world.settle_restore(process=process, ticks=1)
    assert world.kube.get(WALRestore, BACK) is None
    assert world.scratch_topics() == []


def test_a_readoption_waits_for_no_drill() -> None:
    """It makes none of the pool's logs."""
    world = backed_up()
    world.drill_until(RestoreStage.WRITING)
    world.annotate(readopt=f"looks right@{(world.time.now() + timedelta(hours=1)).isoformat()}")
    found = world.observer().observe(world.cluster(), readopts=True)
    assert isinstance(found, Observation)
    assert found.readopt_problem is None
