"""Where metrics go in tests: the numbers as they were told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from seawall.api.meta import Key
from seawall.api.v1alpha1.backup import WALBackupStatus
from seawall.api.v1alpha1.purge import WALPurgeStatus
from seawall.api.v1alpha1.reassignment import ReassignmentStatus
from seawall.api.v1alpha1.restore_status import WALRestoreStatus
from seawall.api.v1alpha1.rollout import RollStage
from seawall.api.v1alpha1.subscription_status import WALSubscriptionStatus
from seawall.api.v1alpha1.verification import WALVerificationStatus
from seawall.domain.brokers.view import BrokersFound
from seawall.domain.ledger.numbers import LedgerNumbers
from seawall.domain.topics.pool import Pool


@dataclass
class FakeMeters:
    """All of the ports of `ports/meters.py`."""

    pools: dict[Key, Pool | None] = field(default_factory=dict)
    ledgers: dict[Key, LedgerNumbers | None] = field(default_factory=dict)
    brokers: dict[Key, BrokersFound | None] = field(default_factory=dict)
    reassignments: dict[Key, tuple[ReassignmentStatus | None, int | None]] = field(default_factory=dict)
    restarts: dict[Key, tuple[Mapping[str, int], RollStage | None]] = field(default_factory=dict)
    kafka_nodes: dict[Key, tuple[Mapping[str, int], RollStage | None]] = field(default_factory=dict)
    lost_holds: list[Key] = field(default_factory=list)
    runs: list[WALPurgeStatus] = field(default_factory=list)
    verifications: list[WALVerificationStatus] = field(default_factory=list)
    backups: list[WALBackupStatus] = field(default_factory=list)
    restores: list[tuple[Key, WALRestoreStatus]] = field(default_factory=list)
    backed_up: dict[Key, datetime] = field(default_factory=dict)
    backup_policies: dict[Key, tuple[datetime | None, timedelta | None, int | None]] = field(default_factory=dict)
    drills: dict[Key, tuple[datetime | None, timedelta | None, bool | None]] = field(default_factory=dict)
    verified: dict[Key, datetime] = field(default_factory=dict)
    verifications_expected: dict[Key, datetime | None] = field(default_factory=dict)
    verification_periods: dict[Key, timedelta | None] = field(default_factory=dict)
    policies: dict[Key, tuple[datetime | None, timedelta | None]] = field(default_factory=dict)
    subscriptions: dict[Key, tuple[WALSubscriptionStatus, int | None]] = field(default_factory=dict)
    answers: dict[Key, float | None] = field(default_factory=dict)

    def measure(self, key: Key, pool: Pool | None) -> None:
        """Keeps the newest."""
        self.pools[key] = pool

    def forget(self, key: Key) -> None:
        """Forgets."""
        self.pools.pop(key, None)

    def measure_ledger(self, key: Key, numbers: LedgerNumbers | None) -> None:
        """Keeps the newest."""
        self.ledgers[key] = numbers

    def measure_answer(self, key: Key, used: float | None) -> None:
        """Keeps the newest."""
        self.answers[key] = used

    def forget_ledger(self, key: Key) -> None:
        """Forgets."""
        self.answers.pop(key, None)
        self.ledgers.pop(key, None)

    def measure_brokers(self, key: Key, found: BrokersFound | None) -> None:
        """Keeps the newest."""
        self.brokers[key] = found

    def forget_brokers(self, key: Key) -> None:
        """Forgets."""
        self.brokers.pop(key, None)

    def measure_reassignment(self, key: Key, run: ReassignmentStatus | None, throttled_topics: int | None) -> None:
        """Keeps the newest."""
        self.reassignments[key] = run, throttled_topics

    def forget_reassignment(self, key: Key) -> None:
        """Forgets."""
        self.reassignments.pop(key, None)

    def count_lost_hold(self, cluster: Key) -> None:
        """Keeps all."""
        self.lost_holds.append(cluster)

    def measure_restart(self, key: Key, datanodes: Mapping[str, int], stage: RollStage | None) -> None:
        """Keeps the newest."""
        self.restarts[key] = datanodes, stage

    def measure_kafka_nodes(self, key: Key, nodes: Mapping[str, int], stage: RollStage | None) -> None:
        """Keeps the newest."""
        self.kafka_nodes[key] = nodes, stage

    def forget_kafka_nodes(self, key: Key) -> None:
        """Forgets."""
        self.kafka_nodes.pop(key, None)

    def forget_restart(self, key: Key) -> None:
        """Forgets."""
        self.restarts.pop(key, None)

    def count_run(self, cluster: Key, status: WALPurgeStatus) -> None:  # noqa: ARG002 - the port's signature
        """Keeps all."""
        self.runs.append(status)

    def measure_policy(self, key: Key, last_success: datetime | None, period: timedelta | None) -> None:
        """Keeps the newest."""
        self.policies[key] = last_success, period

    def forget_policy(self, key: Key) -> None:
        """Forgets."""
        self.policies.pop(key, None)

    def count_verification(self, cluster: Key, status: WALVerificationStatus) -> None:  # noqa: ARG002 - the port's
        """Keeps all."""
        self.verifications.append(status)

    def measure_verified(self, cluster: Key, ended: datetime) -> None:
        """Keeps the newest."""
        self.verified[cluster] = max(ended, self.verified.get(cluster, ended))

    def measure_verifications_expected(self, cluster: Key, since: datetime | None) -> None:
        """Keeps the newest."""
        self.verifications_expected[cluster] = since

    def measure_verification_period(self, cluster: Key, period: timedelta | None) -> None:
        """Keeps the newest."""
        self.verification_periods[cluster] = period

    def count_backup(self, cluster: Key, status: WALBackupStatus) -> None:  # noqa: ARG002 - the port's
        """Keeps all."""
        self.backups.append(status)

    def count_restore(self, cluster: Key, status: WALRestoreStatus) -> None:
        """Keeps all."""
        self.restores.append((cluster, status))

    def measure_backup(self, cluster: Key, ended: datetime) -> None:
        """Keeps the newest."""
        self.backed_up[cluster] = max(ended, self.backed_up.get(cluster, ended))

    def measure_backup_policy(
        self, key: Key, last_success: datetime | None, period: timedelta | None, lag_bytes: int | None
    ) -> None:
        """Keeps the newest."""
        self.backup_policies[key] = last_success, period, lag_bytes

    def measure_drills(
        self, key: Key, last_passed: datetime | None, period: timedelta | None, *, passed: bool | None
    ) -> None:
        """Keeps the newest."""
        self.drills[key] = last_passed, period, passed

    def forget_backup_policy(self, key: Key) -> None:
        """Forgets."""
        self.backup_policies.pop(key, None)
        self.drills.pop(key, None)

    def measure_subscription(self, key: Key, status: WALSubscriptionStatus, max_bytes: int | None) -> None:
        """Keeps the newest."""
        self.subscriptions[key] = status, max_bytes

    def forget_subscription(self, key: Key) -> None:
        """Forgets."""
        self.subscriptions.pop(key, None)
