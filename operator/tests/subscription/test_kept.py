"""What people read of what the source keeps is so: nothing that is not held is called held, or within the budget."""

from __future__ import annotations

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.overview import findings
from seawall.domain.subscription.case import Observed
from seawall.domain.subscription.decide import decide
from tests.subscription.test_promotion import promoted
from tests.subscription.test_subscription import condition, reasons
from tests.worlds.subscription_world import DR, SubscriptionWorld
from tests.worlds.verification_world import why

Said = tuple[str, str]
NOT_HELD: Said = ("False", "NotHeld")


def said(world: SubscriptionWorld) -> tuple[Said, Said]:
    """Status and reason of Held and of WithinBudget."""
    found = world.subscription()
    return condition(found, ConditionType.HELD), condition(found, ConditionType.WITHIN_BUDGET)


def a_hold_that_cannot_be_placed_again_is_said() -> None:
    """Somebody deletes it while a pause lets nothing begin; one event says so."""
    world = SubscriptionWorld()
    world.streaming()
    assert said(world) == (("True", "Active"), ("True", "WithinBudget"))
    world.annotate(paused="true")
    world.live(ticks=2)
    world.kube.remove(DR, WALHold)
    world.live(ticks=20)
    assert said(world) == (NOT_HELD, NOT_HELD)
    assert reasons(world).count("NotHeld") == 1
    world.annotate()
    world.live(world.is_even)
    assert said(world)[1] == ("True", "WithinBudget")


def what_is_lost_stays_so_without_its_hold() -> None:
    world = SubscriptionWorld()
    world.subscribe(lagBudget={"maxBytes": 16000})
    world.live(world.is_even)
    world.stride = 0
    world.write("wal_0", 175)
    world.live_until(SubscriptionState.LOST)
    world.kube.remove(DR, WALHold)
    world.live(ticks=20)
    assert said(world) == (NOT_HELD, ("False", "Lost"))


def what_is_promoted_needs_no_hold() -> None:
    """Nobody has to do anything about it."""
    world = SubscriptionWorld()
    world.streaming()
    promoted(world)
    assert said(world) == (NOT_HELD, ("Unknown", "NotHeld"))
    assert "NotHeld" not in reasons(world)
    assert list(findings._of_subscription(world.subscription())) == []


def what_has_not_begun_needs_no_hold() -> None:
    world = SubscriptionWorld()
    world.annotate(paused="true")
    world.subscribe()
    world.live(ticks=20)
    assert said(world) == (NOT_HELD, ("Unknown", "NotHeld"))
    assert "NotHeld" not in reasons(world)


def what_is_not_granted_is_not_within_the_budget() -> None:
    world = SubscriptionWorld(auto_prune="Physical")  # it deletes through any hold, so none is granted
    world.subscribe()
    world.live(ticks=40)
    assert said(world) == (("False", "Requested"), ("Unknown", "Requested"))


def what_is_not_declared_any_more_is_said_without_a_hold() -> None:
    """Somebody deletes it; nobody can place another one."""
    world = SubscriptionWorld()
    world.streaming()
    world.declare(None)
    world.live(lambda: why(world.subscription())[0] == "TargetNotDeclared")
    assert said(world) == (("True", "Active"), ("True", "WithinBudget"))
    world.kube.remove(DR, WALHold)
    world.live(ticks=20)
    assert said(world) == (NOT_HELD, NOT_HELD)
    assert reasons(world).count("NotHeld") == 1


def what_cannot_be_read_is_as_it_was() -> None:
    """The API server shows nobody the hold: that there is none is not known."""
    world = SubscriptionWorld()
    world.streaming()
    before, obj = said(world), world.subscription()
    decision = decide(obj, Observed(world.time.now(), obstacle="forbidden"))
    assert decision.publish is not None
    world.kube.replace_status(obj, decision.publish(decision.verdict).status)
    assert (why(world.subscription())[0], said(world)) == ("ChangeRefused", before)


def test_a_hold_that_cannot_be_placed_again_is_said() -> None:
    a_hold_that_cannot_be_placed_again_is_said()


def test_what_is_lost_stays_so_without_its_hold() -> None:
    what_is_lost_stays_so_without_its_hold()


def test_what_is_promoted_needs_no_hold() -> None:
    what_is_promoted_needs_no_hold()


def test_what_has_not_begun_needs_no_hold() -> None:
    what_has_not_begun_needs_no_hold()


def test_what_is_not_granted_is_not_within_the_budget() -> None:
    what_is_not_granted_is_not_within_the_budget()


def test_what_is_not_declared_any_more_is_said_without_a_hold() -> None:
    what_is_not_declared_any_more_is_said_without_a_hold()


def test_what_cannot_be_read_is_as_it_was() -> None:
    what_cannot_be_read_is_as_it_was()
