"""What waits for a person, or for a WALCluster, is said all the time: no condition changes to and fro."""

from __future__ import annotations

import pytest

from seawall.domain.subscription import decide
from seawall.domain.subscription.case import Case, SubscriptionDecision
from seawall.domain.subscription.logs import LogsNow
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
