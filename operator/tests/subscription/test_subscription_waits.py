"""What waits for a person, or for a WALCluster, is said all the time: no condition changes to and fro."""

from __future__ import annotations

import pytest

from seawall.api.meta import ConditionType
from seawall.api.v1alpha1.subscription_status import SubscriptionState
from seawall.domain.subscription import decide
from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.logs import LogsNow
from seawall.domain.times import SUBSCRIPTION_MOVES_HOLD
from tests.subscription.test_promotion import behind, promotion_of
from tests.subscription.test_subscription import condition
from tests.worlds.purge_world import CLUSTER, WAL
from tests.worlds.subscription_world import SubscriptionWorld
from tests.worlds.verification_world import why


def test_configs_that_may_not_be_set_are_said_at_each_look_and_not_only_when_they_are_read() -> None:
    """They are read once a minute: between two such looks nothing seemed to wait (day 12 of the simulation)."""
    world = SubscriptionWorld()
    world.streaming()
    process = world.subscriber()
    world.live(world.is_even, process)
    edited = {**world.spec(), "topics": {**CLUSTER["topics"], "maxMessageBytes": "2Mi"}}
    world.kube.apply(WAL, edited, annotations={"seawall.dev/paused": "true"})
    said = [why(world.live(process=process, ticks=1))[0] for _ in range(80)]
    world.kube.apply(WAL, edited)
    world.live(lambda: why(world.subscription())[0] == "Streaming", process)
    sizes = {topic.configs["max.message.bytes"] for topic in world.target.topics.values()}
    first = said.index("Paused")
    assert (set(said[first:]), sizes) == ({"Paused"}, {"2097152"})


def configs_are_read_when_the_hold_moves() -> None:
    """Both are due at once, and would stay so: a hold of a busy log moves each half minute, configs are read each."""
    world = SubscriptionWorld()
    world.streaming()
    world.write("wal_0", 5)
    world.run_spark()
    world.time.time += SUBSCRIPTION_MOVES_HOLD
    world.target.topics["wal_0"].configs["retention.ms"] = "3600000"
    process, before = world.subscriber(), moves_of(world)
    world.live(process=process, ticks=1)
    assert moves_of(world) == before + 1
    world.live(process=process, ticks=6)
    assert world.target.topics["wal_0"].configs["retention.ms"] == "-1"


def moves_of(world: SubscriptionWorld) -> int:
    return [event.reason for event in world.kube.events].count("HoldMoved")


def test_configs_that_are_read_in_the_same_look_in_which_the_hold_moves_are_compared_all_the_same() -> None:
    configs_are_read_when_the_hold_moves()


def test_a_look_is_decided_once_also_when_configs_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    world = SubscriptionWorld()
    world.streaming()
    controller, decided, go_on = world.subscriber().controller, list[Case](), decide._go_on

    def counted(case: Case) -> SubscriptionDecision:
        decided.append(case)
        return go_on(case)

    monkeypatch.setattr(decide, "_go_on", counted)
    obj = world.subscription()
    for had_configs in (True, False):
        observed = controller.observe(obj)
        assert isinstance(observed.target, LogsNow)
        assert bool(observed.target.configs) is had_configs
        controller.decide(obj, observed)
    assert len(decided) == 2


def a_switchover_waits_while_suspend_is_set() -> None:
    """That is nothing to be content with: it would wait for ever."""
    world = behind()
    world.subscribe(suspend=True, promote="Switchover")
    found = world.live(ticks=60)
    assert condition(found, ConditionType.STALLED) == ("True", "CannotPromote")
    assert why(found)[1] == (
        "promote: Switchover waits until the target has all of the source, and suspend is set: take that back"
    )
    world.stride = 25
    world.subscribe(suspend=False)
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.PROMOTED)
    assert promotion_of(found).lost_entries == 0


def test_a_switchover_waits_while_suspend_is_set() -> None:
    a_switchover_waits_while_suspend_is_set()


def test_a_failover_waits_for_nothing_that_suspend_keeps_from_being_copied() -> None:
    world = behind()
    world.subscribe(suspend=True, promote="Failover")
    found = world.live(lambda: world.subscription().status.state is SubscriptionState.PROMOTED)
    assert promotion_of(found).lost_entries == 9


def a_switchover_waits_while_a_topic_has_stopped() -> None:
    """It waits for the others, and says so."""
    world = behind()
    world.recreate("wal_1")
    world.live(lambda: any(row.stopped for row in world.subscription().status.topics))
    assert why(world.live(ticks=30))[0] == "TopicsStopped"
    world.subscribe(promote="Switchover")
    found = world.live(lambda: why(world.subscription())[0] == "WaitingForCopy")
    assert found.status.state is SubscriptionState.STOPPED
    world.stride = 25
    world.live(lambda: world.subscription().status.state is SubscriptionState.PROMOTED)


def test_a_switchover_waits_while_a_topic_has_stopped() -> None:
    a_switchover_waits_while_a_topic_has_stopped()
