"""A hold is renewed while its subscription is there, whatever that waits for: its ttl is for those who died."""

from __future__ import annotations

from seawall.api.v1alpha1.hold import HoldState, WALHold
from tests.subscription.test_lag_budget import dies, lives_again, purged_to
from tests.subscription.test_subscription import granted, reasons
from tests.worlds.subscription_world import DECLARED, DR, SubscriptionWorld
from tests.worlds.verification_world import why

COPIED, HOUR = 40, 3600.0


def behind() -> SubscriptionWorld:
    """All is copied but the newest records of one topic."""
    world = SubscriptionWorld()
    world.subscribe(lagBudget={"maxBytes": "1Ti"})
    world.live(world.is_even)
    world.stride = 0
    world.write("wal_0", 30)
    return world


def assert_held_for_days(world: SubscriptionWorld, reason: str) -> None:
    """What it waits for does not come; it is renewed each hour, and a purge waits for what is not copied."""
    before = reasons(world).count("HoldMoved")
    found, hold = world.live(ticks=100, waits=HOUR), world.kube.get(WALHold, DR)
    assert hold is not None
    assert hold.status.state in {HoldState.ACTIVE, HoldState.EXTENDED}
    assert "HoldLost" not in reasons(world)
    assert why(found)[0] == reason
    assert 40 <= reasons(world).count("HoldMoved") - before <= 60
    assert granted(world)["wal_0"] == COPIED
    assert purged_to(world, "meanwhile") == COPIED


def nobody_declares_it_any_more() -> None:
    world = behind()
    world.declare(None)
    assert_held_for_days(world, "TargetNotDeclared")
    world.declare(dict(DECLARED))
    world.stride = 25
    world.live(world.is_even)


def no_topic_is_selected() -> None:
    world = behind()
    world.subscribe(topics=["other_*"])
    assert_held_for_days(world, "NothingSelected")


def resync_waits_for_the_target() -> None:
    world = behind()
    dies(world)
    world.subscribe(resync="now")
    assert_held_for_days(world, "TargetUnreachable")
    lives_again(world)
    world.live(world.is_even)


def a_promotion_waits_for_the_target() -> None:
    """Until it is ready, somebody may still want what the source has."""
    world = behind()
    dies(world)
    world.subscribe(promote="Failover")
    assert_held_for_days(world, "TargetUnreachable")


def a_hold_of_somebody_else_is_not_renewed() -> None:
    world = SubscriptionWorld()
    world.kube.apply(DR, {"clusterRef": {"name": "wal"}, "topics": {"wal_0": 0}}, kind=WALHold)
    world.subscribe()
    found = world.live(ticks=20, waits=HOUR)
    assert why(found)[0] == "NameTaken"
    assert "HoldMoved" not in reasons(world)


def test_nobody_declares_it_any_more() -> None:
    nobody_declares_it_any_more()


def test_no_topic_is_selected() -> None:
    no_topic_is_selected()


def test_resync_waits_for_the_target() -> None:
    resync_waits_for_the_target()


def test_a_promotion_waits_for_the_target() -> None:
    a_promotion_waits_for_the_target()


def test_a_hold_of_somebody_else_is_not_renewed() -> None:
    a_hold_of_somebody_else_is_not_renewed()
