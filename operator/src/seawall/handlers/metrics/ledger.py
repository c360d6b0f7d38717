"""Prometheus metrics of ledgers, holds, runs and policies. `name` is the WALCluster's, or the policy's."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry, Histogram

from seawall.api.meta import Key
from seawall.api.v1alpha1.hold import HoldState
from seawall.api.v1alpha1.purge import FINISHED, WALPurgeStatus
from seawall.api.v1alpha1.verification import WALVerificationStatus
from seawall.domain.ledger.numbers import LedgerNumbers
from seawall.handlers.metrics.backups import OUTCOMES, BackupTelemetry, outcome_label
from seawall.handlers.metrics.newest import Newest
from seawall.handlers.metrics.object_labels import (
    OBJECT,
    ObjectCounter,
    ObjectGauge,
    labels_of,
    set_expected,
    set_or_remove,
)

RUN_BUCKETS = (15, 30, 60, 120, 180, 300, 600, 1200, 1800, 3600)
"""Buckets: a run takes at least one openGrace."""


class WALTelemetry(BackupTelemetry):
    """The LedgerMeter, HoldMeter, RunMeter, VerificationMeter and PolicyMeter ports, and those of backups.

    Args:
        registry: where the metrics are published.
        per_topic: whether every topic gets a series of its own: 10,000 topics are 10,000 series.
    """

    def __init__(self, registry: CollectorRegistry, *, per_topic: bool) -> None:
        super().__init__(registry)
        self._per_topic = per_topic
        self._of_ledger(registry)
        self._of_runs(registry)
        self._of_verifications(registry)

    def _of_ledger(self, registry: CollectorRegistry) -> None:
        """Gauges of ledgers and holds."""
        self._can_observe = self._gauge(
            "seawall_wal_can_look", "1 while the ledger can be looked at; its other numbers are absent while not"
        )
        self._last_observation = self._gauge(
            "seawall_wal_last_look_timestamp_seconds", "When the ledger was last looked at"
        )
        self._intact = self._gauge(
            "seawall_wal_intact",
            "0 when a look found a damaged log; absent while nobody can look. Of lost topics WALIntact alone tells",
        )
        self._topics = self._gauge(
            "seawall_wal_topics", "Topics by the reason for leaving them alone, or Purgeable", "reason"
        )
        self._numbers: Mapping[str, ObjectGauge] = {
            "entries": self._gauge("seawall_wal_entries", "Entries: high watermarks less log starts"),
            "purgeable_entries": self._gauge("seawall_wal_purgeable_entries", "Entries that a run would delete now"),
            "bytes": self._gauge("seawall_wal_bytes", "Bytes that one replica of each topic takes on disk"),
            "purgeable_bytes": self._gauge("seawall_wal_purgeable_bytes", "Bytes of the purgeable entries, estimated"),
            "unreadable_shards": self._gauge("seawall_wal_unreadable_shards", "Shards of intents that cannot be read"),
        }
        self._answer_used = self._gauge(
            "seawall_database_answer_used_ratio",
            "How much the database's answer about regions takes of what is read of one; beyond 1 nothing is purged",
        )
        self._holds = self._gauge("seawall_holds", "WALHolds that are not over, by state", "state")
        self._hold_lag = self._gauge("seawall_hold_lag_bytes", "Bytes that a hold claims, by hold", "hold")
        self._lost = ObjectCounter("seawall_holds_lost", "WALHolds that were lost", OBJECT, registry=registry)
        self._topic_reason = ObjectGauge(
            "seawall_topic_reason",
            "1 for the reason for leaving a topic alone, or Purgeable",
            [*OBJECT, "topic", "reason"],
            registry=registry if self._per_topic else None,
        )
        self._gauges.append(self._topic_reason)

    def _of_runs(self, registry: CollectorRegistry) -> None:
        """What is counted of runs, and the gauges of policies."""
        self._runs = ObjectCounter(
            "seawall_purge_runs", "Runs that ended, by result", [*OBJECT, "result"], registry=registry
        )
        self._deleted = ObjectCounter(
            "seawall_purge_deleted_entries", "Entries that runs deleted", OBJECT, registry=registry
        )
        self._freed = ObjectCounter(
            "seawall_purge_freed_bytes",
            "Bytes by which topics were smaller on disk at a run's end; Kafka frees most of them some minutes later",
            OBJECT,
            registry=registry,
        )
        self._duration = Histogram(
            "seawall_purge_duration_seconds", "Duration of runs", ["result"], registry=registry, buckets=RUN_BUCKETS
        )
        self._last_success = self._gauge(
            "seawall_policy_last_success_timestamp_seconds",
            "The policy's lastSuccessfulTime, or else its creation; absent while no run is expected",
        )
        self._period = self._gauge(
            "seawall_policy_period_seconds",
            "Time from one run of the policy to the next; that of before while the schedule cannot be read",
        )

    def _of_verifications(self, registry: CollectorRegistry) -> None:
        """What is counted of verifications, and when the log was last verified."""
        self._verifications = ObjectCounter(
            "seawall_verifications", "Verifications that ended, by outcome", [*OBJECT, "outcome"], registry=registry
        )
        self._last_verified = Newest(
            self._gauge(
                "seawall_last_verified_timestamp_seconds", "When the driver of the last good verification ended"
            )
        )
        self._verifications_expected = self._gauge(
            "seawall_verification_scheduled_timestamp_seconds",
            "Since when verifications of the WALCluster are due by a schedule; absent while none is expected",
        )
        self._period_of_verifications = self._gauge(
            "seawall_verification_period_seconds",
            "Time from one scheduled verification of the WALCluster to the next; absent while none is expected",
        )

    def measure_ledger(self, key: Key, numbers: LedgerNumbers | None) -> None:
        """Replaces the metrics of one ledger; when nobody can look, old numbers would be lies."""
        self._meet(key)
        self._can_observe.labels(*_of(key)).set(numbers is not None)
        self._begin_to_count(key)
        if numbers is None:
            self._clear(key)
            return
        self._last_observation.labels(*_of(key)).set_to_current_time()
        self._intact.labels(*_of(key)).set(numbers.is_intact)
        self._topics.replace(key, {(reason,): count for reason, count in numbers.topics.items()})
        for name, gauge in self._numbers.items():
            set_or_remove(gauge, key, getattr(numbers, name))
        holds, live = numbers.holds, [state for state in HoldState if not state.is_final]
        self._holds.replace(key, {} if holds is None else {(state.value,): holds.get(state, 0) for state in live})
        self._hold_lag.replace(key, {(hold,): lag for hold, lag in numbers.hold_lags.items()})
        if self._per_topic:
            self._topic_reason.replace(key, dict.fromkeys(numbers.reasons.items(), 1))

    def measure_answer(self, key: Key, used: float | None) -> None:
        """Replaces it, or removes it."""
        self._meet(key)
        set_or_remove(self._answer_used, key, used)

    def forget_ledger(self, key: Key) -> None:
        """Removes the metrics of one ledger."""
        self._clear(key)
        set_or_remove(self._answer_used, key, None)
        counters = (self._lost, self._deleted, self._freed, self._runs, self._verifications)
        with self._lock:
            self._forget_cluster(key)
            for metric in (self._can_observe, self._last_observation, *counters):
                metric.remove_by_labels(labels_of(key))
            self._forget_backups(key)
        self._last_verified.forget(key)
        for gauge in (self._verifications_expected, self._period_of_verifications):
            gauge.remove_by_labels(labels_of(key))

    def _clear(self, key: Key) -> None:
        """Removes what only a look tells."""
        gauges = (self._topics, self._holds, self._hold_lag, self._topic_reason, self._intact, *self._numbers.values())
        for gauge in gauges:
            gauge.remove_by_labels(labels_of(key))

    def _meet(self, key: Key) -> None:
        """A WALCluster is there: whoever looks at it says so, and forgets it when it is gone."""
        self._meet_cluster(key)
        self._last_verified.meet(key)
        self._last_backup.meet(key)

    def _begin_to_count(self, key: Key) -> None:
        """Publishes zeros: Prometheus sees no increase in a counter that appears with its first event."""
        for counter in (self._lost, self._deleted, self._freed):
            counter.labels(*_of(key))
        for result in FINISHED:
            self._runs.labels(*_of(key), result.value)
        for outcome in OUTCOMES:
            self._verifications.labels(*_of(key), outcome)
        self._begin_to_count_backups(key)

    def count_lost_hold(self, cluster: Key) -> None:
        """Counts a hold that was lost."""
        self._count(self._lost, cluster)

    def count_run(self, cluster: Key, status: WALPurgeStatus) -> None:
        """Counts a run that ended."""
        result = "" if status.stage is None else status.stage.value
        self._count(self._runs, cluster, result)
        self._count(self._deleted, cluster, by=status.entries_deleted or 0)
        if status.bytes_before is not None and status.bytes_after is not None:
            self._count(self._freed, cluster, by=max(0, status.bytes_before - status.bytes_after))
        if status.start_time is not None and status.completion_time is not None:
            self._duration.labels(result).observe((status.completion_time - status.start_time).total_seconds())

    def count_verification(self, cluster: Key, status: WALVerificationStatus) -> None:
        """Counts a verification that ended."""
        self._count(self._verifications, cluster, outcome_label(status))

    def measure_verified(self, cluster: Key, ended: datetime) -> None:
        """Keeps the newest."""
        self._last_verified.measure(cluster, ended)

    def measure_verifications_expected(self, cluster: Key, since: datetime | None) -> None:
        """Replaces the time, or removes it."""
        set_or_remove(self._verifications_expected, cluster, None if since is None else since.timestamp())

    def measure_verification_period(self, cluster: Key, period: timedelta | None) -> None:
        """Replaces the period, or removes it."""
        set_or_remove(self._period_of_verifications, cluster, None if period is None else int(period.total_seconds()))

    def measure_policy(self, key: Key, last_success: datetime | None, period: timedelta | None) -> None:
        """Replaces the metrics of one policy."""
        set_expected(self._last_success, self._period, key, last_success, period)

    def forget_policy(self, key: Key) -> None:
        """Removes the metrics of one policy."""
        self._last_success.remove_by_labels(labels_of(key))
        self._period.remove_by_labels(labels_of(key))

    def clear(self) -> None:
        """A process that does not lead knows nothing of the objects any more; what it counted stays counted."""
        for gauge in self._gauges:
            gauge.clear()
        with self._lock:
            self._gone.clear()
            self._there.clear()
        self._last_verified.clear()
        self._last_backup.clear()


def _of(key: Key) -> tuple[str, str]:
    return key.namespace, key.name
