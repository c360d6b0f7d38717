"""A node whose restart is Stalled stands in nobody's way for ever: it may be taken out, and others mended."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from seawall.api.meta import Key
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind
from seawall.api.v1alpha1.managed_kafka_status import RemovalStage
from seawall.api.v1alpha1.rollout import RollStage, RollStatus
from seawall.domain.kafka_nodes.reasons import KafkaBlocker
from seawall.domain.ledger.restarts import ENDED_BY_MOVES, pod_that_restarts
from seawall.domain.managed_kafka.case import Case
from seawall.domain.managed_kafka.found import FoundPod
from seawall.domain.managed_kafka.objects import ObjectKind, budgets
from tests.worlds.kafka_whole_world import BROKER_POOL, CONTROLLER_POOL, WholeWorld
from tests.worlds.managed_world import WAL

BROUGHT_UP = WholeWorld().brought_up()
FOUR_BROKERS = WholeWorld().brought_up(brokers=4)
ONE_CONTROLLER = WholeWorld(first=1).brought_up(controllers=1)
FIVE_CONTROLLERS = WholeWorld().brought_up(controllers=5)


@pytest.fixture
def world() -> WholeWorld:
    return copy.deepcopy(BROUGHT_UP)


@pytest.fixture
def four() -> WholeWorld:
    return copy.deepcopy(FOUR_BROKERS)


@pytest.fixture
def one() -> WholeWorld:
    return copy.deepcopy(ONE_CONTROLLER)


@pytest.fixture
def five() -> WholeWorld:
    return copy.deepcopy(FIVE_CONTROLLERS)


def is_found_empty(world: WholeWorld) -> bool:
    """Once: what is to be taken out has nothing on it."""
    return "looked at once more" in (world.condition() or ("", "", ""))[2]


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


def test_a_restart_that_has_not_begun_and_a_broker_that_is_lost_do_not_wait_for_each_other(four: WholeWorld) -> None:
    """Its gate shuts as another machine goes for good, and the journal keeps it: that broker is taken out beside it."""
    four.annotate(restart_kafka="1")
    four.live(until=lambda: four.restarts() == "wal-1-0")
    four.holds(3)
    begun = four.entry()
    assert begun is not None
    assert begun.gone_time is None
    four.pools(brokers=3)
    four.live(ticks=1_000, until=lambda: (left := four.removal()) is not None and left.stage is RemovalStage.STOPPING)
    assert four.entry() == begun, "it is never taken back"
    assert 1 not in four.evicted
    four.live(ticks=1_500, until=four.is_whole)
    assert four.removed() == {3}
    assert four.evicted.count(1) == 1


def test_a_restart_that_has_not_begun_and_a_controller_that_leaves_and_is_lost_do_not_wait_for_each_other(
    five: WholeWorld,
) -> None:
    """It still has its vote: that goes beside the restart, whose gate waits for all who vote."""
    five.annotate(restart_kafka="1")
    five.live(ticks=1_000, until=lambda: five.restarts() == "wal-1-0")
    five.holds(104)
    begun = five.entry()
    assert begun is not None
    assert begun.gone_time is None
    five.pools(controllers=3)
    five.live(ticks=1_000, until=lambda: 104 not in five.votes())
    assert five.entry() == begun, "it is never taken back"
    five.live(ticks=1_500, until=five.is_whole)
    assert five.removed() == {103, 104}


def test_a_controller_that_runs_keeps_its_vote_beside_a_restart_that_has_not_begun(five: WholeWorld) -> None:
    five.disrupt(DisruptionKind.KAFKA_NODE_RESTART, "wal-1-0")
    five.rolls = False
    five.pools(controllers=3)
    five.live(ticks=60)
    assert five.restarts() == "wal-1-0"
    assert set(five.votes()) == {100, 101, 102, 103, 104}


@pytest.mark.parametrize("reason", KafkaBlocker)
@pytest.mark.parametrize("has_gone", [False, True])
def test_what_moves_may_end_keeps_none_from_beginning_before_the_pod_goes(
    four: WholeWorld, reason: KafkaBlocker, *, has_gone: bool
) -> None:
    """While they are under way partitions are not fully in sync: by that none begins, or the restart waits for all."""
    four.disrupt(DisruptionKind.KAFKA_NODE_RESTART, "wal-1-0")
    entry, managed = four.entry(), four.found().status.managed_kafka
    assert entry is not None
    assert managed is not None
    entry = entry.model_copy(update={"gone_time": four.time.time if has_gone else None})
    managed = managed.model_copy(update={"roll": RollStatus(stage=RollStage.RESTARTING, reason=reason.value)})
    status = four.found().status.model_copy(update={"disruption": entry, "managed_kafka": managed})
    ended = {
        KafkaBlocker.VOLUME_GOES,
        KafkaBlocker.NODE_NOT_ONLINE,
        KafkaBlocker.WOULD_STOP_WRITES,
        KafkaBlocker.ONLY_REPLICA,
    }
    assert {each.value for each in ended} == ENDED_BY_MOVES
    assert (pod_that_restarts(status) is None) == (reason in ended and not has_gone)


def test_a_broker_that_runs_is_not_stopped_beside_a_restart_that_has_not_begun(four: WholeWorld) -> None:
    four.pools(brokers=3)
    four.live(until=partial(is_found_empty, four))
    four.disrupt(DisruptionKind.KAFKA_NODE_RESTART, "wal-1-0")
    four.rolls = False
    four.live(ticks=60)
    assert four.restarts() == "wal-1-0"
    assert 3 not in four.stopped


@pytest.mark.parametrize("runs", [True, False])
def test_a_controller_is_stopped_beside_a_restart_that_has_not_begun_if_it_is_down(
    five: WholeWorld, *, runs: bool
) -> None:
    """It has no vote any more, and no registration: what tells is its pod."""
    five.pools(controllers=3)
    five.live(until=lambda: five.entry() is None and is_found_empty(five))
    assert 104 not in five.votes()
    five.disrupt(DisruptionKind.KAFKA_NODE_RESTART, "wal-1-0")
    five.rolls = False
    if not runs:
        five.holds(104)
    five.live(ticks=60)
    assert five.restarts() == "wal-1-0"
    assert 104 not in five.stopped or not runs
    assert five.removed() == (set() if runs else {104})


@pytest.mark.parametrize("change", ["", "is_terminating", "is_started", "is_ready"])
def test_a_controller_is_down_by_what_shuts_the_gate_of_restarts(five: WholeWorld, change: str) -> None:
    """Of a machine that is gone the kubelet's last word stays: its container runs."""
    waits = "two disruptions cannot stand"
    five.pools(controllers=3)
    five.live(until=lambda: five.entry() is None and is_found_empty(five))
    five.disrupt(DisruptionKind.KAFKA_NODE_RESTART, "wal-1-0")
    five.rolls = False
    five.live(until=lambda: waits in (five.condition() or ("", "", ""))[2])
    controller, cluster = five.remover().controller, five.found()
    observed = controller.observe(cluster)
    assert isinstance(observed.case, Case)
    pods = observed.case.observed.found.pods
    changed: dict[str, Any] = {change: not getattr(pods[104], change)} if change else {}
    pod = replace(pods[104], **changed)
    found = replace(observed.case.observed.found, pods={**pods, 104: pod})
    case = replace(observed.case, observed=replace(observed.case.observed, found=found))
    long = {104: timedelta(days=1)}  # another process has not seen it empty yet
    message = controller.decide(cluster, replace(observed, case=case, empty_for=long)).verdict.message
    assert (waits in message) == (change == "")


@pytest.mark.parametrize("kind", [DisruptionKind.KAFKA_NODE_RESTART, DisruptionKind.KAFKA_NODE_REMOVAL])
@pytest.mark.parametrize(("ago", "is_late"), [(None, False), (600, False), (601, True)])
def test_a_pod_that_ends_beside_an_old_entry_of_another_is_late_by_its_own_time(
    four: WholeWorld, ago: int | None, *, is_late: bool, kind: DisruptionKind
) -> None:
    four.pools(brokers=3)
    four.live(until=lambda: 3 in four.stopped)
    controller, cluster = four.remover().controller, four.found()
    observed = controller.observe(cluster)
    assert isinstance(observed.case, Case)
    now = observed.case.observed.time.shared
    day = now - timedelta(days=1)
    entry = Disruption(kind=kind, name="wal-1-0", uid="uid", start_time=day, budget_seconds=60)
    cluster = replace(cluster, status=cluster.status.model_copy(update={"disruption": entry}))
    gone_by = None if ago is None else now - timedelta(seconds=ago)
    pod = FoundPod(3, "wal-3-0", "uid", is_terminating=True, gone_by=gone_by)
    found = replace(observed.case.observed.found, pods={**observed.case.observed.found.pods, 3: pod})
    case = replace(observed.case, cluster=cluster, observed=replace(observed.case.observed, found=found))
    message = controller.decide(cluster, replace(observed, case=case)).verdict.message
    assert ("kubectl delete pod wal-3-0 --force" in message, message == "its pod ends") == (is_late, not is_late)


def test_a_restart_whose_pod_is_still_there_is_waited_for(four: WholeWorld) -> None:
    four.pools(brokers=3)
    four.live(until=partial(is_found_empty, four))
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


def test_the_only_controller_that_an_edit_broke_is_mended_by_an_edit(one: WholeWorld) -> None:
    one.answer_for_it()
    one.breaks(CONTROLLER_POOL)
    one.live(ticks=800, until=lambda: one.roll().stage is RollStage.STALLED)
    assert one.restarts() == "wal-100-0"
    one.give_options(CONTROLLER_POOL)
    one.live(ticks=200, until=one.is_whole)
    assert one.is_as_declared()


def test_a_budget_that_was_made_before_lets_the_only_one_go(one: WholeWorld) -> None:
    place = (ObjectKind.BUDGET, Key(WAL.namespace, "wal-kafka-controllers"))
    old = next(budgets(WAL, one.nodes[:3]))
    before = replace(old, name=place[1].name, body={"spec": {**old.body["spec"], "minAvailable": 0}})
    one.objects.change_budget(one.objects.meta[place], WAL.namespace, before)
    one.live(ticks=20)
    assert one.objects.made[place].body["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_what_a_budget_keeps_although_it_does_not_run_is_told_with_what_lets_it_go(world: WholeWorld) -> None:
    world.answer_for_it()
    world.breaks(CONTROLLER_POOL)
    world.live(ticks=800, until=lambda: world.roll().stage is RollStage.STALLED)
    (node,) = (each for each in (100, 101, 102) if world.restarts() == f"wal-{each}-0")
    other = next(each for each in (100, 101, 102) if each != node)
    world.held.add(other)
    world.crash(other)
    world.give_options(CONTROLLER_POOL)
    world.live(ticks=60)
    assert f"so it may go all the same: kubectl delete pod wal-{node}-0 -n db" in world.roll().message
    world.kill(node)
    world.returns(other)
    world.live(ticks=400, until=world.is_whole)


def follower(world: WholeWorld) -> int:
    """One that does not lead."""
    return next(each for each in (102, 101) if each != world.leads)


def test_a_lost_disk_of_a_controller_is_replaced_beside_a_broker_whose_restart_is_stalled(world: WholeWorld) -> None:
    world.stalls(0)
    entry, lost = world.entry(), follower(world)
    world.lose_disk(lost)
    world.live(ticks=200)
    assert set(world.votes()) == world.living() == {100, 101, 102}
    assert world.entry() == entry
    world.held.clear()
    world.live(ticks=1_500, until=world.is_whole)


def test_a_restart_that_is_in_time_is_waited_for(world: WholeWorld) -> None:
    world.annotate(restart_kafka="1")
    world.live(until=lambda: world.restarts() == "wal-0-0")
    world.held.add(0)
    lost = follower(world)
    world.lose_disk(lost)
    disk = world.votes()[lost]
    world.live(ticks=40)
    assert world.votes().get(lost) == disk
    assert world.restarts() == "wal-0-0"
    change = world.change()
    assert change is not None
    assert "status.disruption has KafkaNodeRestart of wal-0-0, and two disruptions cannot stand" in change.message


def test_a_restart_that_has_not_begun_and_a_lost_disk_do_not_wait_for_each_other(world: WholeWorld) -> None:
    world.annotate(restart_kafka="1")
    world.live(until=lambda: world.restarts() != "")
    begun = world.entry()
    assert begun is not None
    assert begun.gone_time is None
    others = {100, 101, 102} - {world.leads, int(begun.name.split("-")[1])}
    world.lose_disk(others.pop())
    world.live(ticks=300, until=lambda: world.restarts() != begun.name)
    world.live(ticks=1_500, until=world.is_whole)


def test_votes_of_who_joins_wait_for_every_restart(world: WholeWorld) -> None:
    world.stalls(0)
    world.pools(controllers=5)
    world.live(ticks=200)
    assert set(world.votes()) == {100, 101, 102}
    world.held.clear()
    world.live(ticks=2_000, until=world.is_whole)
    assert set(world.votes()) == {100, 101, 102, 103, 104}


def test_a_broker_that_is_down_does_not_wait_for_a_controller_that_is(world: WholeWorld) -> None:
    world.breaks(BROKER_POOL)
    world.live(ticks=800, until=lambda: world.roll().stage is RollStage.STALLED)
    down = follower(world)
    world.holds(down)
    world.give_options(BROKER_POOL)
    world.live(ticks=40)
    world.answer_for_it()
    node = world.restarts()
    world.live(ticks=400, until=lambda: world.restarts() != node)
    world.returns(down)
    world.live(ticks=1_500, until=world.is_whole)
