"""A purge over 3 topics of 4 regions each dies at every call to the outside: the next process ends at one place."""

from __future__ import annotations

from typing import Any

from tests.support.deaths import die_at_every_call
from tests.worlds.purge_world import World


def end_state(world: World) -> Any:
    status = world.run().status
    return (
        world.log_starts(),
        {name: marker.pruned_entry_id for name, marker in world.store.snapshot().topics.items()},
        {name: record.intent for name, record in world.records().items()},
        (status.stage, status.entries_deleted, status.topics, status.skipped, status.planned, world.targets()),
        [(found.type, found.status, found.reason, found.message) for found in status.conditions],
    )


def test_a_death_at_any_call_of_a_purge_changes_nothing_about_the_end() -> None:
    world = World()
    world.start_run()
    worlds = die_at_every_call(world, lambda each, guard: each.settle(each.process(guard)), end_state)
    assert set(world.log_starts().values()) == {36}
    assert worlds > 25
