"""A log is cut, and grows with other records, between what was observed and the delete."""

from __future__ import annotations

from seawall.adapters.kafka import logs
from seawall.controllers.purge import WALPurgeController
from tests.fakes import kafka_logs
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import Calls, World


def test_records_that_were_written_after_an_unclean_election_stay() -> None:
    """They have the offsets of those that were to go: whoever repairs the topic needs them."""
    world = World()
    for region in world.data_plane.regions:
        world.flush(region)
    calls, log = Calls(lambda _: None), world.kafka.topics["wal_1"].log

    def cut(name: str) -> None:
        if name == "delete_records" and log.epoch == 0:
            log.truncate(10)
            log.append(100)

    calls.before = cut
    world.start_run()
    process = world.process(calls)
    world.settle_until(process, lambda: "delete_records" in calls.names)
    assert log.epoch == 1
    world.settle(process, ticks=30)
    starts = world.log_starts()
    assert starts["wal_1"] == 0
    assert min(starts["wal_0"], starts["wal_2"]) > 0, "they were in the same batch"


def test_the_guards_are_missed() -> None:
    guards = (
        rewritten(logs, "check_epoch", "epoch is None or now == epoch", "True", kafka_logs),
        rewritten(WALPurgeController, "_delete", "action.topic_ids, action.epochs)", "action.topic_ids)"),
    )
    story = test_records_that_were_written_after_an_unclean_election_stay
    assert find_survivors([(guard, story) for guard in guards]) == []
