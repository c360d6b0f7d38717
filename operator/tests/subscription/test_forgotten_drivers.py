"""The Spark Operator has begun an application anew, and could not write it down: an hour of chaos found this."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.spark_job import application
from seawall.domain.spark_job.application import RERUN, Ended, Works
from seawall.domain.subscription import forgotten, published, running, standing
from seawall.domain.times import SUBSCRIPTION_TRIES_AGAIN
from tests.subscription.test_subscription import condition
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.subscription_world import DR, SubscriptionWorld

FIRST = replace(DR, name="dr-1")


def left_alone() -> SubscriptionWorld:
    """Its word for good is that of before; the driver works."""
    world = SubscriptionWorld()
    world.streaming()
    world.spark_operator_runs = False
    world.spark.report(FIRST, RERUN, driver=Works())
    return world


def test_a_driver_that_works_copies_whatever_the_spark_operator_says() -> None:
    found = left_alone().live(ticks=20)
    assert found.status.state is SubscriptionState.STREAMING
    assert condition(found, ConditionType.STREAMING) == ("True", "Streaming")


def test_a_driver_that_nobody_begins_anew_is_replaced_after_a_while() -> None:
    world = left_alone()
    ended_at = world.time.time
    world.spark.report(FIRST, RERUN, driver=Ended(1, "", ended_at))
    world.live(lambda: world.time.time > ended_at + SUBSCRIPTION_TRIES_AGAIN - timedelta(seconds=30))
    assert len(world.spark.made) == 1
    found = world.live(lambda: len(world.spark.made) == 2)
    assert condition(found, ConditionType.STREAMING)[0] == "False"
    world.spark_operator_runs = True
    world.live(world.is_even)


def test_a_driver_that_ended_by_a_clock_that_is_ahead_is_replaced_all_the_same() -> None:
    world = left_alone()
    ended_at = world.time.time
    world.spark.report(FIRST, RERUN, driver=Ended(1, "", ended_at + timedelta(days=1)))
    world.live(lambda: len(world.spark.made) == 2)
    assert world.time.time < ended_at + 2 * SUBSCRIPTION_TRIES_AGAIN


def test_who_makes_the_next_driver_is_given_time() -> None:
    world = left_alone()
    world.spark.report(FIRST, RERUN, driver=Ended(1, "", world.time.time))
    world.live(ticks=20)
    world.spark_operator_runs = True
    world.spark.report(FIRST, "RUNNING", driver=Works(), executors=("RUNNING",))
    world.live(world.is_even)
    assert world.spark.made == [FIRST]


def test_the_guards_are_missed() -> None:
    works = (
        test_a_driver_that_works_copies_whatever_the_spark_operator_says,
        test_a_driver_that_nobody_begins_anew_is_replaced_after_a_while,
    )
    users = (running, standing, published)
    mutants = (
        (rewritten(application, "works", "isinstance(driver, Works)", "False", *users), works[0]),
        (rewritten(forgotten, "begin_anew", "application.state != RERUN", "True", running), works[1]),
        (rewritten(forgotten, "begin_anew", "case.now < driver", "False and case.now < driver", running), works[1]),
        (
            rewritten(forgotten, "begin_anew", "not is_ahead and ", "", running),
            test_a_driver_that_ended_by_a_clock_that_is_ahead_is_replaced_all_the_same,
        ),
    )
    assert find_survivors(list(mutants)) == []
