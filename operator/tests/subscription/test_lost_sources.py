"""Stories of a source whose Secret is gone: what does not need it goes on, and what needs it says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.reconciler import Outcome
from tests.subscription.test_promotion import assert_safe, promoted, promotion_of, topic_of
from tests.worlds.purge_world import NAMESPACE
from tests.worlds.subscription_world import DR, SubscriptionWorld
from tests.worlds.verification_world import why

USER = Key(NAMESPACE, "source-user")
PASSWORD = {"username": b"seawall", "password": b"secret"}


@dataclass
class SecuredSource(SubscriptionWorld):
    """The source asks who somebody is."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kube.secrets[USER] = PASSWORD

    def spec(self, **greptimedb: Any) -> dict[str, Any]:
        """With a Secret."""
        found = super().spec(**greptimedb)
        external = {**found["kafka"]["external"], "sasl": {"credentialsSecretRef": {"name": USER.name}}}
        return {**found, "kafka": {"external": external}}

    def lose_secret(self) -> None:
        """Somebody cleans up after a disaster."""
        del self.kube.secrets[USER]


def a_lost_subscription_is_promoted_when_the_secret_of_its_source_is_gone() -> None:
    world = SecuredSource()
    world.subscribe(lagBudget={"maxAge": "10m"})
    world.live(world.is_even)
    world.stride = 0
    world.write("wal_0", 9)
    world.live_until(SubscriptionState.LOST)
    world.lose_secret()
    assert world.subscriber().tick(DR).outcome is not Outcome.ERROR
    found = promoted(world)
    assert topic_of(found, "wal_0").end == 40
    assert not promotion_of(found).source_known
    assert_safe(world)


def test_a_lost_subscription_is_promoted_when_the_secret_of_its_source_is_gone() -> None:
    a_lost_subscription_is_promoted_when_the_secret_of_its_source_is_gone()


def test_why_a_hold_is_over_is_nobodys_affair_once_it_is_lost() -> None:
    world = SecuredSource()
    world.subscribe(lagBudget={"maxAge": "10m"})
    world.live(world.is_even)
    world.stride = 0
    world.write("wal_0", 9)
    world.live_until(SubscriptionState.LOST)
    asked = world.kafka.requests["find_first_since"]
    process = world.subscriber()
    for _ in range(5):
        process.tick(DR)
    assert world.kafka.requests["find_first_since"] == asked


def a_hold_that_is_over_is_not_placed_anew_while_nobody_says_of_which_age_it_was() -> None:
    world = SecuredSource()
    world.subscribe(lagBudget={"maxAge": "10m"})
    world.live(world.is_even)
    hold = world.kube._objects["WALHold", DR]
    world.kube.apply(DR, {**hold["spec"], "release": True}, kind=WALHold)
    world.granter().tick(DR)
    world.lose_secret()
    process = world.subscriber()
    assert {process.tick(DR).outcome for _ in range(9)} <= {Outcome.RECORDED, Outcome.WAITING}
    assert why(world.subscription()) == (
        "SourceUnreachable",
        "WALHold dr is Released, and the source does not say of which age it was",
    )
    world.kube.secrets[USER] = PASSWORD
    world.live(world.is_even)


def test_a_hold_that_is_over_is_not_placed_anew_while_nobody_says_of_which_age_it_was() -> None:
    a_hold_that_is_over_is_not_placed_anew_while_nobody_says_of_which_age_it_was()
