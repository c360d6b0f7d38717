"""The story of a budget: whatever is in the way, purges wait for what is not copied, and at last they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from seawall.api.meta import ConditionType, Key
from seawall.api.v1alpha1.subscription_status import StopReason, SubscriptionState
from seawall.domain.kafka import NoKafka, Unreachable
from tests.subscription.test_subscription import condition, granted, reasons
from tests.worlds.purge_world import NAMESPACE, SAFETY, TOPICS
from tests.worlds.subscription_world import SubscriptionWorld
from tests.worlds.verification_world import why

COPIED = 40
"""Where each topic ends when the copying stops."""
STEPS = {"AtRisk", "HoldAtRisk", "Lost", "HoldLost", "SourceGap"}

Deed = Callable[[SubscriptionWorld], None]


def dies(world: SubscriptionWorld) -> None:
    """No broker of the target answers, neither the operator nor the job."""
    world.target.unreachable = NoKafka(Unreachable.NOT_ANSWERING, "No broker of Kafka answered.")
    world.stride = 0


def lives_again(world: SubscriptionWorld) -> None:
    world.target.unreachable = None
    world.stride = 25


def is_suspended(world: SubscriptionWorld) -> None:
    world.subscribe(suspend=True)


def is_resumed(world: SubscriptionWorld) -> None:
    world.subscribe(suspend=False)


def purged_to(world: SubscriptionWorld, run: str) -> int:
    """Where wal_0 starts after a run of which nothing but a hold can be in the way."""
    for region in world.data_plane.regions:
        world.flush(region)
    key = Key(NAMESPACE, run)
    world.start_run(key, safety=SAFETY)
    world.settle(key=key)
    return world.log_starts()["wal_0"]


def a_budget_is_used_up(budget: dict[str, Any], first: int, then: int, stop: Deed, go_on: Deed) -> None:
    """`first` and `then`: how many records are written until it is at risk, and until it is lost."""
    world = SubscriptionWorld()
    world.holder = world.granter()  # which knows how large records were before some were deleted
    world.subscribe(lagBudget=budget)
    world.live(world.is_even)
    stop(world)
    world.write("wal_0", first)
    world.live(lambda: condition(world.subscription(), ConditionType.WITHIN_BUDGET)[1] == "AtRisk")
    assert (purged_to(world, "before"), granted(world)["wal_0"]) == (COPIED, COPIED)
    world.write("wal_0", then)
    found = world.live_until(SubscriptionState.LOST)
    assert (why(found)[0], condition(found, ConditionType.WITHIN_BUDGET)) == ("Lost", ("False", "Lost"))
    lost_to = purged_to(world, "after")
    assert lost_to > COPIED
    go_on(world)
    assert world.live(ticks=60).status.state is SubscriptionState.LOST
    assert world.spark.applications == {}
    # What is gone is gone: that topic stops, and no other waits for it.
    world.subscribe(resync="after the outage")
    world.write("wal_1", 3)
    found = world.live(lambda: granted_of_others(world) == {"wal_1": COPIED + 3, "wal_2": COPIED})
    rows = {row.name: (row.stopped, row.offset) for row in found.status.topics}
    assert rows == {"wal_0": (StopReason.SOURCE_GAP, COPIED), "wal_1": (None, None), "wal_2": (None, None)}
    assert world.target.topics["wal_1"].log.end == COPIED + 3
    world.lose_target("wal_0")
    world.subscribe(resync="deleted the topic")
    found = world.live(world.is_even)
    assert {row.name: row.start for row in found.status.topics} == {"wal_0": lost_to, "wal_1": 0, "wal_2": 0}
    steps = [reason for reason in reasons(world) if reason in STEPS]
    # Ready says Lost, and so does WithinBudget.
    assert steps[:6] == ["HoldAtRisk", "AtRisk", "HoldLost", "Lost", "Lost", "SourceGap"]
    assert "SourceGap" not in steps[6:]


def granted_of_others(world: SubscriptionWorld) -> dict[str, Any]:
    """What is held, once wal_0 has no place in the hold."""
    hold = world.holds()
    found = granted(world) if hold else {}
    return {} if "wal_0" in found else {name: found.get(name) for name in TOPICS[1:]}


def a_dead_target_uses_up_the_time() -> None:
    a_budget_is_used_up({"maxAge": "10m"}, 8, 8, dies, lives_again)


def a_suspended_one_uses_up_the_bytes() -> None:
    a_budget_is_used_up({"maxBytes": 16000}, 135, 40, is_suspended, is_resumed)


@pytest.mark.parametrize(("budget", "first", "then"), [({"maxBytes": 16000}, 135, 40), ({"maxAge": "10m"}, 8, 8)])
@pytest.mark.parametrize(("stop", "go_on"), [(dies, lives_again), (is_suspended, is_resumed)])
def test_purges_wait_until_the_budget_is_used_up_and_resync_brings_it_back(
    budget: dict[str, Any], first: int, then: int, stop: Deed, go_on: Deed
) -> None:
    a_budget_is_used_up(budget, first, then, stop, go_on)
