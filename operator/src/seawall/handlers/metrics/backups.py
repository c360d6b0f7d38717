"""Prometheus metrics of backups, of their policies and drills, and of restores. `name` is as in `ledger.py`."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup import WALBackupStatus
from seawall.api.v1alpha1.restore_status import ENDED, WALRestoreStatus
from seawall.api.v1alpha1.spark_job import JobStage, JobStatus, Outcome
from seawall.handlers.metrics.newest import Newest
from seawall.handlers.metrics.object_labels import (
    OBJECT,
    ObjectCounter,
    ObjectGauge,
    labels_of,
    set_expected,
    set_or_remove,
)

NOT_BEGUN = "NotBegun"
"""What is counted of a verification or a backup that failed before it had an application."""
NOTHING_TO_DO = "NothingToDo"
"""Of one that completed without an application: there was nothing to read."""
INCOMPLETE = "Incomplete"
"""Of one whose job found nothing bad, and that failed all the same: it left out something that was asked for."""
OUTCOMES = (*(each.value for each in Outcome), NOT_BEGUN, NOTHING_TO_DO, INCOMPLETE)
"""All of them."""


def outcome_label(status: JobStatus) -> str:
    """What is counted of a verification or a backup that ended: `Passed` is nothing that an alert should speak of."""
    if status.outcome is None:
        return NOTHING_TO_DO if status.stage is JobStage.COMPLETED else NOT_BEGUN
    is_incomplete = status.outcome is Outcome.PASSED and status.stage is JobStage.FAILED
    return INCOMPLETE if is_incomplete else status.outcome.value


class BackupTelemetry:
    """The BackupMeter, RestoreMeter and BackupPolicyMeter ports.

    Args:
        registry: where the metrics are published.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._lock = threading.Lock()
        self._gone: set[Key] = set()
        """WALClusters that were forgotten: what ends late of one that is gone is counted no more, or its series would
        come back, and stay."""
        self._there: set[Key] = set()
        self._early: dict[Key, dict[tuple[ObjectCounter, tuple[str, ...]], float]] = {}
        """What ended before this process has met its WALCluster: a `clusterRef` may name one that there never is, and
        nobody would remove its series."""
        self._gauges: list[ObjectGauge] = []
        self._backups = ObjectCounter(
            "seawall_backups", "Backups that ended, by outcome", [*OBJECT, "outcome"], registry=registry
        )
        self._restores = ObjectCounter(
            "seawall_restores",
            "WALRestores that ended, by result, without those that policies make: seawall_drill_passed",
            [*OBJECT, "result"],
            registry=registry,
        )
        self._last_backup = Newest(
            self._gauge("seawall_last_backup_timestamp_seconds", "When a backup of the WALCluster last completed")
        )
        self._last_of_backups = self._gauge(
            "seawall_backup_policy_last_success_timestamp_seconds",
            "When a backup of the policy last completed, or else the policy's creation",
        )
        self._period_of_backups = self._gauge(
            "seawall_backup_policy_period_seconds", "Time from one backup of the policy to the next"
        )
        self._backup_lag = self._gauge("seawall_backup_lag_bytes", "Bytes of topics that are not backed up")
        self._last_drill = self._gauge(
            "seawall_drill_last_success_timestamp_seconds",
            "When a drill of the policy last passed, or else since when drills are declared",
        )
        self._period_of_drills = self._gauge(
            "seawall_drill_period_seconds", "Time from one drill of the policy to the next"
        )
        self._drill_passed = self._gauge("seawall_drill_passed", "Whether the last drill of the policy passed")

    def _gauge(self, name: str, text: str, *labels: str) -> ObjectGauge:
        made = ObjectGauge(name, text, [*OBJECT, *labels], registry=self._registry)
        self._gauges.append(made)
        return made

    def _count(self, counter: ObjectCounter, cluster: Key, *labels: str, by: float = 1) -> None:
        """Counts what is about a WALCluster, once that is met; several threads call this at once."""
        with self._lock:
            if cluster in self._there:
                counter.labels(cluster.namespace, cluster.name, *labels).inc(by)
            elif cluster not in self._gone:
                early = self._early.setdefault(cluster, {})
                early[counter, labels] = early.get((counter, labels), 0) + by

    def _meet_cluster(self, cluster: Key) -> None:
        """It is there: what is about it is counted from now on, and what was before."""
        with self._lock:
            self._gone.discard(cluster)
            self._there.add(cluster)
            for (counter, labels), by in self._early.pop(cluster, {}).items():
                counter.labels(cluster.namespace, cluster.name, *labels).inc(by)

    def _forget_cluster(self, cluster: Key) -> None:
        """It is gone; the lock is held."""
        self._gone.add(cluster)
        self._there.discard(cluster)
        self._early.pop(cluster, None)

    def count_backup(self, cluster: Key, status: WALBackupStatus) -> None:
        """Counts a backup that ended."""
        self._count(self._backups, cluster, outcome_label(status))

    def count_restore(self, cluster: Key, status: WALRestoreStatus) -> None:
        """Counts a restore that ended."""
        result = "" if status.stage is None else status.stage.value
        self._count(self._restores, cluster, result)

    def measure_backup(self, cluster: Key, ended: datetime) -> None:
        """Keeps the newest."""
        self._last_backup.measure(cluster, ended)

    def measure_backup_policy(
        self, key: Key, last_success: datetime | None, period: timedelta | None, lag_bytes: int | None
    ) -> None:
        """Replaces the metrics of one policy of backups."""
        set_expected(self._last_of_backups, self._period_of_backups, key, last_success, period)
        set_or_remove(self._backup_lag, key, lag_bytes)

    def forget_backup_policy(self, key: Key) -> None:
        """Removes the metrics of one policy of backups, and of its drills."""
        for gauge in (self._last_of_backups, self._period_of_backups, self._backup_lag):
            gauge.remove_by_labels(labels_of(key))
        for gauge in (self._last_drill, self._period_of_drills, self._drill_passed):
            gauge.remove_by_labels(labels_of(key))

    def measure_drills(
        self, key: Key, last_passed: datetime | None, period: timedelta | None, *, passed: bool | None
    ) -> None:
        """Replaces the metrics of a policy's drills."""
        set_expected(self._last_drill, self._period_of_drills, key, last_passed, period)
        set_or_remove(self._drill_passed, key, passed)

    def _begin_to_count_backups(self, cluster: Key) -> None:
        """Publishes zeros: Prometheus sees no increase in a counter that appears with its first event."""
        for outcome in OUTCOMES:
            self._backups.labels(cluster.namespace, cluster.name, outcome)
        for ended in ENDED:
            self._restores.labels(cluster.namespace, cluster.name, ended.value)

    def _forget_backups(self, cluster: Key) -> None:
        """Removes what there is of a WALCluster."""
        for counter in (self._backups, self._restores):
            counter.remove_by_labels(labels_of(cluster))
        self._last_backup.forget(cluster)
