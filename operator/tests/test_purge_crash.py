"""A run dies at every call to the outside, before it and after it; the next process ends at the same place.

What a process remembers dies with it, so a death leaves the world as it is at that moment. One undisturbed run of a
purge over 3 topics of 4 regions each therefore meets all of them: at each call the world is copied, and a new process
finishes the run in the copy. Between two changes the world is the same, however many calls only read: such copies are
run once.
"""

from __future__ import annotations

import copy
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from tests.purge_world import Calls, Time, World


class MortalWorld(Protocol):
    """All that outlives a process."""

    time: Time

    def check(self, change: str) -> None:
        """Asserts what must be true after each change."""
        ...


WorldT = TypeVar("WorldT", bound=MortalWorld)


class Deaths(Calls, Generic[WorldT]):
    """Copies the world as a death before or after each call would leave it."""

    def __init__(self, world: WorldT) -> None:
        super().__init__(world.check)
        self.deaths, self.changes = 0, 0
        self.worlds: dict[tuple[int, datetime], WorldT] = {}
        self._world = world

    def call(self, function: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        self._die()
        answer = super().call(function, name, *args, **kwargs)
        self.changes += name in self.changing
        self._die()
        return answer

    def _die(self) -> None:
        self.deaths += 1
        key = self.changes, self._world.time.time
        if key not in self.worlds:
            self.worlds[key] = copy.deepcopy(self._world)


def end_state(world: World) -> Any:
    status = world.run().status
    return (
        world.log_starts(),
        {name: marker.pruned_entry_id for name, marker in world.store.snapshot().topics.items()},
        {name: record.intent for name, record in world.records().items()},
        (status.stage, status.entries_deleted, status.topics, status.skipped, status.targets),
        [(found.type, found.status, found.reason, found.message) for found in status.conditions],
    )


def test_a_death_at_any_call_of_a_purge_changes_nothing_about_the_end() -> None:
    world = World()
    world.start_run()
    deaths = Deaths(world)
    world.settle(world.process(deaths))
    wanted = end_state(world)
    assert set(world.log_starts().values()) == {36}
    failures: list[tuple[int, datetime]] = []
    for at, left in deaths.worlds.items():
        left.settle()
        if end_state(left) != wanted:
            failures.append(at)
    calls = len(deaths.names)
    evidence = f"calls {calls}, runs {deaths.deaths} ({len(deaths.worlds)} worlds), failures {len(failures)}"
    print(evidence)  # noqa: T201 - the count is the evidence
    assert deaths.deaths == 2 * calls
    assert not failures
    assert len(deaths.worlds) > 25
