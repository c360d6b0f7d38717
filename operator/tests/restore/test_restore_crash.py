"""A restore dies at every call to the outside: the next process ends at the same place, and so do two at once."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.v1alpha1.restore_status import RestoreStage
from tests.support.deaths import die_at_every_call
from tests.worlds.restore_world import CHANGES, RestoreWorld, WorldT, lost


def end_state(world: RestoreWorld) -> Any:
    status = world.walrestore().status
    rows = [(row.name, row.planned, row.pad_to, row.start, row.end, row.topic_id is None) for row in status.topics]
    logs = {name: (topic.log.log_start, topic.log.end) for name, topic in sorted(world.kafka.topics.items())}
    records = {name: (each.intent, each.broken, each.high_watermark) for name, each in world.records().items()}
    adopted = [
        world.records()[name].topic_id == topic.log.topic_id for name, topic in sorted(world.kafka.topics.items())
    ]
    return (
        (status.stage, status.outcome, status.attempt, status.plan, status.findings, status.message, rows),
        [(found.type, found.status, found.reason, found.message) for found in status.conditions],
        (logs, records, adopted),
        sorted(key.name for key in world.spark.specs),
    )


def approved(**attributes: Any) -> RestoreWorld:
    """A plan is approved, and the database is stopped."""
    return with_approval(lost(**attributes))


def with_approval(world: WorldT) -> WorldT:
    """The same of a world whose Kafka is lost."""
    world.bring_back()
    world.live_until(RestoreStage.AWAITING_APPROVAL)
    world.stop_database()
    world.approve()
    return world


@pytest.mark.parametrize("attributes", [{}, {"half_written": 1}, {"foreign_writer": True}, {"half_written": 3}])
def test_a_death_at_any_call_of_a_restore_changes_nothing_about_the_end(attributes: dict[str, Any]) -> None:
    world = approved(**attributes)
    worlds = die_at_every_call(
        world, lambda each, guard: each.settle_restore(process=each.restorer(guard)), end_state, CHANGES
    )
    assert worlds > 20


def test_a_death_at_any_call_of_a_plan_changes_nothing_about_it() -> None:
    world = lost()
    world.bring_back()

    def live(each: RestoreWorld, guard: Any) -> None:
        each.settle_restore(process=each.restorer(guard), ticks=60)

    assert die_at_every_call(world, live, end_state, CHANGES) > 8


def test_two_operators_at_once_restore_once() -> None:
    world = approved()
    processes = [world.restorer(), world.restorer()]
    for number in range(200):
        found = world.settle_restore(process=processes[number % 2], ticks=1)
    assert (found.status.stage, found.status.attempt) == (RestoreStage.COMPLETED, 2)
    assert "delete_topics" not in world.kafka.requests
