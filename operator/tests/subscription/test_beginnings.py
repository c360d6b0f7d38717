"""Topics that were never copied begin together: a run is not made for some of them, and ended for the others."""

from __future__ import annotations

from typing import Any

import pytest

from seawall.domain.errors import Refused
from seawall.domain.subscription import beginning, decide, running, targets
from seawall.domain.times import SUBSCRIPTION_BEGINS_TOGETHER_SECONDS
from tests.subscription import test_records_sink as rows
from tests.support.mutants import Mutant, find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import TOPICS
from tests.worlds.records_world import RecordsWorld
from tests.worlds.subscription_world import SubscriptionWorld
from tests.worlds.verification_world import why

NEVER = 10**6


def beginning_with(leaderless: str, views: int) -> SubscriptionWorld:
    """Topics are made, and for so many views one of them has no leader yet that says where it ends."""
    world = SubscriptionWorld()
    world.target.late_leaders = views
    world.subscribe()
    process = world.subscriber()
    for _ in range(50):
        if world.target.topics:
            break
        world.live(process=process, ticks=1)
    assert set(world.target.topics) == set(TOPICS)
    for name, topic in world.target.topics.items():
        topic.views_until_led = views if name == leaderless else 0
    world.target.late_leaders = 0
    return world


def names_of(request: Any) -> list[str]:
    return [topic["name"] for topic in request["topics"]]


def a_leader_that_comes_a_moment_later() -> None:
    world = beginning_with("wal_1", views=7)
    world.live(world.is_even)
    assert [sorted(names_of(each)) for each in world.requests()] == [sorted(TOPICS)]


def test_a_topic_whose_leader_comes_a_moment_later_begins_with_the_others() -> None:
    """A broker that was slow to hear of it had the run of the others ended as soon as it had begun (load 10)."""
    a_leader_that_comes_a_moment_later()


def a_leader_that_never_comes() -> None:
    world = beginning_with("wal_1", NEVER)
    process = world.subscriber()
    world.live(lambda: why(world.subscription())[0] == "MakingTopics", process)
    began = world.time.time
    assert why(world.subscription())[1] == "another run waits a moment for topic wal_1"
    world.live(lambda: world.runs(1), process)
    assert (world.time.time - began).total_seconds() <= SUBSCRIPTION_BEGINS_TOGETHER_SECONDS + 30
    assert sorted(names_of(world.requests()[0])) == ["wal_0", "wal_2"]
    world.target.topics["wal_1"].views_until_led = 0
    world.live(lambda: world.runs(2) and world.is_even(), process)


def test_a_topic_whose_leader_never_comes_keeps_no_other_from_being_copied() -> None:
    a_leader_that_never_comes()


def a_ledger_that_comes_and_goes() -> None:
    """A topic that was about to begin is not known to be held any more, and then is again."""
    world = beginning_with("wal_1", NEVER)
    process = world.subscriber()
    for _ in range(40):
        world.store.is_silent = not world.store.is_silent
        world.live(process=process, ticks=1)
    world.store.is_silent = False
    assert world.requests(), "the others are copied"


def test_a_ledger_that_comes_and_goes_keeps_no_topic_from_being_copied() -> None:
    a_ledger_that_comes_and_goes()


def an_edit_meanwhile() -> None:
    """What runs goes on, and begins anew once: with the edit, and the topic that the pool got."""
    world = SubscriptionWorld()
    world.streaming()
    world.target.late_leaders = 7
    world.grow("wal_3")
    world.live(lambda: "wal_3" in world.target.topics, ticks=60)
    world.subscribe(spark={"executors": 3})
    world.live(world.is_even)
    assert world.runs(2)
    assert [sorted(names_of(each)) for each in world.requests()] == [sorted(TOPICS), [*sorted(TOPICS), "wal_3"]]


def test_an_edit_while_a_topic_is_about_to_begin_is_one_run_with_it() -> None:
    an_edit_meanwhile()


def a_topic_that_cannot_be_made() -> None:
    """The target has too few brokers for it, and a topic stops, so that what copied is over."""
    world = SubscriptionWorld()
    world.streaming()
    world.target.offline = {3}
    world.grow("wal_3")
    world.live(lambda: why(world.subscription())[0] == "TooFewBrokers")
    world.diverged.add("wal_2")
    world.write("wal_0", 30)
    world.live(lambda: world.runs(2) and world.target.topics["wal_0"].log.end == 70)
    assert sorted(names_of(world.requests()[1])) == ["wal_0", "wal_1"]
    world.target.offline = set()
    world.live(lambda: world.runs(3) and world.target.topics["wal_3"].log.end == 8)


def test_a_topic_that_cannot_be_made_keeps_no_other_from_being_copied_on() -> None:
    a_topic_that_cannot_be_made()


def a_partition_that_is_refused() -> None:
    """Of the progress of rows, for a topic that the pool got; then somebody deletes the application."""
    world = RecordsWorld()
    world.streaming()
    honest = world.target.add_partitions

    def refuse(_: Any) -> None:
        raise Refused("Kafka refused topic progress: Policy violation")

    world.target.add_partitions = refuse  # type: ignore[assignment, method-assign]
    world.grow("wal_3")
    world.live(ticks=20)
    assert "Policy violation" in why(world.subscription())[1]
    world.spark.applications.clear()
    world.live(lambda: world.runs(1))
    world.target.add_partitions = honest  # type: ignore[method-assign]
    world.live(lambda: world.runs(2) and world.is_even())
    assert world.rows_of("wal_3") == list(range(8))


def test_a_partition_of_the_progress_that_is_refused_keeps_no_rows_from_being_handed_on() -> None:
    a_partition_that_is_refused()


def a_topic_that_is_refused_from_the_beginning() -> None:
    """By a policy of the target: the others are copied all the same, and an edit counts."""
    world = SubscriptionWorld()
    world.target.refuse = lambda topic, _config, _value: "a policy" if topic == "wal_1" else None
    world.subscribe()
    found = world.live(lambda: world.runs(1) and world.target.topics["wal_2"].log.end == 40)
    assert "a policy" in why(found)[1]
    assert sorted(names_of(world.requests()[0])) == ["wal_0", "wal_2"]
    world.subscribe(spark={"executors": 3})
    world.live(lambda: world.runs(2))
    world.target.refuse = lambda _topic, _config, _value: None
    world.live(lambda: world.runs(3) and world.is_even())


def test_a_topic_that_the_target_refuses_from_the_beginning_keeps_no_other_from_being_copied() -> None:
    a_topic_that_is_refused_from_the_beginning()


MUTANTS: tuple[Mutant, ...] = (
    (rewritten(decide, "_copy", "_of_those_begun(case) if is_meant", "None if is_meant"), a_topic_that_cannot_be_made),
    (rewritten(decide, "_copy", "_of_those_begun(case) if is_meant", "None if is_meant"), a_partition_that_is_refused),
    (
        rewritten(decide, "_copy", "_of_those_begun(case) if is_meant", "None if is_meant"),
        a_topic_that_is_refused_from_the_beginning,
    ),
    (
        rewritten(decide, "_copy", "records is None or topics.is_recorded(case, records)", "True"),
        rows.test_a_record_without_rows_stops_its_topic_until_there_are_dead_letters,
    ),
    (
        rewritten(targets, "prepare", "if begun:", "if begun and not missing:"),
        a_topic_that_is_refused_from_the_beginning,
    ),
    (rewritten(running, "run", "wait_for_others(case) or ", ""), a_leader_that_comes_a_moment_later),
    (rewritten(running, "run", "wait_for_others(case) or ", ""), an_edit_meanwhile),
    (
        rewritten(
            beginning,
            "wait_for_others",
            "if seconds < SUBSCRIPTION_BEGINS_TOGETHER_SECONDS",
            "if seconds >= 0",
            running,
            decide,
        ),
        a_leader_that_never_comes,
    ),
    (
        rewritten(beginning, "_since", "awaits <= before.awaits", "awaits == before.awaits"),
        a_ledger_that_comes_and_goes,
    ),
)


@pytest.mark.timeout(600)
def test_each_guard_of_a_common_beginning_is_missed_by_a_story() -> None:
    assert not find_survivors(MUTANTS)
