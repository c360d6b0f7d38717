"""Where metrics go."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol

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


class TopicMeter(Protocol):
    """Where the metrics of topic pools go."""

    def measure(self, key: Key, pool: Pool | None) -> None:
        """Replaces the metrics of one object's pool; None clears them, because nothing is known."""
        ...

    def forget(self, key: Key) -> None:
        """Removes the metrics of an object that is gone."""
        ...


class BrokerMeter(Protocol):
    """Where the metrics of brokers and controllers go."""

    def measure_brokers(self, key: Key, found: BrokersFound | None) -> None:
        """Replaces the metrics of one WALCluster's brokers; None clears them, because nothing is known."""
        ...

    def forget_brokers(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone, or whose Kafka cannot be asked."""
        ...


class ReassignmentMeter(Protocol):
    """Where the metrics of reassignments go."""

    def measure_reassignment(self, key: Key, run: ReassignmentStatus | None, throttled_topics: int | None) -> None:
        """Replaces the metrics of one WALCluster's run, and how many topics are throttled; None: nobody asked."""
        ...

    def forget_reassignment(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone."""
        ...


class RestartMeter(Protocol):
    """Where the metrics of datanodes and their restarts go."""

    def measure_restart(self, key: Key, datanodes: Mapping[str, int], stage: RollStage | None) -> None:
        """Replaces the metrics of one WALCluster's datanodes.

        Args:
            key: the WALCluster.
            datanodes: how many there are, by how they are: Serving, Restarting, or what ails them.
            stage: of the roll; None: there was none.
        """
        ...

    def forget_restart(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone, names no datanodes, or whose StatefulSet is not there."""
        ...

    def measure_kafka_nodes(self, key: Key, nodes: Mapping[str, int], stage: RollStage | None) -> None:
        """Replaces the metrics of the nodes of one managed Kafka.

        Args:
            key: the WALCluster.
            nodes: how many there are, by state: Offline, Fenced, Online or Stopping.
            stage: of their roll; None: there was none.
        """
        ...

    def forget_kafka_nodes(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone, or runs no Kafka."""
        ...


class LedgerMeter(Protocol):
    """Where the metrics of ledgers go."""

    def measure_ledger(self, key: Key, numbers: LedgerNumbers | None) -> None:
        """Replaces the metrics of one WALCluster's ledger; None: nobody can look, and only that is known."""
        ...

    def measure_answer(self, key: Key, used: float | None) -> None:
        """Replaces how much the database's answer about regions takes of what is read at most; None: no answer.

        It is told at each look, and so that there is such a WALCluster.
        """
        ...

    def forget_ledger(self, key: Key) -> None:
        """Removes the metrics of a WALCluster that is gone, or has no data plane."""
        ...


class RunMeter(Protocol):
    """Where the metrics of runs go."""

    def count_run(self, cluster: Key, status: WALPurgeStatus) -> None:
        """Counts a run of this WALCluster that has just ended."""
        ...


class HoldMeter(Protocol):
    """Where the metrics of holds go that a look does not show, because they are over."""

    def count_lost_hold(self, cluster: Key) -> None:
        """Counts a hold on this WALCluster that was just written Lost."""
        ...


class VerificationMeter(Protocol):
    """Where the metrics of verifications go."""

    def count_verification(self, cluster: Key, status: WALVerificationStatus) -> None:
        """Counts a verification of this WALCluster that has just ended."""
        ...

    def measure_verified(self, cluster: Key, ended: datetime) -> None:
        """Tells of a verification that completed; the newest one counts, as long as the WALCluster is there."""
        ...

    def measure_verifications_expected(self, cluster: Key, since: datetime | None) -> None:
        """Tells of since when verifications are due by a schedule; None: none is expected."""
        ...

    def measure_verification_period(self, cluster: Key, period: timedelta | None) -> None:
        """Tells of the time from one scheduled verification to the next; None: none is expected."""
        ...


class BackupMeter(Protocol):
    """Where the metrics of backups go."""

    def count_backup(self, cluster: Key, status: WALBackupStatus) -> None:
        """Counts a backup of this WALCluster that has just ended."""
        ...

    def measure_backup(self, cluster: Key, ended: datetime) -> None:
        """Tells of a backup that completed; the newest one counts, as long as the WALCluster is there."""
        ...


class RestoreMeter(Protocol):
    """Where the metrics of restores go."""

    def count_restore(self, cluster: Key, status: WALRestoreStatus) -> None:
        """Counts a restore of this WALCluster that has just ended, and that no policy made."""
        ...


class BackupPolicyMeter(Protocol):
    """Where the metrics of backup policies go."""

    def measure_backup_policy(
        self, key: Key, last_success: datetime | None, period: timedelta | None, lag_bytes: int | None
    ) -> None:
        """Replaces the metrics of one policy.

        Args:
            key: the policy.
            last_success: when a backup last completed; before that, when the policy was made; None: none is expected.
            period: time from one backup to the next; None: its schedule cannot be read, and the period before stays.
            lag_bytes: what is not backed up; None: that is not known.
        """
        ...

    def measure_drills(
        self, key: Key, last_passed: datetime | None, period: timedelta | None, *, passed: bool | None
    ) -> None:
        """Replaces the metrics of a policy's drills.

        Args:
            key: the policy.
            last_passed: when a drill last passed; before that, since when they are declared; None: none is expected.
            period: time from one drill to the next; None: their schedule cannot be read, and the period before stays.
            passed: whether the last one did; None: there was none.
        """
        ...

    def forget_backup_policy(self, key: Key) -> None:
        """Removes the metrics of a policy that is gone."""
        ...


class SubscriptionMeter(Protocol):
    """Where the metrics of subscriptions go."""

    def measure_subscription(self, key: Key, status: WALSubscriptionStatus, max_bytes: int | None) -> None:
        """Replaces the metrics of one subscription; `max_bytes` is what its budget allows."""
        ...

    def forget_subscription(self, key: Key) -> None:
        """Removes the metrics of a subscription that is gone."""
        ...


class PolicyMeter(Protocol):
    """Where the metrics of policies go."""

    def measure_policy(self, key: Key, last_success: datetime | None, period: timedelta | None) -> None:
        """Replaces the metrics of one policy.

        Args:
            key: the policy.
            last_success: when a run last completed; before that, when the policy was made; None: none is expected.
            period: time from one run to the next; None: its schedule cannot be read, and the period before stays.
        """
        ...

    def forget_policy(self, key: Key) -> None:
        """Removes the metrics of a policy that is gone."""
        ...
