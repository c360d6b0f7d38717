"""A process dies at every call to the outside, before it and after it; the next one must end at the same place.

What a process knows dies with it, so a death leaves the world as it is at that moment. One undisturbed life therefore
meets all of them: at each call the world is copied, and a new process lives on in the copy. Between two changes the
world is the same, however many calls only read: such copies are lived in once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from tests.support.clock import Time
from tests.support.golden import compare_calls
from tests.worlds.purge_world import CHANGES, Calls, Guard


class MortalWorld(Protocol):
    """All that outlives a process."""

    time: Time

    def check(self, after: str) -> None:
        """Asserts what must be true after each change."""
        ...


WorldT = TypeVar("WorldT", bound=MortalWorld)


class WorldsLeft(Calls, Generic[WorldT]):
    """Copies the world as a death before or after each call would leave it."""

    def __init__(self, world: WorldT, changing: Iterable[str]) -> None:
        super().__init__(world.check, changing)
        self.deaths, self.changes = 0, 0
        self.worlds: dict[tuple[int, datetime], WorldT] = {}
        self._world = world

    def call(self, function: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
        """One call, which may fail."""
        self._die()
        try:
            return super().call(function, name, *args, **kwargs)
        finally:
            self.changes += name in self.changing
            self._die()

    def _die(self) -> None:
        self.deaths += 1
        key = self.changes, self._world.time.time
        if key not in self.worlds:
            self.worlds[key] = copy.deepcopy(self._world)


def die_at_every_call(
    world: WorldT,
    live: Callable[[WorldT, Guard | None], object],
    end_state: Callable[[WorldT], object],
    changing: Iterable[str] = CHANGES,
) -> int:
    """Lives once undisturbed, and on in each world that a death would have left: all must end at the same place.

    Args:
        world: in which the undisturbed life is lived.
        live: a new process, whose calls go by way of the guard, lives until all is done.
        end_state: what must be the same.
        changing: the calls that change something.

    Returns:
        How many worlds there were that differ: a test says how many it must meet at the least.
    """
    left = WorldsLeft(world, changing)
    live(world, left)
    wanted = end_state(world)
    failures = []
    for at, each in left.worlds.items():
        live(each, None)
        if end_state(each) != wanted:
            failures.append(at)
    calls, worlds = len(left.names), len(left.worlds)
    print(f"calls {calls}, runs {left.deaths} ({worlds} worlds), failures {len(failures)}")  # noqa: T201 - evidence
    assert left.deaths == 2 * calls
    assert not failures
    compare_calls(left.names)
    return worlds
