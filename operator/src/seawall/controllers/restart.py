"""The Restart controller: a third one of WALClusters, for the datanodes that write and replay the WAL."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from seawall.api.meta import MAINTENANCE_FINALIZER, InvalidSpec, Key
from seawall.api.v1alpha1.data_plane import Datanodes as DeclaredDatanodes
from seawall.api.v1alpha1.wal_cluster import WALCluster, WALClusterSpec, WALClusterStatus
from seawall.api.v1alpha1.wal_purge import WALPurge
from seawall.api.v1alpha1.wal_verification import WALVerification
from seawall.controllers.ledger_look import LedgerLooks
from seawall.controllers.opened_cluster import OpenedCluster
from seawall.controllers.partition_look import PartitionLooks
from seawall.domain.errors import Conflict, OutsideUnavailable, Refused, SeawallError
from seawall.domain.failure import Failure
from seawall.domain.kafka import NoKafka
from seawall.domain.ledger.looked import CannotLook
from seawall.domain.restart.actions import AddFinalizer, RemoveFinalizer, RestartAction
from seawall.domain.restart.gather import Beside, KafkaSeen, with_ledger, with_people
from seawall.domain.restart.next_step import RestartStep, next_step
from seawall.domain.restart.observed import Observed
from seawall.domain.rollout.actions import (
    Evict,
    EvictionForbidden,
    FlushRegions,
    SetConfigHash,
    SetMaintenance,
    SetPartition,
)
from seawall.domain.rollout.facts import Facts
from seawall.domain.rollout.workload import BudgetForbids, Evicted, NotThere, StatefulSet
from seawall.domain.step import Event, EventType
from seawall.domain.walconfig.config_map import ConfigMap
from seawall.ports import Clock, Datanodes, Kube, Stopwatch

SETTLES_MS = 20_000
"""How long a new process waits for reports to advance before it takes a datanode for down."""

ASKED_MS = 10_000
"""How long a flush takes to show in a report."""


@dataclass(slots=True)
class _Known:
    """What the process knows of one WALCluster; losing it costs some seconds, or a second flush."""

    uid: str
    since: int
    asked: dict[int, int] = field(default_factory=dict)
    """By region when it was asked to flush."""


@dataclass(frozen=True, slots=True)
class RestartController:
    """Restarts datanodes. Of the status it writes only its own parts; its queue is its own."""

    kube: Kube
    datanodes: Datanodes
    looks: LedgerLooks
    partitions: PartitionLooks
    clock: Clock
    stopwatch: Stopwatch
    kind: str = "Restart"
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[Key, _Known] = field(default_factory=dict)

    def read(self, key: Key) -> WALCluster | None:
        """Reads the WALCluster."""
        return self.kube.get(WALCluster, key)

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        with self._lock:
            self._known.pop(key, None)

    def observe(self, obj: WALCluster) -> Observed:
        """Looks at the ledger, Kafka and the database, and at the pods last: they change fastest."""
        spec, facts = obj.spec, Facts(self.clock.now(), None)
        declared = _declared(spec)
        if isinstance(spec, InvalidSpec) or declared is None or obj.metadata.deletion_timestamp is not None:
            has_lease = obj.status.restart is not None and obj.status.restart.maintenance is not None
            is_terminating = has_lease and self.kube.is_terminating(obj.metadata.namespace)
            return Observed(
                replace(facts, in_maintenance=self._in_maintenance(obj) if has_lease else None),
                is_declared=None if isinstance(spec, InvalidSpec) else declared is not None,
                namespace_terminating=is_terminating,
            )
        looked = self.looks.look(obj)
        kafka, beside = self._kafka(obj), self._beside(obj)
        facts = replace(facts, in_maintenance=self._in_maintenance(obj))
        facts = with_people(facts, obj, spec, self._config_map(obj, spec))
        facts = self._with_pods(facts, Key(obj.metadata.namespace, declared.stateful_set_ref.name))
        found = with_ledger(facts, obj, looked, kafka, beside)
        known, now = self._remember(obj), self.stopwatch.milliseconds()
        lately = frozenset(region for region, at in known.asked.items() if now < at + ASKED_MS)
        return Observed(found, is_settling=now < known.since + SETTLES_MS, asked_lately=lately)

    def next_step(self, obj: WALCluster, observed: Observed) -> RestartStep:
        """Decides (pure)."""
        return next_step(obj, observed)

    def with_failure(self, observed: Observed, error: SeawallError) -> Observed:
        """Adds what the outside answered."""
        if isinstance(error, EvictionForbidden):
            return replace(observed, forbidden=str(error))
        return replace(observed, failure=Failure.of(error))

    def record(self, obj: WALCluster, status: WALClusterStatus) -> None:
        """Replaces the status."""
        self.kube.replace_status(obj, status)

    def post(self, obj: WALCluster, event: Event) -> None:
        """Posts an event about the WALCluster."""
        self.kube.post_event(obj, event)

    def perform(self, obj: WALCluster, action: RestartAction) -> Event:
        """Does one action; right before it, all that may stop it is read anew."""
        others = [name for name in obj.metadata.finalizers if name != MAINTENANCE_FINALIZER]
        match action:
            case AddFinalizer():
                self.kube.set_finalizers(obj, [*others, MAINTENANCE_FINALIZER])
            case RemoveFinalizer():
                self.kube.set_finalizers(obj, others)
            case FlushRegions():
                return self._flush(obj, action)
            case SetMaintenance():
                self._require_unchanged(obj)
                self._open(obj).parts.data_plane.set_maintenance(enabled=action.enabled)
            case Evict():
                self._evict(obj, action)
            case SetPartition():
                self._set_partition(obj, action)
            case SetConfigHash():
                self._require_unchanged(obj)
                self.datanodes.set_config_hash(action.statefulset, action.config_hash, action.partition)
            case _:
                assert_never(action)
        return action.event()

    def _flush(self, obj: WALCluster, action: FlushRegions) -> Event:
        opened, known = self._open(obj), self._remember(obj)
        known.asked.update(dict.fromkeys(action.regions, self.stopwatch.milliseconds()))
        failures = opened.parts.data_plane.flush_regions(action.regions)
        if not failures:
            return action.event()
        region, failure = next(iter(failures.items()))
        count = f"{len(failures)} of {len(action.regions)} regions were not flushed"
        return Event(EventType.WARNING, "FlushFailed", f"{count}; region {region}: {failure.message}")

    def _evict(self, obj: WALCluster, action: Evict) -> None:
        self._require_unchanged(obj)
        if not action.passed:  # a person may let a restart through while another datanode is down
            self._require_alone(obj, action.pod.name)
        match self.datanodes.evict(action.pod):
            case BudgetForbids(message):
                raise EvictionForbidden(message)
            case NotThere():
                raise Conflict(f"pod {action.pod.key} with UID {action.pod.uid} is gone")
            case Evicted():
                pass

    def _set_partition(self, obj: WALCluster, action: SetPartition) -> None:
        self._require_unchanged(obj)
        if action.partition < action.statefulset.partition:
            self._require_alone(obj, f"{action.statefulset.key.name}-{_number(action)}")
        self.datanodes.set_partition(action.statefulset, action.partition)

    def _require_unchanged(self, obj: WALCluster) -> None:
        """A leader that slept must not restart what its successor has finished, or a person has stopped."""
        found = self.kube.get(WALCluster, obj.metadata.key)
        if found is None or found.metadata.resource_version != obj.metadata.resource_version:
            raise Conflict(f"WALCluster {obj.metadata.key} changed")

    def _require_alone(self, obj: WALCluster, name: str) -> None:
        """Between the look and the eviction another pod may have gone: two must never be down."""
        declared = _declared(obj.spec)
        key = Key(obj.metadata.namespace, "" if declared is None else declared.stateful_set_ref.name)
        statefulset = None if declared is None else self.datanodes.get(key)
        if statefulset is None:
            raise Conflict(f"StatefulSet {key} is gone")
        pods = self.datanodes.pods(statefulset)
        down = {pod.name for pod in pods if not pod.ready or pod.is_terminating} | {*statefulset.missing(pods)}
        if down - {name}:
            raise Conflict(f"pod {min(down - {name})} is down now, too")

    def _with_pods(self, facts: Facts, key: Key) -> Facts:
        """That the API server refuses is for people to mend; that it does not answer ends the tick."""
        try:
            found: StatefulSet | None = self.datanodes.get(key)
            pods = () if found is None else self.datanodes.pods(found)
        except Refused as refused:
            return replace(facts, statefulset_problem=f"StatefulSet {key.name} and its pods cannot be read: {refused}")
        return replace(facts, statefulset=found, pods=pods)

    def _kafka(self, obj: WALCluster) -> KafkaSeen | str:
        """What moves is read first: a move that ends in between still counts."""
        opened = self.looks.open(obj)
        if isinstance(opened, CannotLook):
            return opened.message
        try:
            ongoing = self.partitions.reassigner(obj).ongoing()
            view = opened.admin.view()
        except (OutsideUnavailable, Refused) as error:
            return str(error)
        if isinstance(view, NoKafka):
            return view.message
        return KafkaSeen(view.topics, frozenset(found.topic for found in ongoing))

    def _beside(self, obj: WALCluster) -> Beside:
        namespace, name = obj.metadata.namespace, obj.metadata.name
        purges: Iterable[WALPurge] = self.kube.list(WALPurge, namespace).items
        verifications: Iterable[WALVerification] = self.kube.list(WALVerification, namespace).items
        return Beside(
            tuple(each for each in purges if _named_by(each) == name),
            tuple(each for each in verifications if _named_by(each) == name),
        )

    def _in_maintenance(self, obj: WALCluster) -> bool | None:
        try:
            return self._open(obj).parts.data_plane.in_maintenance()
        except (OutsideUnavailable, Refused):
            return None

    def _config_map(self, obj: WALCluster, spec: WALClusterSpec) -> ConfigMap | None:
        if spec.wal_config is None:
            return None
        return self.kube.get_config_map(Key(obj.metadata.namespace, spec.wal_config.config_map_name))

    def _open(self, obj: WALCluster) -> OpenedCluster:
        opened = self.looks.open(obj)
        if isinstance(opened, CannotLook):
            raise OutsideUnavailable(opened.message)
        return opened

    def _remember(self, obj: WALCluster) -> _Known:
        with self._lock:
            found = self._known.get(obj.metadata.key)
            if found is None or found.uid != obj.metadata.uid:
                found = _Known(obj.metadata.uid, self.stopwatch.milliseconds())
                self._known[obj.metadata.key] = found
            return found


def _declared(spec: WALClusterSpec | InvalidSpec) -> DeclaredDatanodes | None:
    if isinstance(spec, InvalidSpec) or spec.data_plane is None:
        return None
    return spec.data_plane.datanodes


def _number(action: SetPartition) -> int:
    """The number in the name of the pod to which the partition is lowered."""
    return action.statefulset.first_ordinal + action.partition


def _named_by(obj: WALPurge | WALVerification) -> str | None:
    return obj.spec.cluster if isinstance(obj.spec, InvalidSpec) else obj.spec.cluster_ref.name
