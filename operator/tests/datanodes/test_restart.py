"""Restarts of datanodes as people see them: what is asked for, what waits and why, and what is said meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from seawall.api.meta import MAINTENANCE_FINALIZER, ConditionType, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.purge import FrozenTargets, Stage, WALPurge, WALPurgeStatus
from seawall.api.v1alpha1.rollout import RollStage
from seawall.controllers.datanodes import RestartController
from seawall.domain.conditions import find_condition
from seawall.domain.dataplane.flush import FLUSH_BATCH, FlushFailure
from seawall.domain.decision import settle
from seawall.domain.errors import Conflict
from seawall.domain.kubernetes import ConfigMap
from seawall.domain.ledger.restarts import claims_of
from seawall.domain.partitions import PartitionId
from seawall.domain.rollout.actions import Evict
from seawall.domain.rollout.workload import Termination, UpdateStrategy
from seawall.domain.rollout_reasons import Blocker
from seawall.domain.step import Act
from tests.fakes.dataplane import FakeDataPlane
from tests.fakes.kafka_moves import advance
from tests.fakes.kafka_reassigner import FakeReassigner
from tests.support.watched import watched
from tests.worlds.purge_world import Calls
from tests.worlds.restart_world import DATANODES, NAMESPACE, SET, TOPICS, WAL, World

ALL = [f"datanode-{number}" for number in range(DATANODES)]


def asked() -> World:
    """Somebody asked for a restart of all datanodes."""
    world = World()
    world.settle()
    world.annotate(restart="monday")
    return world


def test_nobody_is_restarted_without_being_asked_and_the_datanodes_are_well() -> None:
    world = World()
    world.settle()
    assert world.went == []
    assert (world.health().status, world.health().reason) == ("True", "Serving")
    assert [row.pod for row in world.restart().datanodes] == ALL


def test_an_annotation_restarts_all_datanodes_one_by_one_and_gives_maintenance_back() -> None:
    world = asked()
    before = world.uids()
    world.settle()
    assert sorted(world.went) == ALL
    assert not set(before.values()) & set(world.uids().values())
    status = world.restart()
    assert (status.stage, status.restarted, status.done_request) == (RollStage.COMPLETED, 3, "monday")
    assert not world.data_plane.maintenance
    assert world.cluster().metadata.finalizers == ()
    assert any(line.startswith("Completed: restarted 3") for line in world.lines)


def test_a_value_that_was_done_restarts_nobody_again_and_a_new_one_does() -> None:
    world = asked()
    world.settle()
    world.settle()
    assert len(world.went) == 3
    world.annotate(restart="tuesday")
    world.settle()
    assert len(world.went) == 6


def test_regions_are_flushed_before_their_datanode_goes_and_asked_once() -> None:
    world = asked()
    world.settle(until=lambda: len(world.went) == 1)
    number = int(world.went[0][-1])
    assert all(not region.memtable_bytes for region in world.data_plane.regions.values() if region.datanode == number)
    assert len([line for line in world.lines if line.startswith("FlushAsked")]) == 1


@pytest.mark.parametrize("busy", [False, True], ids=["they flush", "none can"])
def test_regions_are_asked_to_flush_a_few_at_a_time_and_all_of_them(*, busy: bool) -> None:
    """A tick waits for their answers: of a thousand it would hang for so long that the operator is restarted."""
    world = asked()
    for number in range(2 * FLUSH_BATCH + 5):
        world._add_region(TOPICS[0], 9_000 + number, datanode=0)
    if busy:
        world.data_plane.busy |= set(world.data_plane.regions)
    batches: list[Sequence[int]] = []
    honest = FakeDataPlane.flush_regions

    def counted(plane: FakeDataPlane, regions: Sequence[int]) -> Mapping[int, FlushFailure]:
        batches.append(regions)
        return honest(plane, regions)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeDataPlane, "flush_regions", counted)
        waits(world, seconds=60)
    assert max(map(len, batches)) == FLUSH_BATCH
    assert {region for batch in batches for region in batch} >= set(range(9_000, 9_000 + 2 * FLUSH_BATCH + 5))
    if not busy:
        assert sum(map(len, batches)) == len({region for batch in batches for region in batch}), "each of them once"


def test_a_missing_in_sync_replica_keeps_all_datanodes_up_and_the_status_says_so() -> None:
    world = asked()
    lag(world)
    world.settle(until=lambda: world.restart().reason == "NotFullyInSync")
    waits(world)
    assert world.went == []
    assert "has 2 of 3" in world.restart().message
    assert any(line.startswith("NotFullyInSync") for line in world.lines)
    assert not world.data_plane.maintenance
    lag(world, lags=False)
    world.settle()
    assert sorted(world.went) == ALL


def test_a_person_lets_a_restart_through_and_an_event_says_why() -> None:
    world = asked()
    lag(world)
    until = (world.time.now() + timedelta(hours=1)).isoformat()
    world.annotate(override_restart_gate=f"broker 3 is lost@{until}")
    world.settle()
    assert sorted(world.went) == ALL
    assert any(line.startswith("RestartOverridden") and "broker 3 is lost" in line for line in world.lines)


def test_a_broken_wal_keeps_the_datanode_up_by_what_this_very_look_found() -> None:
    world = asked()
    world.kafka.topics[TOPICS[0]].log.log_start = 90
    world.settle(until=lambda: world.restart().reason == "WALNotIntact")
    waits(world)
    assert world.went == []


def test_nothing_is_restarted_while_it_is_paused() -> None:
    world = asked()
    world.annotate(paused="true")
    waits(world)
    assert world.went == []
    assert world.restart().reason == "Paused"
    world.annotate(paused=None)
    world.settle()
    assert sorted(world.went) == ALL


def test_replicas_that_are_moved_are_waited_for() -> None:
    world = asked()
    world.kafka.brokers = (1, 2, 3, 4)
    assert FakeReassigner(world.kafka).reassign({PartitionId(topic, 0): (1, 2, 4) for topic in TOPICS}) == {}
    waits(world)
    assert world.went == []
    assert world.restart().reason in {"ReassignmentOngoing", "NotFullyInSync"}
    advance(world.kafka, len(TOPICS))
    world.settle()
    assert sorted(world.went) == ALL


def test_another_datanode_that_is_down_keeps_the_others_up() -> None:
    world = asked()
    world.crashing.add(1)
    world.end_pod(1)
    world.went.clear()
    waits(world)
    assert set(world.went) == {"datanode-1"}
    health = world.health()
    assert (health.status, health.reason) == ("False", "OffsetOutOfRange")
    assert "datanode-1" in health.message


def test_a_pod_that_was_asked_for_waits_while_another_datanode_is_down() -> None:
    world = World()
    world.settle()
    world.datanodes.report(SET, 1, ready=False)
    world.data_plane.stopped.add(1)
    pod = Key(NAMESPACE, "datanode-2")
    world.datanodes.running[pod] = replace(world.datanodes.running[pod], restart="please")
    waits(world)
    assert world.went == []
    assert world.restart().reason == "AnotherDatanodeDown"
    world.datanodes.report(SET, 1, ready=True)
    world.data_plane.stopped.discard(1)
    world.settle()
    assert world.went == ["datanode-2"]


def test_regions_that_cannot_flush_are_asked_now_and_then_and_replayed_in_the_end() -> None:
    world = asked()
    world.data_plane.busy |= set(world.data_plane.regions)
    waits(world, seconds=60)
    assert world.went == []
    assert 3 <= len([line for line in world.lines if line.startswith("FlushFailed")]) <= 7
    waits(world, seconds=120)
    assert len(world.went) >= 1


def test_a_pod_disruption_budget_is_obeyed_and_its_sentence_is_told() -> None:
    world = asked()
    world.datanodes.forbids = "Cannot evict pod as it would violate the pod's disruption budget."
    world.settle(until=lambda: world.restart().reason == "DisruptionBudget")
    waits(world)
    assert world.went == []
    assert "disruption budget" in world.restart().message
    world.datanodes.forbids = None
    world.settle()
    assert sorted(world.went) == ALL


def test_a_datanode_that_does_not_come_back_stalls_the_roll_and_gives_maintenance_back() -> None:
    world = asked()
    world.crashing |= {0, 1, 2}
    world.settle(until=lambda: world.restart().stage is RollStage.STALLED)
    waits(world, seconds=60)
    assert len(world.went) == 1
    assert not world.data_plane.maintenance
    assert world.health().reason == "OffsetOutOfRange"
    assert [row.ailment for row in world.restart().datanodes].count("OffsetOutOfRange") == 1


def test_a_pod_that_is_annotated_is_restarted_alone() -> None:
    world = World()
    pod = Key(NAMESPACE, "datanode-2")
    world.datanodes.running[pod] = replace(world.datanodes.running[pod], restart="please")
    world.settle()
    assert world.went == ["datanode-2"]


def test_kubectl_rollout_restart_is_carried_out_with_on_delete() -> None:
    world = World()
    world.settle()
    restarted = replace(world.datanodes.statefulsets[SET].template, restarted_at="2026-11-22T10:00:00Z")
    world.datanodes.statefulsets[SET] = replace(world.datanodes.statefulsets[SET], template=restarted, observed=False)
    world.settle()
    assert sorted(world.went) == ALL


def test_a_changed_configuration_is_rolled_out_and_the_first_one_is_not() -> None:
    world = World()
    world.apply(walConfig={"configMapName": "greptimedb-wal"})
    render(world, 'max_batch_bytes = "1MB"')
    world.settle()
    assert world.went == []
    render(world, 'max_batch_bytes = "512KB"')
    world.settle()
    assert sorted(world.went) == ALL
    template = world.datanodes.statefulsets[SET].template
    assert template.config_hash == world.restart().config_hash
    assert {pod.config_hash for pod in world.datanodes.running.values()} == {template.config_hash}


def test_a_partition_is_lowered_pod_by_pod_and_put_back() -> None:
    world = World(strategy=UpdateStrategy.ROLLING_UPDATE, partition=3)
    world.apply(walConfig={"configMapName": "greptimedb-wal"})
    render(world, 'max_batch_bytes = "1MB"')
    world.settle()
    render(world, 'max_batch_bytes = "512KB"')
    world.settle()
    assert world.went == ["datanode-2", "datanode-1", "datanode-0"]
    assert world.datanodes.statefulsets[SET].partition == DATANODES


def test_a_person_lets_the_partition_be_lowered_although_another_datanode_is_down() -> None:
    """It may be the edit that mends that one, and Kubernetes takes the highest number first."""
    world = World(strategy=UpdateStrategy.ROLLING_UPDATE, partition=3)
    world.apply(walConfig={"configMapName": "greptimedb-wal"})
    render(world, 'max_batch_bytes = "1MB"')
    world.settle()
    world.datanodes.report(SET, 0, ready=False)
    world.data_plane.stopped.add(0)
    world.lets_two_go = True
    render(world, 'max_batch_bytes = "512KB"')
    world.settle(until=lambda: world.restart().reason == "AnotherDatanodeDown")
    until = (world.time.now() + timedelta(hours=1)).isoformat()
    world.annotate(override_restart_gate=f"the edit mends it@{until}")
    world.settle(until=lambda: bool(world.went))
    assert world.went == ["datanode-2"]
    said = [line for line in world.lines if line.startswith("RestartOverridden")]
    assert len(said) == 1
    assert "Restarted datanode-2 although" in said[0]
    assert "the edit mends it" in said[0]


def test_a_stateful_set_that_is_not_there_is_told() -> None:
    world = World()
    world.datanodes.statefulsets.clear()
    process = world.process()
    for _ in range(3):
        process.tick(WAL)
    assert (world.health().status, world.health().reason) == ("Unknown", "StatefulSetMissing")


def test_of_two_wal_clusters_that_name_one_stateful_set_only_the_older_restarts_its_pods() -> None:
    world = asked()
    younger = Key(NAMESPACE, "younger")
    world.time.time += timedelta(seconds=5)
    spec = {**world.spec(), "topics": {"prefix": "other", "count": 3}}
    world.kube.apply(younger, spec, annotations={"seawall.dev/restart": "now"})
    process = world.process()
    for _ in range(5):
        process.tick(younger)
        world.pass_time(timedelta(seconds=10))
    found = world.kube.get(WALCluster, younger)
    assert found is not None
    assert found.status.restart is not None
    assert "the older WALCluster wal names StatefulSet datanode" in found.status.restart.message
    assert world.went == []
    world.settle()
    assert sorted(world.went) == ALL


def test_a_crash_loop_is_diagnosed_and_its_end_is_told() -> None:
    world = World()
    world.settle()
    last = Termination("Error", "read wal: MissingKey at offset 17", 101)
    world.datanodes.report(SET, 1, ready=False, restarts=4, waiting="CrashLoopBackOff", last=last)
    world.data_plane.stopped.add(1)
    world.settle(until=lambda: world.health().status == "False")
    assert world.health().reason == "MissingKey"
    assert any(line.startswith("MissingKey: datanode-1") for line in world.lines)
    world.datanodes.report(SET, 1, ready=True)
    world.data_plane.stopped.discard(1)
    world.settle(until=lambda: world.health().status == "True")
    assert any("all datanodes serve again" in line for line in world.lines)


def test_the_record_that_a_crashing_datanode_cannot_read_is_found_in_its_topic_whatever_its_last_word() -> None:
    world = World()
    world.settle()
    (topic,) = [name for name in world.kafka.topics if name.endswith("_1")]
    offset = world.kafka.topics[topic].log.end
    world.kafka.topics[topic].log.append_with_key(1, None)
    world.kafka.topics[topic].log.append(5)
    world.datanodes.report(
        SET, 1, ready=False, restarts=4, waiting="CrashLoopBackOff", last=Termination("Error", "", 1)
    )
    world.data_plane.stopped.add(1)
    world.settle(until=lambda: claims_of(world.cluster().status).datanodes == {1})
    assert world.health().reason == "MissingKey"
    assert f"(offset {offset} of {topic}: the record has a value but no key)" in world.health().message


def test_a_new_process_takes_nobody_for_down_before_reports_were_seen_to_advance() -> None:
    world = World()
    world.settle()
    world.lines.clear()
    world.settle(world.process())
    assert world.lines == []
    assert world.health().status == "True"


def test_a_wal_cluster_that_is_deleted_in_mid_roll_gives_maintenance_back_first() -> None:
    world = asked()
    world.settle(until=lambda: world.data_plane.maintenance)
    world.kube.remove(WAL)
    assert world.cluster().metadata.finalizers == (MAINTENANCE_FINALIZER,)
    world.settle()
    assert world.kube.get(WALCluster, WAL) is None
    assert not world.data_plane.maintenance


def test_a_database_that_does_not_answer_holds_a_deletion_up_for_ten_minutes_only() -> None:
    world = asked()
    world.settle(until=lambda: world.data_plane.maintenance)
    world.kube.deletes_at = world.time.now()
    world.kube.remove(WAL)
    world.data_plane.is_silent = True
    process = world.process()
    for _ in range(60):
        process.tick(WAL)
        world.pass_time(timedelta(seconds=5))
    assert world.kube.get(WALCluster, WAL) is not None
    for _ in range(100):
        process.tick(WAL)
        world.pass_time(timedelta(seconds=5))
    assert world.kube.get(WALCluster, WAL) is None
    world.note()
    assert any("may be left in maintenance" in line for line in world.lines)


def test_a_time_in_which_nobody_asked_the_database_lets_no_deletion_go_on() -> None:
    """The operator was away with it, and is back first."""
    world = asked()
    world.settle(until=lambda: world.data_plane.maintenance)
    world.kube.deletes_at = world.time.now()
    world.kube.remove(WAL)
    world.data_plane.is_silent = True
    world.process().tick(WAL)
    world.pass_time(timedelta(minutes=30))
    process = world.process()
    for _ in range(5):
        process.tick(WAL)
    assert world.cluster().metadata.finalizers == (MAINTENANCE_FINALIZER,)
    world.data_plane.is_silent = False
    world.settle()
    assert world.kube.get(WALCluster, WAL) is None
    assert not world.data_plane.maintenance


def test_datanodes_that_are_taken_out_of_the_spec_are_let_go() -> None:
    world = asked()
    world.settle(until=lambda: world.data_plane.maintenance)
    world.apply(datanodes=None)
    world.settle()
    assert not world.data_plane.maintenance
    assert world.cluster().metadata.finalizers == ()
    assert find_condition(world.cluster().status.conditions, ConditionType.DATANODES_HEALTHY) is None
    assert world.disruption() is None


def test_an_operator_that_slept_before_its_eviction_evicts_nobody_when_somebody_else_went_on() -> None:
    world = asked()
    slept: list[Any] = []
    process = world.process(_Sleeper(world, slept))
    world.settle(process, until=lambda: bool(slept))
    assert slept == ["woken"]
    world.settle()
    assert sorted(world.went) == ALL


def test_a_pod_that_goes_between_the_look_and_the_eviction_is_noticed() -> None:
    world = asked()
    controller, action = about_to_evict(world)
    world.end_pod(next(number for number in range(DATANODES) if number != action.pod.ordinal))
    with pytest.raises(Conflict):
        controller.perform(world.cluster(), action)
    world.check()


def test_a_pause_between_the_look_and_the_eviction_is_obeyed() -> None:
    world = asked()
    controller, action = about_to_evict(world)
    recorded = world.cluster()
    world.annotate(paused="true")
    with pytest.raises(Conflict):
        controller.perform(recorded, action)
    assert world.down() == []


def waiting_for(name: str, annotations: dict[str, str] | None = None) -> tuple[World, Key]:
    """A restart that waits for a run of this name, which has written intents and whose deletes no log shows yet."""
    world, purge = asked(), Key(NAMESPACE, name)
    world.kube.apply(purge, {"clusterRef": {"name": "wal"}}, kind=WALPurge, annotations=annotations)
    run = world.kube.get(WALPurge, purge)
    assert run is not None
    world.data_plane.flush_regions(list(world.data_plane.regions))
    frozen = FrozenTargets(topics=len(TOPICS), digest="0" * 32, parts=1)
    world.kube.replace_status(run, WALPurgeStatus(stage=Stage.PURGE, frozen=frozen))
    world.intend(50)
    waits(world)
    assert world.went == []
    return world, purge


def test_a_delete_that_has_begun_is_waited_for_and_no_longer_when_the_log_starts_there() -> None:
    world, _ = waiting_for("run")
    assert world.restart().reason == "DeleteOngoing"
    for topic in TOPICS:
        world.kafka.topics[topic].log.log_start = 50
    world.settle()
    assert sorted(world.went) == ALL


def test_a_run_that_is_paused_between_intent_and_delete_is_named_with_what_ends_it() -> None:
    """Found by a review: people were told for days to wait a moment."""
    world, purge = waiting_for("nightly", {"seawall.dev/paused": "true"})
    assert world.restart().reason == "DeleteOngoing"
    assert "WALPurge nightly is paused in the middle" in world.restart().message
    assert "`kubectl annotate walpurge/nightly seawall.dev/paused-`, or delete it" in world.restart().message
    world.kube.remove(purge, WALPurge)
    world.settle()
    assert sorted(world.went) == ALL


def test_the_status_no_longer_says_what_the_gate_waited_for_when_a_pod_goes() -> None:
    world = asked()
    world.settle(until=lambda: world.restart().stage is RollStage.RESTARTING)
    lag(world)
    world.settle(until=lambda: world.restart().reason == "NotFullyInSync")
    lag(world, lags=False)
    recorded = Calls(world.check)
    reasons: list[str] = []
    recorded.before = lambda name: reasons.append(world.restart().reason) if name == "evict" else None
    world.settle(world.process(recorded))
    assert len(reasons) == DATANODES
    assert set(reasons).isdisjoint(Blocker)


class _Sleeper:
    """Holds back the first eviction until another process has finished the whole roll."""

    def __init__(self, world: World, slept: list[Any]) -> None:
        self._world, self._slept = world, slept

    def guard(self, port: Any) -> Any:
        """The same port."""
        return watched(self, port)

    def call(self, function: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """One call."""
        if name == "evict" and not self._slept:
            self._slept.append("asleep")
            self._world.settle(until=lambda: self._world.restart().restarted == 2)
            went = len(self._world.went)
            answer = function(*args, **kwargs)
            assert len(self._world.went) == went
            self._slept[:] = ["woken"]
            return answer
        return function(*args, **kwargs)


def about_to_evict(world: World) -> tuple[RestartController, Evict]:
    """A process at the moment in which it decided to evict a pod."""
    process = world.process()
    controller: RestartController = process.controller  # type: ignore[assignment]
    for _ in range(200):
        cluster = world.cluster()
        step = settle(cluster, controller.decide(cluster, controller.observe(cluster)))
        if isinstance(step, Act) and isinstance(action := step.actions[0], Evict):
            return controller, action
        if process.tick(WAL).after != 0.0:
            world.pass_time(timedelta(seconds=2))
    raise AssertionError("it never evicts")


def render(world: World, text: str) -> None:
    """The WALCluster's controller writes the ConfigMap."""
    key = Key(NAMESPACE, "greptimedb-wal")
    found = world.kube.get_config_map(key)
    version = None if found is None else found.resource_version
    world.kube.write_config_map(world.cluster(), ConfigMap(key, {"datanode.toml": text}, resource_version=version))


def lag(world: World, *, lags: bool = True) -> None:
    """Broker 3 falls behind with all topics, or has caught up."""
    for topic in TOPICS:
        world.kafka.topics[topic].catching_up = {(0, 3)} if lags else set()


def waits(world: World, seconds: int = 90) -> None:
    """A time passes, whatever the roll does."""
    end = world.time.now() + timedelta(seconds=seconds)
    world.settle(until=lambda: world.time.now() >= end)
