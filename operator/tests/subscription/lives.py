"""A story of a subscription, lived on from a death at each call to the outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tests.support.deaths import die_at_every_call
from tests.worlds.purge_world import Guard
from tests.worlds.subscription_world import CHANGES, SubscriptionWorld

WorldT = TypeVar("WorldT", bound=SubscriptionWorld)
Story = Callable[[WorldT], Callable[[WorldT], bool]]
"""What happens, and how it is when all is done that follows of it."""


def deaths_of(world: WorldT, story: Story[WorldT], end_state: Callable[[WorldT], Any]) -> int:
    """How many worlds a death leaves that differ; asserts that all of them end at the same place."""
    is_done = story(world)

    def live(each: WorldT, guard: Guard | None) -> None:
        each.live(lambda: is_done(each), each.subscriber(guard))

    return die_at_every_call(world, live, end_state, CHANGES)
