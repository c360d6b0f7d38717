"""What somebody else wrote to a target is never promoted as a copy, and people read of which topics it is there."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.api.v1alpha1.subscription_status import StopReason, SubscriptionState
from tests.subscription.test_foreign_writers import blind, in_doubt
from tests.subscription.test_promotion import promoted, promotion_of, topic_of
from tests.subscription.test_promotion_refusals import until_it_begins
from tests.worlds.subscription_world import SubscriptionWorld
from tests.worlds.verification_world import why

OTHERS = "topic wal_0 had records beyond the end of the copy that are not known to be copies"


def a_forgotten_copy_ends_where_it_is_certain(how: str = "Failover") -> None:
    """Nobody knows who wrote the last nine records: the job compares the last one alone, and finds another one."""
    world = blind()
    world.forget_producers("wal_0")
    world.write("wal_0", 9)
    world.write_to_target("wal_0", 9)

    def copy(self: SubscriptionWorld, topic: Any, producer: Any) -> Any:
        if topic["name"] != "wal_0":
            return honest(self, topic, producer)
        last = self.target.topics["wal_0"].log.end - 1
        return {"topic": "wal_0", "reason": "Diverged", "offset": last, "message": "another record"}

    honest = SubscriptionWorld.copy
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SubscriptionWorld, "copy", copy)
        world.live_until(SubscriptionState.STOPPED)
        found = promoted(world, how)
    row = topic_of(found, "wal_0")
    assert (row.end, row.known_end, row.others_to, promotion_of(found).lost_entries) == (40, 49, 49, 9)
    assert why(found) == ("Promoted", f"dr is ready for a database, and lacks 9 entries; {OTHERS}")


@pytest.mark.parametrize("how", ["Failover", "Switchover"])
def test_a_forgotten_copy_ends_where_it_is_certain(how: str) -> None:
    a_forgotten_copy_ends_where_it_is_certain(how)


def a_switchover_waits_while_the_target_has_more_than_the_copy() -> None:
    world = blind()
    world.write_to_target("wal_0", 9)
    world.subscribe(promote="Switchover")
    assert in_doubt(world).status.promotion is None
    world.is_blind = False
    found = promoted(world, "Switchover")
    assert {row.name: row.stopped for row in found.status.topics}["wal_0"] is StopReason.DIVERGED
    row = topic_of(found, "wal_0")
    assert (row.end, row.known_end, row.others_to) == (40, 40, 49)
    assert why(found)[1] == f"dr is ready for a database, and has all that the source had; {OTHERS}"


def test_a_switchover_waits_while_the_target_has_more_than_the_copy() -> None:
    a_switchover_waits_while_the_target_has_more_than_the_copy()


def a_switchover_goes_back_when_somebody_else_writes_to_the_target() -> None:
    world = blind()
    world.subscribe(promote="Switchover")
    process = world.subscriber()
    until_it_begins(world, process)
    world.write_to_target("wal_0", 9)
    world.live(lambda: world.subscription().status.promotion is None, process, ticks=30)
    assert in_doubt(world).status.promotion is None


def test_a_switchover_goes_back_when_somebody_else_writes_to_the_target() -> None:
    a_switchover_goes_back_when_somebody_else_writes_to_the_target()
