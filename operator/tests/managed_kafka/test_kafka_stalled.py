"""A node whose restart is Stalled stands in nobody's way for ever: it may be taken out, and others mended."""

from __future__ import annotations

import copy

import pytest

from seawall.api.v1alpha1.disruption import DisruptionKind
from tests.worlds.kafka_whole_world import WholeWorld
from tests.worlds.managed_world import WAL

FOUR_BROKERS = WholeWorld().brought_up(brokers=4)
FIVE_CONTROLLERS = WholeWorld().brought_up(controllers=5)


@pytest.fixture
def four() -> WholeWorld:
    return copy.deepcopy(FOUR_BROKERS)


@pytest.fixture
def five() -> WholeWorld:
    return copy.deepcopy(FIVE_CONTROLLERS)


def test_a_broker_whose_restart_is_stalled_is_taken_out(four: WholeWorld) -> None:
    four.stalls(3)
    four.pools(brokers=3)
    four.live(ticks=1_000, until=four.is_whole)
    assert four.entry() is None
    assert four.removed() == {3}
    assert sorted(four.objects.pods[WAL]) == [0, 1, 2, 100, 101, 102]


def test_a_controller_whose_restart_is_stalled_is_taken_out(five: WholeWorld) -> None:
    five.stalls(104)
    five.pools(controllers=3)
    five.live(ticks=1_500, until=five.is_whole)
    assert five.entry() is None
    assert five.removed() == {103, 104}
    assert set(five.votes()) == {100, 101, 102}


def test_whoever_is_declared_again_before_its_stop_is_restarted_as_before(four: WholeWorld) -> None:
    four.stalls(3)
    restart, evicted = four.entry(), list(four.evicted)
    assert restart is not None
    four.pools(brokers=3)
    four.live(until=lambda: (entry := four.entry()) is not None and entry.kind == DisruptionKind.KAFKA_NODE_REMOVAL)
    assert 3 not in four.stopped
    four.pools(brokers=4)
    four.live(ticks=20)
    again = four.entry()
    assert again is not None
    assert (again.kind, again.uid, again.gone_time) == (restart.kind, restart.uid, restart.gone_time)
    assert four.removal() is None
    assert four.evicted == evicted, "no other goes while it is away"
    four.held.clear()
    four.live(ticks=1_000, until=four.is_whole)
    assert 3 in four.objects.pods[WAL]


def test_a_restart_whose_pod_is_still_there_is_waited_for(four: WholeWorld) -> None:
    four.pools(brokers=3)
    four.live(until=lambda: "looked at once more" in (four.condition() or ("", "", ""))[2])
    four.disrupt(DisruptionKind.KAFKA_NODE_RESTART, "wal-3-0")
    four.rolls = False
    four.live(ticks=60)
    assert four.restarts() == "wal-3-0"
    removal = four.removal()
    assert removal is not None
    assert removal.message.endswith(
        "status.disruption has KafkaNodeRestart of wal-3-0, and two disruptions cannot stand"
    )
    assert 3 not in four.stopped
