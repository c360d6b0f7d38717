"""What keeps another run from being begun does not end the one that copies: it goes on, and people read why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from seawall.api.meta import Condition
from seawall.domain.conditions import ConditionBuilder, Outlook, Verdict
from tests.worlds.subscription_world import DR, SubscriptionWorld
from tests.worlds.verification_world import why

Deed = Callable[[SubscriptionWorld], None]


def is_paused(world: SubscriptionWorld) -> None:
    world.annotate(paused="true")


def goes_on(world: SubscriptionWorld) -> None:
    world.annotate()


def is_stalled(world: SubscriptionWorld) -> None:
    _judge(world, Verdict(Outlook.STALLED, "TopicMissing", "a topic is gone"))


def is_ready(world: SubscriptionWorld) -> None:
    _judge(world, Verdict(Outlook.READY, "Ready", ""))


def forgets_producers(world: SubscriptionWorld) -> None:
    world.target.broker_configs["connections.max.idle.ms"] = "-1"
    world.live(ticks=30)  # brokers are asked once a minute


def remembers_them(world: SubscriptionWorld) -> None:
    world.target.broker_configs["connections.max.idle.ms"] = "600000"


def is_not_allowed(world: SubscriptionWorld) -> None:
    world.subscribe(spark={"image": "mine:1"})


def is_allowed(world: SubscriptionWorld) -> None:
    world.subscribe(spark={"memory": "2Gi"})


def _judge(world: SubscriptionWorld, verdict: Verdict) -> None:
    cluster = world.cluster()
    build = ConditionBuilder(cluster.status.conditions, cluster.metadata.generation, world.time.now())
    own: tuple[Condition, ...] = build.kstatus(verdict)
    others = tuple(each for each in cluster.status.conditions if each.type not in {one.type for one in own})
    world.kube.replace_status(cluster, cluster.status.model_copy(update={"conditions": (*own, *others)}))


BLOCKERS: tuple[tuple[Deed, Deed, str], ...] = (
    (is_paused, goes_on, "Paused"),
    (is_stalled, is_ready, "ClusterStalled"),
    (forgets_producers, remembers_them, "TargetUnsafe"),
    (is_not_allowed, is_allowed, "SparkNotAllowed"),
)


def another_run_must_not_begin(stop: Deed, go_on: Deed, reason: str) -> None:
    world = SubscriptionWorld()
    world.streaming()
    process = world.subscriber()
    world.live(world.is_even, process)
    stop(world)
    spark = world.kube._objects["WALSubscription", DR]["spec"].get("spark", {})
    world.subscribe(spark={**spark, "memory": "2Gi"})
    world.write("wal_0", 30)
    found = world.live(process=process, ticks=60)
    assert world.runs(1), "nothing copies"
    assert world.target.topics["wal_0"].log.end == 70
    assert why(found)[0] == reason
    go_on(world)
    world.live(lambda: world.runs(2), process)


def its_size_is_edited_while_it_is_paused() -> None:
    another_run_must_not_begin(*BLOCKERS[0])


@pytest.mark.parametrize(("stop", "go_on", "reason"), BLOCKERS)
def test_what_keeps_another_run_from_being_begun_does_not_end_the_one_that_copies(
    stop: Deed, go_on: Deed, reason: str
) -> None:
    another_run_must_not_begin(stop, go_on, reason)
