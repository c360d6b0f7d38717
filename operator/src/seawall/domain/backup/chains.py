"""What a policy knows of its chains in the store: its status has it, because objects of Kubernetes go, and stores stay.

It is built of the WALBackups and WALRestores as they end, and is there before the history limits take one of them. An
API server that was restored has an old list: chains that are not in it are never deleted, and those that were deleted
already are deleted again, which finds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from seawall.api.duration import format_duration
from seawall.api.meta import DEAD_ANNOTATION, Condition, ConditionType
from seawall.api.v1alpha1.backup import BackupExpiry, WALBackup
from seawall.api.v1alpha1.backup_policy import MAX_CHAINS, BackupChain, Retention, WALBackupPolicyStatus
from seawall.api.v1alpha1.backup_template import BackupLevel
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.backup.broken import as_restored
from seawall.domain.backup.reasons import RetentionReason
from seawall.domain.backup.runs import OwnBackups, RemoveBackup, is_incremental, keeps
from seawall.domain.conditions import ConditionBuilder, as_status
from seawall.domain.events import EventReason
from seawall.domain.step import Event, EventType
from seawall.domain.times import RETENTION_BEHIND_PERIODS

_PROBLEMS = {
    "Locked": RetentionReason.LOCKED,
    "Refused": RetentionReason.STORE_REFUSED,
    "LeftAlone": RetentionReason.LEFT_ALONE,
}
"""The driver's words; any other means that it was interrupted."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The chains of a policy.

    Attributes:
        rows: the oldest first.
        time: from when its recovery window counts back; None: nothing has completed yet.
        is_full: whether there are chains for which the list has no room.
        newest: when the newest backup completed, by the clock that says less.
        between: the time from one backup to the next; None: nobody knows, or none are expected.
    """

    rows: tuple[BackupChain, ...]
    time: datetime | None
    is_full: bool = False
    newest: datetime | None = None
    between: timedelta | None = None

    @property
    def chains(self) -> tuple[BackupChain, ...]:
        """Those that are in the store."""
        return tuple(each for each in self.rows if not each.gone)

    def superfluous(self, own: OwnBackups) -> tuple[RemoveBackup, ...]:
        """Objects of chains that are deleted: nothing can continue or restore them."""
        gone = {each.name for each in self.rows if each.gone}
        found = (each for each in own.all if each.status.is_over and each.status.chain in gone)
        return tuple(RemoveBackup(each, "its chain is deleted in the store") for each in found)


def list_chains(
    status: WALBackupPolicyStatus,
    own: OwnBackups,
    backups: Sequence[WALBackup],
    restores: Sequence[WALRestore],
    between: timedelta | None,
    *,
    now: datetime,
) -> Listed:
    """The list with what has ended since; `between` is the time from one backup to the next, None: nobody knows.

    `now` is the operator's clock: all times of a backup are the API server's.
    """
    rows, time, is_full = {each.name: each for each in status.chains}, status.retention_time, False
    for backup in own.all:
        chain, place = backup.status.chain or "", _place(backup)
        if place is None or (chain not in rows and (place > 0 or is_incremental(backup))):
            continue
        if chain in rows and place < rows[chain].backups:
            continue
        if chain not in rows and len(rows) >= MAX_CHAINS:
            is_full = True
            continue
        rows[chain] = _begun(backup, time) if chain not in rows else _continued(rows[chain], backup, place)
        time = _moved(time, backup, between, now)
    gone = {name for each in own.all if each.status.expiry is not None for name in each.status.expiry.gone}
    left = {each.status.chain for each in own.all}
    marked = (row.model_copy(update={"gone": True}) if row.name in gone else row for row in rows.values())
    there = (as_restored(_kept(row, backups), restores) for row in marked if not row.gone or row.name in left)
    return Listed(tuple(there), time, is_full, None if own.last is None else _newest(own.last, now), between)


def _place(backup: WALBackup) -> int | None:
    """Its place in its chain, 0 for a full one, by the name of its manifest; None: it wrote nothing that counts."""
    status = backup.status
    if not status.is_over or status.manifest is None or not (status.chain and status.location and status.cluster_id):
        return None
    place = status.manifest.name.removesuffix(".json.gz").rpartition("-")[2]
    return int(place) if place.isdecimal() else None


def _begun(backup: WALBackup, time: datetime | None) -> BackupChain:
    """A clock that was behind makes no full backup old: it is not older than what came before it."""
    status, created, completed = backup.status, backup.metadata.creation_timestamp, _completed(backup)
    if status.manifest is None:
        raise ValueError("a chain begins with a manifest")
    is_whole = status.stage is JobStage.COMPLETED and status.verified is not None and not _beyond_replay(backup)
    return BackupChain(
        name=status.chain or "",
        location=status.location or "",
        cluster_id=status.cluster_id or "",
        full=status.manifest,
        full_time=max(created, completed, time or created),
        newest_time=completed,
        stored_bytes=0 if status.counts is None else status.counts.stored_bytes,
        verified=status.verified.level if is_whole and status.verified is not None else BackupLevel.NONE,
    )


def _beyond_replay(backup: WALBackup) -> int:
    """Topics of which it has not all that regions read: only older chains may have what is missing."""
    counts = backup.status.topic_counts
    return 0 if counts is None else counts.beyond_replay or 0


def _continued(row: BackupChain, backup: WALBackup, place: int) -> BackupChain:
    more = 0 if backup.status.counts is None else backup.status.counts.stored_bytes
    update = {"newest_time": _completed(backup), "backups": place + 1, "stored_bytes": row.stored_bytes + more}
    return row.model_copy(update=update)


def _completed(backup: WALBackup) -> datetime:
    return backup.status.completion_time or backup.metadata.creation_timestamp


def _newest(backup: WALBackup, now: datetime) -> datetime:
    """When it completed: both clocks, ours and the API server's, must say so."""
    return min(backup.metadata.creation_timestamp, _completed(backup), now)


def _moved(time: datetime | None, backup: WALBackup, between: timedelta | None, now: datetime) -> datetime | None:
    """From when the window counts back: it goes in steps, whatever clocks say."""
    if backup.status.stage is not JobStage.COMPLETED:
        return time
    newest = _newest(backup, now)
    if time is None:
        return newest
    return max(time, min(newest, time + 2 * (between or timedelta(0))))


def _kept(row: BackupChain, backups: Sequence[WALBackup]) -> BackupChain:
    """`keep` ends where it is taken back, and not where its object is deleted."""
    found = {each.metadata.name: keeps(each) for each in backups if each.status.chain == row.name}
    keeper = next((name for name, keep in found.items() if keep), None)
    if keeper is None and row.kept_by not in found:
        keeper = row.kept_by
    return row if keeper == row.kept_by else row.model_copy(update={"kept_by": keeper})


def retention_condition(
    listed: Listed, own: OwnBackups, retention: Retention | None, build: ConditionBuilder
) -> tuple[Condition, ...]:
    """Whether what nobody needs is deleted; none without a retention."""
    if retention is None:
        return ()
    reason, message = _retention_state(listed, own, retention.recovery_window)
    applied = as_status(reason is RetentionReason.APPLIED)
    return (build(ConditionType.RETENTION_APPLIED, applied, reason, message),)


def _retention_state(listed: Listed, own: OwnBackups, window: timedelta) -> tuple[RetentionReason, str]:
    if listed.is_full:
        message = f"{len(listed.rows)} chains are known, and no more are: those that began since are never deleted"
        return RetentionReason.TOO_MANY_CHAINS, message
    newest = own.newest_written
    if newest is not None and (count := _beyond_replay(newest)):
        message = f"{newest.metadata.name} found {count} logs that begin beyond what a region reads"
        message += _silent(newest)
        return RetentionReason.WAL_NOT_INTACT, f"{message}: only older chains may have what is missing"
    names = {each.name for each in listed.chains}
    found = _newest_expiry(own)
    if found is not None and found[1].problem is not None and names & set(found[0]):
        return _PROBLEMS.get(found[1].problem, RetentionReason.INTERRUPTED), found[1].message
    behind = _why_behind(listed, window)
    if behind is not None:
        return RetentionReason.BEHIND, behind
    kept = sum(each.kept_by is not None for each in listed.chains)
    message = f"{len(names)} chains are in the store" + (f", {kept} of them by keep" if kept else "")
    return RetentionReason.APPLIED, message + _broken(listed)


def _silent(backup: WALBackup) -> str:
    """Which region did not say what it reads, and what to do, as a clause; empty: all did."""
    counts = backup.status.topic_counts
    if counts is None or counts.silent is None:
        return ""
    way_out = f"let it open, drop its table, or name it in {DEAD_ANNOTATION} if nobody has it any more"
    return f", or may, because a region does not say what it reads ({counts.silent}: {way_out})"


def _why_behind(listed: Listed, window: timedelta) -> str | None:
    """That chains stay much longer than this window says; None: they do not, or no backups are expected."""
    newest, time, between = listed.newest, listed.time, listed.between
    if newest is None or time is None or between is None:
        return None
    if newest - time <= max(window / 4, RETENTION_BEHIND_PERIODS * between):
        return None
    return (
        f"the newest backup is of {newest:%Y-%m-%d %H:%MZ}, and the window counts back from {time:%Y-%m-%d %H:%MZ}, "
        f"which a backup moves on by {format_duration(2 * between)} at most: chains stay longer than declared"
    )


def _broken(listed: Listed) -> str:
    """Chains that let no other go, as a clause; empty: there is none."""
    found = [each for each in listed.chains if each.broken_by is not None]
    if not found:
        return ""
    newest = found[-1]
    return f"; {len(found)} of them let no other go: WALRestore {newest.broken_by} found {newest.name} broken"


def _newest_expiry(own: OwnBackups) -> tuple[Sequence[str], BackupExpiry] | None:
    found = ((each.status.expiring, each.status.expiry) for each in reversed(own.all))
    return next(((asked, expiry) for asked, expiry in found if expiry is not None), None)


def why_broken(listed: Listed, last: WALBackup | None, restores: Sequence[WALRestore]) -> str | None:
    """That a restore found the chain of this backup broken, as a clause; None: none did.

    Of a chain for which the list has no room it is known as long as the object of the restore is there.
    """
    if last is None:
        return None
    row = next((each for each in listed.rows if each.name == last.status.chain), None)
    found = as_restored(_begun(last, None) if row is None else row, restores)
    return None if found.broken_by is None else f"WALRestore {found.broken_by} found {found.name} broken"


def chain_events(before: WALBackupPolicyStatus, after: Listed) -> tuple[Event, ...]:
    """Which chains were deleted."""
    left = {each.name for each in after.chains}
    names = [each.name for each in before.chains if not each.gone and each.name not in left]
    return tuple(
        Event(EventType.NORMAL, EventReason.CHAIN_DELETED, f"Chain {name} is deleted in the store") for name in names
    )
