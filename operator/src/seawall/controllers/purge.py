"""The WALPurge controller."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import ClassVar, assert_never

from seawall.api.meta import InvalidSpec, Key
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.purge import WALPurge, WALPurgeSpec, WALPurgeStatus
from seawall.controllers.controller import Controller, unchanged
from seawall.controllers.permission import (
    claim_database,
    require_flushed,
    require_intents,
    require_licence,
    require_policies,
    require_same,
    require_soon,
    require_verdicts,
)
from seawall.controllers.targets import write_targets
from seawall.domain.errors import Conflict, OutsideUnavailable, SeawallError
from seawall.domain.events import EventReason
from seawall.domain.frozen_targets import Written
from seawall.domain.kafka_log import DeleteRefused, DeleteUnknown, DescribedTopic
from seawall.domain.ledger.actions import ClaimDatabase
from seawall.domain.ledger.observation import ObservedCluster
from seawall.domain.purge.actions import (
    Announce,
    DeleteRecords,
    DeletesRefused,
    FlushRegions,
    PurgeAction,
    WriteIntents,
    WriteTargets,
    refused_deletes,
)
from seawall.domain.purge.decide import decide
from seawall.domain.purge.stages import PurgeDecision
from seawall.domain.purge.state import Observed
from seawall.domain.purge.waits import run_in_front
from seawall.domain.step import Event, EventType
from seawall.observe.ledger import LedgerObserver
from seawall.observe.opened_cluster import OpenedCluster, named_cluster
from seawall.ports import Clock, Kube, RunMeter, Stopwatch


@dataclass(slots=True)
class _Known:
    """What this process knows of a run and its status does not. Losing it costs asking again, which is harmless.

    Attributes:
        uid: of the run.
        asked_at: when it asked which regions to flush.
        written: the targets that it wrote, until the status names them.
        refused: by topic, why Kafka refused to delete: the status names only some.
    """

    uid: str
    asked_at: dict[int, int] = field(default_factory=dict)
    written: Written | None = None
    refused: dict[str, DeleteRefused] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WALPurgeController(Controller[WALPurge, Observed, WALPurgeStatus, PurgeAction]):
    """Observes and acts for WALPurges."""

    resource: ClassVar = WALPurge

    kube: Kube
    observer: LedgerObserver
    clock: Clock
    stopwatch: Stopwatch
    meter: RunMeter
    kind: str = WALPurge.KIND.kind
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: dict[Key, _Known] = field(default_factory=dict)

    def forget(self, key: Key) -> None:
        """Forgets what is known of a run that is gone."""
        with self._lock:
            self._known.pop(key, None)

    def observe(self, obj: WALPurge) -> Observed:
        """Reads whose turn it is, then looks at the ledger; not for a run that is over, or has to wait."""
        now = self.clock.trusted().shared
        if isinstance(obj.spec, InvalidSpec) or obj.status.is_finished or obj.metadata.deletion_timestamp is not None:
            self.forget(obj.metadata.key)
            return Observed(now)
        cluster = named_cluster(self.kube, obj)
        if cluster is None:
            return Observed(now)
        front = run_in_front(obj, self.kube.list(WALPurge, obj.metadata.namespace).items)
        paused = _paused(obj, cluster)
        if front is not None or paused is not None:
            return Observed(now, has_cluster=True, front=front, paused=paused)
        observation = self.observer.observe(cluster, obj)
        known = self._known_of(obj)
        if obj.status.frozen is not None:
            known.written = None
        return Observed(
            now,
            has_cluster=True,
            observation=observation,
            asked_lately=self._asked_lately(obj.spec, known),
            written=known.written,
            refused_before=dict(known.refused),
        )

    def decide(self, obj: WALPurge, observed: Observed) -> PurgeDecision:
        """Decides (pure)."""
        return decide(obj, observed)

    def absorb(self, observed: Observed, error: SeawallError) -> Observed | None:
        """Topics from which Kafka refuses to delete are left out, and the run goes on."""
        return replace(observed, refused=error.topics) if isinstance(error, DeletesRefused) else None

    def record(self, obj: WALPurge, status: WALPurgeStatus) -> None:
        """Replaces the status; a run that ends by it is counted."""
        self.kube.replace_status(obj, status)
        if status.is_finished and not isinstance(obj.spec, InvalidSpec):
            self.meter.count_run(Key(obj.metadata.namespace, obj.spec.cluster_ref.name), status)

    def perform(self, obj: WALPurge, action: PurgeAction) -> Event:
        """Does one action; right before it, what may stop it is read anew.

        Not so holds: one that is not granted yet stops what is decided next.
        """
        match action:
            case FlushRegions():
                return self._flush(obj, action)
            case ClaimDatabase():
                claim_database(self.observer, self._still_may(obj, action.cluster), action)
            case WriteTargets():
                self._still_may(obj, action.cluster)
                self._known_of(obj).written = write_targets(self.kube, obj, action.targets)
            case Announce():
                return self._announce(obj, action)
            case WriteIntents():
                self._still_may(obj, action.cluster)
                self.observer.write_shards(action.pool, action.shards)
            case DeleteRecords():
                try:
                    self._delete(obj, action)
                except DeletesRefused as refusal:
                    self._known_of(obj).refused.update(refusal.topics)
                    raise
            case _:
                assert_never(action)
        return action.event()

    def _flush(self, obj: WALPurge, action: FlushRegions) -> Event:
        opened = require_same(self.observer, self._still_may(obj, action.cluster, flushes=True), action.cluster)
        self._known_of(obj).asked_at.update(dict.fromkeys(action.region_ids, self.stopwatch.milliseconds()))
        failures = opened.parts.data_plane.flush_regions(action.region_ids)
        if not failures:
            return action.event()
        region, failure = next(iter(failures.items()))
        count = f"{len(failures)} of {len(action.region_ids)} regions were not flushed"
        return Event(EventType.WARNING, EventReason.FLUSH_FAILED, f"{count}; region {region}: {failure.message}")

    def _announce(self, obj: WALPurge, action: Announce) -> Event:
        """Moves the markers; one that changed since it was read is left for the next look."""
        began = self.stopwatch.milliseconds()
        cluster = self._still_may(obj, action.cluster)
        opened = require_same(self.observer, cluster, action.cluster)
        require_flushed(opened, action.cluster, action.flushed)
        require_policies(self.kube, cluster, action.cluster)
        require_verdicts(self.kube, cluster, action.cluster)
        self._still_may(obj, action.cluster)
        require_soon(self.stopwatch, began)
        changed = opened.parts.metadata_store.advance_markers(action.moves, opened.topics.prefix, cluster.metadata.uid)
        if len(changed) == len(action.moves):
            raise OutsideUnavailable(next(iter(changed.values())))
        return replace(action, moves=tuple(move for move in action.moves if move.topic not in changed)).event()

    def _delete(self, obj: WALPurge, action: DeleteRecords) -> None:
        began = self.stopwatch.milliseconds()
        cluster = self._still_may(obj, action.cluster)
        opened = require_same(self.observer, cluster, action.cluster)
        require_policies(self.kube, cluster, action.cluster)
        require_verdicts(self.kube, cluster, action.cluster)
        require_intents(self.observer.intents, action.pool, action.before, action.topic_ids)
        before = _of_same_logs(opened, action)
        self._still_may(obj, action.cluster)
        require_soon(self.stopwatch, began)
        outcomes = opened.logs.delete_records(before, action.topic_ids, action.epochs)
        refused = {topic: out for topic, out in outcomes.items() if isinstance(out, DeleteRefused)}
        if refused:
            raise refused_deletes(refused)
        unknown = [out.message for out in outcomes.values() if isinstance(out, DeleteUnknown)]
        if unknown:
            raise OutsideUnavailable(unknown[0])

    def _still_may(self, obj: WALPurge, decided: ObservedCluster, *, flushes: bool = False) -> WALCluster:
        """The WALCluster, if it, the run and the declarations are those decided by, and nobody stopped them."""
        run = unchanged(obj, self.read(obj.metadata.key))
        cluster = require_licence(self.kube, self.clock, _cluster_key(obj), decided)
        if _paused(run, cluster) is not None or (cluster.metadata.stops_deletes and not flushes):
            raise Conflict(f"deletes on WALCluster {cluster.metadata.key} were stopped")
        return cluster

    def _known_of(self, obj: WALPurge) -> _Known:
        """What is known of this run; of another one that had its name, nothing. One worker at a time has a run."""
        with self._lock:
            known = self._known.get(obj.metadata.key)
            if known is None or known.uid != obj.metadata.uid:
                known = self._known[obj.metadata.key] = _Known(obj.metadata.uid)
            return known

    def _asked_lately(self, spec: WALPurgeSpec, known: _Known) -> frozenset[int]:
        """Regions that were asked within staleAfter: their reports may not show it yet."""
        since = self.stopwatch.milliseconds() - spec.safety.stale_after.total_seconds() * 1000
        return frozenset(region for region, at in known.asked_at.items() if at > since)


def _cluster_key(run: WALPurge) -> Key:
    if isinstance(run.spec, InvalidSpec):
        raise Conflict(run.spec.message)
    return Key(run.metadata.namespace, run.spec.cluster_ref.name)


def _of_same_logs(opened: OpenedCluster, action: DeleteRecords) -> dict[str, int]:
    """What to delete of logs that Kafka just confirmed; it knows names only, and cannot be fenced.

    Raises:
        Conflict: a topic is not the one that was looked at any more.
        OutsideUnavailable: Kafka confirmed none.
    """
    found = opened.logs.describe_topics(list(action.before))
    before: dict[str, int] = {}
    for topic, offset in action.before.items():
        described = found.get(topic)
        if not isinstance(described, DescribedTopic):
            continue
        if described.topic_id != action.topic_ids[topic]:
            raise Conflict(f"topic {topic} was recreated since it was looked at")
        before[topic] = offset
    if not before:
        raise OutsideUnavailable("Kafka does not describe any of the topics")
    return before


def _paused(run: WALPurge, cluster: WALCluster) -> str | None:
    """Where a person stopped the run."""
    if run.metadata.is_paused:
        return "seawall.dev/paused is set on the run"
    if cluster.metadata.is_paused:
        return f"seawall.dev/paused is set on WALCluster {cluster.metadata.name}"
    return None
