"""A hold is granted as a whole: what cannot be granted of one topic must not leave all others where they were."""

from __future__ import annotations

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.subscription_status import StopReason
from tests.subscription.test_lag_budget import purged_to
from tests.subscription.test_subscription import condition, granted, reasons
from tests.worlds.subscription_world import DR, SubscriptionWorld
from tests.worlds.verification_world import why

COPIED = 40


def stops(world: SubscriptionWorld) -> dict[str, StopReason | None]:
    return {row.name: row.stopped for row in world.subscription().status.topics}


def a_topic_is_deleted_at_the_source() -> None:
    """The job has said so: it has no place in the hold any more, and that of the others moves on."""
    world = SubscriptionWorld()
    world.streaming()
    world.foreign.add("wal_2")
    del world.kafka.topics["wal_2"]
    world.live(lambda: stops(world)["wal_2"] is StopReason.IDENTITY_FENCE_BROKEN)
    world.write("wal_0", 30)
    world.live(lambda: granted(world) == {"wal_0": COPIED + 30, "wal_1": COPIED})
    assert why(world.subscription())[0] == "TopicsStopped"
    assert "HoldLost" not in reasons(world)


def a_topic_is_not_there_for_a_while() -> None:
    """As a broker answers that is behind: nobody else says so, and its place in the hold stays."""
    world = SubscriptionWorld()
    world.streaming()
    world.stride = 0
    world.write("wal_2", 30)
    world.spark_operator_runs = False
    gone = world.kafka.topics.pop("wal_2")
    world.live(ticks=20)
    hold = world.kube.get(WALHold, DR)
    assert hold is not None
    assert (granted(world).get("wal_2"), "wal_2" in hold.spec.topics) == (COPIED, True)  # type: ignore[union-attr]
    world.kafka.topics["wal_2"] = gone
    world.stride, world.spark_operator_runs = 25, True
    world.live(world.is_even)


def a_stopped_topic_is_cut() -> None:
    """Nobody has recorded that it ended further on: it is kept from its end on, and the others move on."""
    world = SubscriptionWorld()
    world.streaming()
    world.write("wal_0", 30)
    world.live(world.is_even)
    world.diverged = {"wal_0"}
    world.live(lambda: stops(world)["wal_0"] is StopReason.DIVERGED)
    world.foreign.add("wal_0")
    world.kafka.topics["wal_0"].log.truncate(COPIED + 20)
    world.write("wal_1", 30)
    world.live(lambda: granted(world).get("wal_1") == COPIED + 30)
    assert granted(world) == {"wal_0": COPIED + 20, "wal_1": COPIED + 30, "wal_2": COPIED}
    assert "HoldLost" not in reasons(world)


def somebody_else_deletes_what_was_copied() -> None:
    """So nothing more is granted; the old grant stands, and that is said with what it keeps."""
    world = SubscriptionWorld()
    world.streaming()
    world.foreign.add("wal_1")
    world.kafka.topics["wal_1"].log.delete_before(20)
    world.write("wal_0", 30)
    found = world.live(lambda: why(world.subscription())[0] == "HoldRefused")
    assert world.target.topics["wal_0"].log.end == COPIED + 30
    assert why(found)[1] == (
        "the source keeps what was held before, as what is held now is not granted: somebody else deletes from wal_1, "
        "so nothing can be promised; what was granted before still stands"
    )
    assert condition(found, ConditionType.HELD) == ("True", "EditRefused")
    assert condition(found, ConditionType.STALLED)[0] == "True"
    found = world.live(ticks=30)
    assert granted(world)["wal_0"] == COPIED
    assert purged_to(world, "meanwhile") <= COPIED
    assert found.status.lag is not None
    assert found.status.lag.entries == 0
    assert found.status.lag.bytes == 30 * 100


def test_a_topic_is_deleted_at_the_source() -> None:
    a_topic_is_deleted_at_the_source()


def test_a_topic_is_not_there_for_a_while() -> None:
    a_topic_is_not_there_for_a_while()


def test_a_stopped_topic_is_cut() -> None:
    a_stopped_topic_is_cut()


def test_somebody_else_deletes_what_was_copied() -> None:
    somebody_else_deletes_what_was_copied()
