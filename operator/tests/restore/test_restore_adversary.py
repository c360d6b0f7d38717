"""The world moves between what a restore decided and what it does: moves that have a story of their own."""

from __future__ import annotations

from seawall.api.v1alpha1.restore import RestoreStage
from tests.restore.test_restore_crash import approved
from tests.worlds.purge_world import Calls
from tests.worlds.restore_world import CHANGES
from tests.worlds.verification_world import why


def test_a_database_that_starts_right_before_the_topics_are_made_is_waited_for() -> None:
    world = approved()
    calls = Calls(world.check, CHANGES)

    def starts(name: str) -> None:
        """Between the decision, which read the topics, and the reads right before the act."""
        is_decided = calls.names.count("describe_topics") == 3
        if is_decided and name == "get" and not world.datanodes.running:
            world.start_database()

    calls.before = starts
    process = world.restorer(calls)
    for _ in range(12):
        world.settle_restore(process=process, ticks=1)
    assert world.datanodes.running
    assert world.kafka.topics == {}
    assert why(world.walrestore())[0] == "DatabaseRunning"
    calls.before = lambda _: None
    world.stop_database()
    assert world.settle_restore().status.stage is RestoreStage.COMPLETED
