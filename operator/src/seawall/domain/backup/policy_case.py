"""A WALBackupPolicy, and what one tick observed for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import WALBackupPolicy
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.restore import WALRestore
from seawall.domain.backup.chains import Listed, why_broken
from seawall.domain.backup.runs import OwnBackups, due_time, is_incremental
from seawall.domain.schedule import newest


@dataclass(frozen=True, slots=True)
class Observed:
    """What one tick sees: the WALCluster, and all backups and holds of the namespace."""

    now: datetime
    cluster: WALCluster | None = None
    backups: Sequence[WALBackup] = ()
    holds: Sequence[WALHold] = ()
    restores: Sequence[WALRestore] = ()
    """All of the namespace."""


@dataclass(frozen=True, slots=True)
class Case:
    """A policy, and what was observed."""

    policy: WALBackupPolicy
    own: OwnBackups
    observed: Observed
    last_run: datetime | None
    listed: Listed

    @property
    def now(self) -> datetime:
        """The time of this tick."""
        return self.observed.now

    @property
    def created(self) -> datetime:
        """When the policy was made."""
        return self.policy.metadata.creation_timestamp

    @property
    def broken(self) -> str | None:
        """That the chain of the last backup did not come back, as a clause; None: nobody found that."""
        return why_broken(self.listed, self.own.last, self.observed.restores)

    def last_full(self) -> datetime | None:
        """For what time the last full backup was due that completed."""
        fulls = [each for each in self.own.completed if each.status.manifest is not None and not is_incremental(each)]
        times = [*(due_time(self.own.policy, each.metadata.name) for each in fulls), self.policy.status.last_full_time]
        return newest(times, self.now)
