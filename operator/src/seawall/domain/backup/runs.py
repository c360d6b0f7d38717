"""The backups of a policy: their names, which of them are its own, which one is continued, and which are kept.

A name is the policy's and the time for which the backup was due, so creating it twice makes one, and its time can be
read from it: nothing else has to be remembered. Between two backups the log is held by `<backup>-<attempt>-next`, which
is placed when the backup's ends are in its status, and before its own hold goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from seawall.api.meta import ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.backup import ParentRef, WALBackup, WALBackupSpec
from seawall.api.v1alpha1.backup_policy import BackupHold, WALBackupPolicy, WALBackupPolicySpec
from seawall.api.v1alpha1.hold import WALHold, WALHoldSpec
from seawall.api.v1alpha1.spark_job import JobStage
from seawall.domain.backup.reasons import Reason
from seawall.domain.conditions import find_condition
from seawall.domain.events import EventReason
from seawall.domain.schedule import TimeInName, beyond_history, controlled_by
from seawall.domain.spark_job.actions import ReleaseHold, attempt_key
from seawall.domain.spark_job.case import is_granted
from seawall.domain.spark_job.reasons import JobReason
from seawall.domain.step import Event, EventType

_TIME = TimeInName("%y%m%d%H%M", 10)
_MARK = "b"
"""Verifications by a schedule are named after their WALCluster and a time, and a policy may have the same name."""

ENDS_CHAIN: frozenset[str] = frozenset(
    {
        Reason.CHAIN_ENDED,
        Reason.PARENT_UNUSABLE,
        Reason.DAMAGED,
        JobReason.TOO_MANY_TOPICS,
    }
)
"""Ends of an incremental backup after which the next one is full: the same parent would have them again."""


@dataclass(frozen=True, slots=True)
class CreateBackup:
    """Create a backup; one that exists by this name is this one."""

    key: Key
    spec: WALBackupSpec
    why: str
    """Why it is a full one, or which one it continues."""

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.BACKUP_CREATED, f"Created WALBackup {self.key.name}: {self.why}")


@dataclass(frozen=True, slots=True)
class RemoveBackup:
    """Delete an object that the history limits do not keep, what is in the store stays; or whose chain is deleted."""

    backup: WALBackup
    why: str = "newer ones are kept, and the store"

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.BACKUP_DELETED, f"Deleted WALBackup {self.backup.metadata.name}: {self.why}"
        )


@dataclass(frozen=True, slots=True)
class HoldForNext:
    """Hold the log from where a backup ends, for the next one."""

    key: Key
    spec: WALHoldSpec

    def event(self) -> Event:
        """What the event says."""
        return Event(EventType.NORMAL, EventReason.HOLD_PLACED, f"Placed WALHold {self.key.name} for the next backup")


@dataclass(frozen=True, slots=True)
class ChangeHold:
    """Give a hold that stands the limits that are declared now: there may never be a next backup."""

    hold: WALHold
    spec: WALHoldSpec

    def event(self) -> Event:
        """What the event says."""
        return Event(
            EventType.NORMAL, EventReason.HOLD_CHANGED, f"Changed the limits of WALHold {self.hold.metadata.name}"
        )


PolicyAction = CreateBackup | RemoveBackup | HoldForNext | ChangeHold | ReleaseHold


def backup_name_at(policy: str, due: datetime) -> str:
    """The name of the backup that was due at a time."""
    return f"{policy}-{_MARK}{_TIME.write(due)}"


def due_time(policy: str, backup: str) -> datetime | None:
    """The time for which a backup was due, by its name; None when it is no name of a backup of this policy."""
    return _TIME.read_after(f"{policy}-{_MARK}", backup)


def hold_key(backup: WALBackup) -> Key:
    """The hold that keeps the log from where a backup ends."""
    key = attempt_key(backup.metadata.key, backup.status.attempt)
    return Key(key.namespace, f"{key.name}-next")


def is_incremental(backup: WALBackup) -> bool:
    """Whether it continues another one."""
    return isinstance(backup.spec, WALBackupSpec) and backup.spec.parent_ref is not None


def keeps(backup: WALBackup) -> bool:
    """Whether retention is to leave its chain alone; a spec that cannot be read may say so."""
    return isinstance(backup.spec, InvalidSpec) or backup.spec.keep


def reason_of(backup: WALBackup) -> str:
    """The reason of Ready."""
    found = find_condition(backup.status.conditions, ConditionType.READY)
    return "" if found is None else found.reason


@dataclass(frozen=True, slots=True)
class OwnBackups:
    """The backups that a policy controls, in the order in which the API server got them, and the holds.

    Only one backup goes on at a time.

    Attributes:
        holds: those that the policy controls, by name.
        others: the names of all other holds.
    """

    policy: str
    all: tuple[WALBackup, ...]
    holds: Mapping[str, WALHold]
    others: frozenset[str] = frozenset()

    @classmethod
    def of(cls, policy: WALBackupPolicy, backups: Iterable[WALBackup], holds: Iterable[WALHold]) -> Self:
        """Picks them out of all of the namespace."""
        uid, name = policy.metadata.uid, policy.metadata.name
        by_name = {each.metadata.name: each for each in holds}
        held = {key: each for key, each in by_name.items() if each.metadata.controller_uid == uid}
        return cls(name, controlled_by(policy.metadata, backups), held, frozenset(by_name.keys() - held.keys()))

    @property
    def active(self) -> WALBackup | None:
        """The one that is not over."""
        return next((each for each in self.all if not each.status.is_over), None)

    @property
    def completed(self) -> tuple[WALBackup, ...]:
        """Those that completed."""
        return tuple(each for each in self.all if each.status.stage is JobStage.COMPLETED)

    @property
    def failed(self) -> tuple[WALBackup, ...]:
        """Those that failed."""
        return tuple(each for each in self.all if each.status.stage is JobStage.FAILED)

    @property
    def last(self) -> WALBackup | None:
        """The newest that completed, and wrote something: the one to continue."""
        return next((each for each in reversed(self.completed) if each.status.manifest is not None), None)

    @property
    def newest_over(self) -> WALBackup | None:
        """The newest that is over."""
        return next((each for each in reversed(self.all) if each.status.is_over), None)

    def due_times(self) -> list[datetime]:
        """The times for which they were due."""
        times = (due_time(self.policy, each.metadata.name) for each in self.all)
        return [time for time in times if time is not None]

    @property
    def lost_hold(self) -> str | None:
        """That the log is not held for the next backup any more, and why, in one clause; None: it is."""
        hold = None if self.last is None else self.holds.get(hold_key(self.last).name)
        if hold is None or not hold.status.is_final:
            return None
        ready = find_condition(hold.status.conditions, ConditionType.READY)
        why = "" if ready is None else f": {ready.message}"
        return f"WALHold {hold.metadata.name} is {hold.status.state}{why}"

    def why_full(self, location: str | None) -> str | None:
        """Why the next backup cannot continue the last one, in one clause; None: it can."""
        last = self.last
        if last is None:
            return "no backup is there to be continued"
        if self.lost_hold is not None:
            return self.lost_hold
        if last.status.location != location:
            return f"{last.metadata.name} is kept at {last.status.location}"
        since = {each.metadata.name for each in self.all[self.all.index(last) + 1 :]}
        after = (each for each in self.all if each.metadata.name in since or _continues(each, last))
        broken = next((each for each in after if _ends_chain(each)), None)
        return None if broken is None else f"the chain ended with {broken.metadata.name}: {reason_of(broken)}"

    @property
    def newest_written(self) -> WALBackup | None:
        """The newest that wrote something that counts, whether all of it could be written or not."""
        written = (each for each in reversed(self.all) if each.status.is_over and each.status.manifest is not None)
        return next(written, None)

    def taken_hold(self) -> str | None:
        """The name of a hold that is to be placed, and is somebody else's; None: none is."""
        return next((name for name in self.wanted_holds() if name in self.others), None)

    def wanted_holds(self) -> dict[str, WALBackup]:
        """By name the holds that keep the log for the next backup, and from the ends of which one."""
        return {
            hold_key(each).name: each for each in (self.newest_written, _with_ends(self.active)) if each is not None
        }

    def beyond(self, spec: WALBackupPolicySpec) -> tuple[WALBackup, ...]:
        """Those beyond the history limits, which are at least 1: the one to continue is the newest that completed."""
        return tuple(each for each in beyond_history(spec, self.completed, self.failed) if not keeps(each))


def _continues(backup: WALBackup, parent: WALBackup) -> bool:
    spec = backup.spec
    return isinstance(spec, WALBackupSpec) and spec.parent_ref == ParentRef(name=parent.metadata.name)


def _ends_chain(backup: WALBackup) -> bool:
    """Whether the next backup must be full: it failed, and the parent would be continued twice, or in vain."""
    if backup.status.stage is not JobStage.FAILED:
        return False
    return backup.status.manifest is not None or (is_incremental(backup) and reason_of(backup) in ENDS_CHAIN)


def plan_holds(policy: WALBackupPolicy, spec: BackupHold, own: OwnBackups) -> tuple[PolicyAction, ...]:
    """What keeps the log from each end on that may be continued; others go once the newest of them is granted.

    The end of a backup that runs is held as soon as its status has it: its own hold is let go only after that.
    """
    wanted = own.wanted_holds()
    placed = tuple(
        HoldForNext(Key(policy.metadata.namespace, name), _spec_of_hold(spec, each))
        for name, each in wanted.items()
        if name not in own.holds and name not in own.others and isinstance(each.spec, WALBackupSpec)
    )
    changed = tuple(filter(None, (_changed(own.holds[name], spec) for name in wanted if name in own.holds)))
    newest = None if own.newest_written is None else own.holds.get(hold_key(own.newest_written).name)
    if newest is None or not (is_granted(newest) or newest.status.is_final):
        return (*placed, *changed)
    dropped = (hold for name, hold in own.holds.items() if name not in wanted)
    return (*placed, *changed, *(ReleaseHold(hold) for hold in dropped if hold.metadata.deletion_timestamp is None))


def _with_ends(active: WALBackup | None) -> WALBackup | None:
    is_frozen = active is not None and active.status.stage in {JobStage.RUNNING, JobStage.RELEASING}
    return active if is_frozen and active is not None and active.status.topics else None


def _changed(hold: WALHold, spec: BackupHold) -> ChangeHold | None:
    if not isinstance(hold.spec, WALHoldSpec) or hold.status.is_final or hold.metadata.deletion_timestamp is not None:
        return None
    wanted = hold.spec.model_copy(update=dict(spec))
    return None if wanted == hold.spec else ChangeHold(hold, wanted)


def _spec_of_hold(spec: BackupHold, backup: WALBackup) -> WALHoldSpec:
    if not isinstance(backup.spec, WALBackupSpec):
        raise TypeError("a backup that was made by a policy has a spec")
    return WALHoldSpec(
        cluster_ref=backup.spec.cluster_ref,
        topics={row.name: row.end for row in backup.status.topics},
        **dict(spec),
        reason=f"the backup that continues {backup.metadata.name}",
    )


def why_hold_stays(backup: WALBackup, hold: WALHold | None) -> str | None:
    """Why the own hold of a backup of a policy must stay yet; None: it may go.

    Between two backups nothing may be purged that neither has: the next hold is granted first. One that was lost is
    waited for no longer: the chain has ended, and says so.
    """
    if hold is None:
        return f"WALHold {hold_key(backup).name} of its policy is not there yet"
    if hold.metadata.controller_uid != backup.metadata.controller_uid:
        return f"WALHold {hold.metadata.name} was not made by its policy: delete it"
    if is_granted(hold) or hold.status.is_final:
        return None
    return f"WALHold {hold.metadata.name} of its policy is not granted yet"
