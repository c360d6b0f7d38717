"""The closed set of reasons that WALBackups have beside those of all Spark jobs."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """How a WALBackup ends; each member says its state, and what to do."""

    BACKED_UP = "BackedUp"
    """Ready. The end: all topics are in the store, and what `spec.verify` asks for was proved."""
    NOTHING_TO_BACK_UP = "NothingToBackUp"
    """Ready. The end: no region writes to any of the topics."""
    NOT_ALL_BACKED_UP = "NotAllBackedUp"
    """Stalled. The end: `status.notBackedUp` says which topics were left out, and why (the ledger's reasons). What was
    written counts, and can be restored; no incremental backup continues it."""
    AWAITING_SNAPSHOT = "AwaitingSnapshot"
    """Not ready. The log is held for a restore point: take the database's own snapshot, of its metadata first and
    then of its files, and set `seawall.dev/snapshot-done` to what it is called (`seawall backup end`)."""
    SNAPSHOT_TOO_EARLY = "SnapshotTooEarly"
    """Not ready. `seawall.dev/snapshot-done` was set before the log was held, and says nothing of a snapshot that is
    taken in the bracket: take the annotation away."""
    SNAPSHOT_UNNAMED = "SnapshotUnnamed"
    """Not ready. `seawall.dev/snapshot-done` has no name that a backup can keep: at most 253 printable characters of
    ASCII. Correct it."""
    BRACKET_TIMED_OUT = "BracketTimedOut"
    """Stalled. The end: nobody said within `bracket.timeout` that the snapshot is taken, and the log is held no longer.
    Make another WALBackup, with a longer timeout, and take another snapshot."""
    POINT_LOST = "PointLost"
    """Stalled. The end: the log does not have all that the snapshot may need of it; the message says where. Make
    another WALBackup, and take another snapshot."""
    PARENT_UNUSABLE = "ParentUnusable"
    """Stalled. The end: what it was to continue is not there, not Completed, of another WALCluster, kept elsewhere, or
    continued by another one already. Continue the newest backup of the chain, or make a full one."""
    CHAIN_ENDED = "ChainEnded"
    """Stalled. The end: the log does not go on where the parent ended: a topic was made again, or records that no
    backup has were deleted or lost; or regions read from before the chain, as after metadata of an older copy. The
    message says where. Make a full backup; look for who deletes."""
    LOG_CHANGED = "LogChanged"
    """Stalled. The end: the log was cut, or made again, while it was read. Make another backup."""
    DAMAGED = "BackupDamaged"
    """Stalled. The end: what the store has is not what was written; `status.findings` say where. It does not count.
    Look at the store, and make another backup."""


class DrillReason(StrEnum):
    """Why no drill of a WALBackupPolicy passes, beside the reasons of WALRestores."""

    NAME_TAKEN = "DrillNameTaken"
    """False. A WALRestore of the next one's name is somebody else's. Delete it, or wait for the next time."""


class PolicyReason(StrEnum):
    """Why a WALBackupPolicy is as it is; each member says its state, and what ends it."""

    SCHEDULED = "Scheduled"
    """Ready. Backups begin as declared; whether they succeed is in `BackedUp`."""
    SUSPENDED = "Suspended"
    """Ready. No new backups: set `suspend: false`. The log is held for the next one as long as `hold` allows."""
    PAUSED = "Paused"
    """Not ready. seawall.dev/paused is set on the policy: remove it. Holds are looked after all the same."""
    INVALID_SPEC = "InvalidSpec"
    """Stalled. The spec does not fit this operator's models. Upgrade the CRDs, and correct it."""
    NAME_UNUSABLE = "NameUnusable"
    """Stalled. Backups could not be named after the policy. Make one with a shorter name, and without dots."""
    HOLD_NAME_TAKEN = "HoldNameTaken"
    """Stalled. The WALHold that is to keep the log for the next backup has the name of somebody else's. Delete that
    one; no backup begins meanwhile."""
    CLUSTER_INVALID = "ClusterInvalid"
    """Stalled. The spec of the WALCluster does not fit this operator's models: its conditions say why."""
    CLUSTER_MISSING = "ClusterMissing"
    """Stalled. There is no such WALCluster in the namespace. Create it."""
    NOT_DECLARED = "BackupNotDeclared"
    """Stalled. The WALCluster does not say where backups go, or by which code. Set its `spec.backup`."""
    RUN_NAME_TAKEN = "RunNameTaken"
    """Stalled. A WALBackup of the next one's name is somebody else's. Delete it, or wait for the next time."""


class RetentionReason(StrEnum):
    """Whether chains that nobody needs are deleted in the store; each member says its state, and what to do."""

    APPLIED = "Applied"
    """True. Nothing is in the store that the retention lets go, as far as the policy knows."""
    LOCKED = "Locked"
    """False. The bucket does not let objects go yet (Object Lock); the message names one. They go when that is over;
    let the lock last no longer than the recovery window."""
    STORE_REFUSED = "StoreRefused"
    """False. The store refuses: the Secret of `expiryCredentialsSecretRef` is missing, or its user may not delete. The
    message is the store's. Backups go on; the next one tries again."""
    LEFT_ALONE = "ChainLeftAlone"
    """False. A chain in the store is not what this policy knows, has a restore point, or went on elsewhere; or one that
    is to stay is not whole (check that one at once). The message says which. What nobody needs a person deletes: the
    chain's folder."""
    INTERRUPTED = "DeletionInterrupted"
    """False. The store did not answer; the next backup goes on."""
    BEHIND = "RetentionBehind"
    """False. Chains stay longer than declared: the newest backup is far ahead of the time from which the window counts
    back (`status.retentionTime`), which each one moves on by at most twice the time between two. After a pause it
    catches up by itself. If backups take longer than that, set `schedule` to begin them no more often than they
    complete; if a clock is ahead, correct it."""
    WAL_NOT_INTACT = "WALNotIntact"
    """False. A log begins beyond what a region reads, or may, because a region does not say what it reads: only older
    chains may have what is missing, so nothing goes, and full backups that are made meanwhile do not count as proved.
    Look at `WALIntact` of the WALCluster. A region that the message names must open, or its table be dropped, or
    nobody have it any more (`seawall.dev/dead-regions`). Then the next backup goes on, and the next full one counts."""
    TOO_MANY_CHAINS = "TooManyChains"
    """False. The list of chains is full. Make full backups more rarely, or the recovery window shorter; folders of
    chains that began meanwhile are a person's to delete."""
