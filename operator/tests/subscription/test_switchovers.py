"""Stories of a source that is written to, or dies, while a promotion is on its way: what is lost is listed."""

from __future__ import annotations

from typing import Any

from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.subscription.needed import MARGIN
from tests.subscription.test_promotion import SILENT, assert_safe, behind, promoted, promotion_of, topic_of
from tests.subscription.test_promotion_refusals import until_it_begins
from tests.worlds.subscription_world import DR, SubscriptionWorld
from tests.worlds.verification_world import why

LATE = 9
"""Records that the database writes when it should not any more."""


def begun(how: str = "Switchover") -> tuple[SubscriptionWorld, Any]:
    """All is copied, and it has just begun to promote."""
    world = SubscriptionWorld()
    world.streaming()
    world.subscribe(promote=how)
    process = world.subscriber()
    until_it_begins(world, process)
    return world, process


def until_it_is_recorded(world: SubscriptionWorld, process: Any) -> None:
    """Where topics must end; from then on it cannot go back."""
    for _ in range(9):
        if promotion_of(world.subscription()).topics:
            return
        process.tick(DR)
    raise AssertionError("it is not recorded where topics must end")


def write_late(world: SubscriptionWorld) -> None:
    """The database still writes, and flushes all of it."""
    world.write("wal_0", LATE)
    for region in world.data_plane.regions:
        world.flush(region)


def test_a_switchover_goes_on_copying_when_the_source_got_more_before_anything_was_fenced() -> None:
    world, process = begun()
    write_late(world)
    for _ in range(9):
        process.tick(DR)
        found = world.subscription()
        if found.status.promotion is None:
            break
    why_back = (
        "the source has more than the target, or does not say where it ends, or somebody else wrote to the target"
    )
    waits = ("WaitingForCopy", f"of topic wal_0 {why_back}: it is copied on")
    assert (found.status.state, why(found)) == (SubscriptionState.LAGGING, waits)
    found = promoted(world, "Switchover")
    assert (promotion_of(found).lost_entries, topic_of(found, "wal_0").end) == (0, 49)
    assert why(found)[1] == "dr is ready for a database, and has all that the source had"
    assert_safe(world)


def test_a_switchover_waits_for_a_source_that_does_not_answer_when_it_matters() -> None:
    world, process = begun()
    world.kafka.unreachable = SILENT
    found = world.live(lambda: why(world.subscription())[0] == "SourceUnreachable", process)
    assert found.status.promotion is None
    world.kafka.unreachable = None
    found = promoted(world, "Switchover")
    assert (promotion_of(found).lost_entries, promotion_of(found).source_known) == (0, True)


def test_a_switchover_goes_back_for_a_topic_that_the_pool_got_meanwhile() -> None:
    world, process = begun()
    world.grow("wal_3")
    world.live(lambda: "wal_3" in world.target.topics, process)
    found = promoted(world, "Switchover")
    assert len(promotion_of(found).topics) == 4
    assert promotion_of(found).lost_entries == 0
    assert_safe(world)


def test_what_the_source_gets_after_all_is_recorded_is_padded_and_listed() -> None:
    world, process = begun()
    until_it_is_recorded(world, process)
    write_late(world)
    found = promoted(world, "Switchover")
    row = topic_of(found, "wal_0")
    assert (row.end, row.known_end, row.pad_to) == (40, 49, 49 + MARGIN)
    assert (promotion_of(found).lost_entries, promotion_of(found).regions_known) == (LATE, False)
    assert why(found)[1] == "dr is ready for a database, and lacks 9 entries"
    assert_safe(world)


def test_a_database_that_never_stops_writing_does_not_keep_a_failover_from_its_end() -> None:
    world, process = begun("Failover")
    until_it_is_recorded(world, process)
    for _ in range(99):
        if world.subscription().status.state is SubscriptionState.PROMOTED:
            break
        write_late(world)
        process.tick(DR)
    row = topic_of(world.subscription(), "wal_0")
    assert row.known_end == world.kafka.topics["wal_0"].log.end
    assert promotion_of(world.subscription()).lost_entries == row.known_end - 40
    world.live(lambda: not world.holds(), process)
    assert_safe(world)


def test_what_a_source_got_that_died_after_all_was_recorded_is_within_the_margin() -> None:
    world, process = begun("Failover")
    until_it_is_recorded(world, process)
    write_late(world)
    world.kafka.unreachable = SILENT
    found = promoted(world)
    row = topic_of(found, "wal_0")
    assert (row.known_end, row.pad_to, promotion_of(found).source_known) == (40, 40 + MARGIN, False)
    assert_safe(world)


def test_the_margin_is_each_topics_own() -> None:
    """One was made again in the source, so where that ended was never known; then the source dies."""
    world = SubscriptionWorld()
    world.streaming()
    world.recreate("wal_1")
    world.live(lambda: any(row.stopped for row in world.subscription().status.topics))
    world.subscribe(promote="Failover")
    process = world.subscriber()
    until_it_begins(world, process)
    until_it_is_recorded(world, process)
    assert topic_of(world.subscription(), "wal_0").pad_to == 40
    world.kafka.unreachable = SILENT
    assert topic_of(promoted(world), "wal_0").pad_to == 40 + MARGIN


def test_a_topic_that_one_broker_does_not_know_for_a_moment_is_not_even() -> None:
    world = behind()
    world.subscribe(promote="Switchover")
    process = world.subscriber()
    topic = world.kafka.topics.pop("wal_0")
    process.tick(DR)
    world.kafka.topics["wal_0"] = topic
    assert world.subscription().status.promotion is None


def test_a_topic_that_is_selected_again_after_all_was_recorded_is_not_forgotten() -> None:
    world = SubscriptionWorld()
    world.streaming()
    world.subscribe(promote="Failover", topics=["wal_0", "wal_2"])
    process = world.subscriber()
    until_it_begins(world, process)
    until_it_is_recorded(world, process)
    world.subscribe(topics=["*"])
    found = world.live(lambda: why(world.subscription())[0] == "CannotPromote", process)
    assert "topic wal_1 would be forgotten" in why(found)[1]
    world.subscribe(topics=["wal_0", "wal_2"])
    promoted(world)


def test_the_source_is_not_asked_any_more_when_it_is_over() -> None:
    world = behind()
    promoted(world)
    before = dict(world.kafka.requests)
    world.live(ticks=5)
    assert world.kafka.requests["describe_offsets"] == before["describe_offsets"]
