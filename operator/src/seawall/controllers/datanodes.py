"""The Restart controller: a third one of WALClusters, for the datanodes that write and replay the WAL."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import ClassVar, assert_never

from seawall.api.meta import MAINTENANCE_FINALIZER, Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.controllers.controller import Controller
from seawall.controllers.eviction import evict
from seawall.controllers.permission import require_soon
from seawall.domain.datanodes.actions import (
    AddFinalizer,
    FlushRegions,
    RemoveFinalizer,
    RestartAction,
    SetConfigHash,
    SetMaintenance,
    SetPartition,
)
from seawall.domain.datanodes.decide import RestartDecision, decide, roll_of
from seawall.domain.datanodes.health import count_datanodes
from seawall.domain.datanodes.observed import Observed
from seawall.domain.errors import Conflict, SeawallError
from seawall.domain.events import EventReason
from seawall.domain.rollout.actions import Evict, EvictionForbidden
from seawall.domain.rollout_reasons import Reason
from seawall.domain.step import Event, EventType
from seawall.domain.times import MAINTENANCE_ASKED_WITHIN_MS, ROLLOUT_ASKED_MS, ROLLOUT_SETTLES_MS
from seawall.observe.datanodes import DatanodeObserver
from seawall.observe.declared_database import NamedSet
from seawall.ports import Kube, RestartMeter, Stopwatch, Workloads


@dataclass(slots=True)
class _Known:
    """What the process knows of one WALCluster; losing it costs some seconds, or a second flush."""

    uid: str
    since: int
    asked: dict[int, int] = field(default_factory=dict)
    """By region when it was asked to flush."""


@dataclass(frozen=True, slots=True)
class RestartController(Controller[WALCluster, Observed, WALClusterStatus, RestartAction]):
    """Restarts datanodes. Of the status it writes only its own parts; its queue is its own."""

    resource: ClassVar = WALCluster

    kube: Kube
    workloads: Workloads
    observer: DatanodeObserver
    stopwatch: Stopwatch
    meter: RestartMeter
    kind: str = "Restart"
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[Key, _Known] = field(default_factory=dict)

    def forget(self, key: Key) -> None:
        """Forgets a WALCluster that is gone."""
        with self._lock:
            self._known.pop(key, None)
        self.observer.forget(key)
        self.meter.forget_restart(key)

    def observe(self, obj: WALCluster) -> Observed:
        """Looks, and measures how the datanodes are."""
        found, roll = self._with_memory(obj, self.observer.observe(obj)), roll_of(obj.status)
        if not found.facts.statefulsets:
            self.meter.forget_restart(obj.metadata.key)
        else:
            self.meter.measure_restart(obj.metadata.key, count_datanodes(roll, found), roll.status.stage)
        return found

    def _with_memory(self, obj: WALCluster, found: Observed) -> Observed:
        """With what this process knows of its own looks and flushes."""
        known, now = self._remember(obj), self.stopwatch.milliseconds()
        lately = frozenset(region for region, at in known.asked.items() if now < at + ROLLOUT_ASKED_MS)
        return replace(found, is_settling=now < known.since + ROLLOUT_SETTLES_MS, asked_lately=lately)

    def decide(self, obj: WALCluster, observed: Observed) -> RestartDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def absorb(self, observed: Observed, error: SeawallError) -> Observed | None:
        """A PodDisruptionBudget that forbids an eviction is a reason to wait, not a failure."""
        return replace(observed, forbidden=str(error)) if isinstance(error, EvictionForbidden) else None

    def tells(self, obj: WALCluster, error: SeawallError) -> bool:
        """A budget that forbids it once more: in between the switch of maintenance worked, which is another action."""
        return isinstance(error, EvictionForbidden) and roll_of(obj.status).status.reason == Reason.DISRUPTION_BUDGET

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
                self._set_maintenance(obj, action)
            case Evict():
                self._evict(obj, action)
            case SetPartition():
                self._set_partition(obj, action)
            case SetConfigHash():
                self._require_unchanged(obj)
                self.workloads.set_config_hash(action.statefulset, action.config_hash, action.partition)
            case _:
                assert_never(action)
        return action.event()

    def _flush(self, obj: WALCluster, action: FlushRegions) -> Event:
        opened, known = self.observer.open(obj), self._remember(obj)
        known.asked.update(dict.fromkeys(action.regions, self.stopwatch.milliseconds()))
        failures = opened.parts.data_plane.flush_regions(action.regions)
        # From when they answered: slow ones let the others go first.
        known.asked.update(dict.fromkeys(action.regions, self.stopwatch.milliseconds()))
        if not failures:
            return action.event()
        region, failure = next(iter(failures.items()))
        count = f"{len(failures)} of {len(action.regions)} regions were not flushed"
        return Event(EventType.WARNING, EventReason.FLUSH_FAILED, f"{count}; region {region}: {failure.message}")

    def _set_maintenance(self, obj: WALCluster, action: SetMaintenance) -> None:
        """The object is read last.

        Who asks a slow database may be no leader any more, and its successor is done with what it would turn on.
        """
        switch = self.observer.maintenance_of(obj, action.metasrv)
        self.observer.require_own_database(obj)
        began = self.stopwatch.milliseconds()
        self._require_unchanged(obj)
        require_soon(self.stopwatch, began, MAINTENANCE_ASKED_WITHIN_MS)
        switch.set_maintenance(enabled=action.enabled)

    def _evict(self, obj: WALCluster, action: Evict) -> None:
        self._require_unchanged(obj)
        if not action.passed:  # a person may let a restart through while another datanode is down
            self._require_alone(obj, action.pod.name)
        evict(self.workloads, action.pod)

    def _set_partition(self, obj: WALCluster, action: SetPartition) -> None:
        self._require_unchanged(obj)
        if action.partition < action.statefulset.partition:
            if not action.passed:
                self._require_alone(obj, action.pod)
            self._require_gate(obj, action)
        self.workloads.set_partition(action.statefulset, action.partition)

    def _require_alone(self, obj: WALCluster, name: str) -> None:
        """Between the look and the eviction another pod may have gone: two must never be down."""
        down: set[str] = set()
        for each in self._named_sets(obj):
            statefulset = self.workloads.get(each.key)
            if statefulset is None:
                raise Conflict(f"StatefulSet {each.key} is gone")
            pods = self.workloads.pods(statefulset)
            down |= {pod.name for pod in pods if not pod.ready or pod.is_terminating} | {*statefulset.missing(pods)}
        if down - {name}:
            raise Conflict(f"pod {min(down - {name})} is down now, too")

    def _require_gate(self, obj: WALCluster, action: SetPartition) -> None:
        """The other operator's object must still keep all pods back, or that is about to restart them itself."""
        declared = action.statefulset.declared_partition
        if declared is None:
            return
        found = {each.key: each.declared_partition for each in self._named_sets(obj)}
        if found.get(action.statefulset.key) != declared:
            raise Conflict(f"the partition that is declared for StatefulSet {action.statefulset.key} changed")

    def _named_sets(self, obj: WALCluster) -> tuple[NamedSet, ...]:
        found = self.observer.named_sets(obj)
        if isinstance(found, str) or not found:
            raise Conflict(f"who the datanodes are is not known: {found or 'none are named'}")
        return found

    def _remember(self, obj: WALCluster) -> _Known:
        with self._lock:
            found = self._known.get(obj.metadata.key)
            if found is None or found.uid != obj.metadata.uid:
                found = _Known(obj.metadata.uid, self.stopwatch.milliseconds())
                self._known[obj.metadata.key] = found
            return found
