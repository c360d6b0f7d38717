"""The drills of a policy: on their schedule the newest backup is restored into scratch topics, by a WALRestore.

    no drill declared, policy or backups stopped → none begins
    → one that is due begins, unless one is not over, the pool is being restored, or there is nothing to restore
    → objects beyond the history limits go; their topics go before them

A time that passed while none could begin is made up for by one. A drill takes some topics, in the order of their names
from where the last one that passed ended: so all have their turn, and what failed is tried until it passes. What was
too large for `maxBytes` is tried with fewer topics (`drill_topics.py`). How the last one ended is DrillPassed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from seawall.api.meta import Condition, ConditionType, InvalidSpec, Key
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.backup_policy import DrillStatus, WALBackupPolicy, WALBackupPolicySpec
from seawall.api.v1alpha1.cluster import WALCluster
from seawall.api.v1alpha1.restore import RestoreSource, RestoreTarget, ScratchTopics, WALRestore, WALRestoreSpec
from seawall.api.v1alpha1.restore_status import RestoreStage
from seawall.domain.backup.drill_topics import choose_topics, fitting, is_too_large_alone, passed_over
from seawall.domain.backup.reasons import DrillReason
from seawall.domain.conditions import ConditionBuilder, ConditionStatus, as_status, find_condition
from seawall.domain.events import EventReason
from seawall.domain.schedule import BadSchedule, TimeInName, beyond_history, controlled_by, newest, period, read_cron
from seawall.domain.step import Event, EventType

_TIME = TimeInName("%y%m%d%H%M", 10)
_MARK = "d"


@dataclass(frozen=True, slots=True)
class CreateDrill:
    """Create a restore into scratch topics; one that exists by this name is this one."""

    key: Key
    spec: WALRestoreSpec

    def event(self) -> Event:
        """What the event says."""
        message = f"Created WALRestore {self.key.name}: it restores {self.spec.source.backup} into scratch topics"
        return Event(EventType.NORMAL, EventReason.DRILL_CREATED, message)


@dataclass(frozen=True, slots=True)
class RemoveDrill:
    """Delete an object that the history limits do not keep."""

    drill: WALRestore

    def event(self) -> Event:
        """What the event says."""
        name = self.drill.metadata.name
        return Event(EventType.NORMAL, EventReason.DRILL_DELETED, f"Deleted WALRestore {name}: newer ones are kept")


DrillAction = CreateDrill | RemoveDrill


@dataclass(frozen=True, slots=True)
class Drills:
    """What is decided of drills.

    Attributes:
        status: what must not be lost; None: no drill is declared.
        actions: what is to be done.
        waits: why one that is due does not begin, in one clause; None: none is, or it begins.
        said: status, reason and sentence of DrillPassed; None: as it was, or none if no drill is declared.
    """

    status: DrillStatus | None = None
    actions: tuple[DrillAction, ...] = ()
    waits: str | None = None
    said: tuple[ConditionStatus, str, str] | None = None

    def first(self, other: datetime | None) -> datetime | None:
        """The next time that something is due, here or at the `other` one."""
        times = (other, None if self.status is None else self.status.next_run_time)
        return min((time for time in times if time is not None), default=None)


@dataclass(frozen=True, slots=True)
class OwnDrills:
    """The restores that a policy controls, in the order in which the API server got them."""

    all: tuple[WALRestore, ...]

    @classmethod
    def of(cls, policy: WALBackupPolicy, restores: Iterable[WALRestore]) -> Self:
        """Picks them out of all of the namespace."""
        return cls(controlled_by(policy.metadata, restores))

    @property
    def active(self) -> WALRestore | None:
        """The one that is not over."""
        return next((each for each in self.all if not each.status.is_over), None)

    @property
    def last(self) -> WALRestore | None:
        """The newest that is over."""
        return next((each for each in reversed(self.all) if each.status.is_over), None)

    def ended(self, stage: RestoreStage) -> tuple[WALRestore, ...]:
        """Those that ended so."""
        return tuple(each for each in self.all if each.status.stage is stage)

    def beyond(self, spec: WALBackupPolicySpec) -> tuple[WALRestore, ...]:
        """Those beyond the history limits."""
        gone = beyond_history(spec, self.ended(RestoreStage.COMPLETED), self.ended(RestoreStage.FAILED))
        return tuple(each for each in gone if each.metadata.deletion_timestamp is None)


def is_drill(restore: WALRestore) -> bool:
    """Whether a policy made it: how it ended is in the policy's condition, and nobody else waits for it."""
    owner = restore.metadata.controller
    return owner is not None and owner.kind == WALBackupPolicy.KIND.kind


def drill_name_at(policy: str, due: datetime) -> str:
    """The name of the drill that was due at a time."""
    return f"{policy}-{_MARK}{_TIME.write(due)}"


def due_time(policy: str, drill: str) -> datetime | None:
    """The time for which a drill was due, by its name; None when it is no name of a drill of this policy."""
    return _TIME.read_after(f"{policy}-{_MARK}", drill)


def expects_drills(policy: WALBackupPolicy) -> bool:
    """Whether drills are to begin, as far as anybody can read: a schedule that is wrong was meant to do that."""
    spec = policy.spec
    if policy.status.drill is None or policy.metadata.is_paused:
        return False
    return isinstance(spec, InvalidSpec) or not (spec.drill is None or spec.suspend)


def expected_drills(policy: WALBackupPolicy, now: datetime) -> timedelta | None:
    """The time from the next drill to the one after; None where none are expected, or nobody can read when."""
    spec = policy.spec
    if isinstance(spec, InvalidSpec) or spec.drill is None or not expects_drills(policy):
        return None
    cron = read_cron(spec.drill.schedule, spec.time_zone, policy.metadata.creation_timestamp)
    return None if isinstance(cron, BadSchedule) else period(cron, now)


def plan_drills(
    policy: WALBackupPolicy,
    backup: WALBackup | None,
    restores: Sequence[WALRestore],
    cluster: WALCluster | None,
    now: datetime,
) -> Drills:
    """What is to be done of drills; `backup` is the newest that completed."""
    spec, own = policy.spec, OwnDrills.of(policy, restores)
    if isinstance(spec, InvalidSpec):
        return Drills(policy.status.drill)
    tidying = tuple(RemoveDrill(each) for each in own.beyond(spec))
    if spec.drill is None:
        return Drills(None, tidying)
    cron = read_cron(spec.drill.schedule, spec.time_zone, policy.metadata.creation_timestamp)
    status = _status_of(policy, own, now)
    if isinstance(cron, BadSchedule):
        return Drills(status, tidying, said=("False", cron.reason, f"no drill begins: {cron.message}"))
    last_run = status.last_run_time or status.since
    status = status.model_copy(update={"next_run_time": cron.following(max(now, last_run))})
    planned = Drills(status, tidying, said=_said(own))
    due = cron.latest(last_run, now)
    if due is None or spec.suspend or policy.metadata.is_paused:
        return planned
    return _begin(policy, spec, planned, _Source(backup, restores, cluster, own), due)


@dataclass(frozen=True, slots=True)
class _Source:
    """What decides whether one may begin."""

    backup: WALBackup | None
    restores: Sequence[WALRestore]
    cluster: WALCluster | None
    own: OwnDrills


def _begin(
    policy: WALBackupPolicy, spec: WALBackupPolicySpec, planned: Drills, source: _Source, due: datetime
) -> Drills:
    """The one that is due, or why it waits."""
    name = drill_name_at(policy.metadata.name, due)
    if any(each.metadata.name == name for each in source.restores):
        message = f"WALRestore {name} exists and was not made by this policy: delete it, or wait for the next one"
        return replace(planned, said=("False", DrillReason.NAME_TAKEN, message))
    made = _why_none(spec, source) or _spec_of_drill(spec, source, planned.status)
    if isinstance(made, str):
        return replace(planned, waits=made)
    create = CreateDrill(Key(policy.metadata.namespace, name), made)
    return replace(planned, actions=(*planned.actions, create))


def _why_none(spec: WALBackupPolicySpec, source: _Source) -> str | None:
    """Why none may begin now, in one clause; None: one may."""
    if source.own.active is not None:
        return f"WALRestore {source.own.active.metadata.name} is not over"
    for each in source.restores:
        if isinstance(each.spec, InvalidSpec) or each.status.is_over:
            continue
        if each.spec.cluster_ref == spec.cluster_ref and each.spec.scratch is None:
            return f"WALRestore {each.metadata.name} restores the pool, and comes first"
    cluster = source.cluster
    if cluster is None or location_of(cluster) is None:
        return f"WALCluster {spec.cluster_ref.name} is not there, invalid, or declares no backups"
    return f"WALCluster {spec.cluster_ref.name} is paused" if cluster.metadata.is_paused else None


def _spec_of_drill(spec: WALBackupPolicySpec, source: _Source, status: DrillStatus | None) -> WALRestoreSpec | str:
    """A restore of the newest backup; or why there is nothing to restore."""
    drill, backup, cluster = spec.drill, source.backup, source.cluster
    if drill is None or status is None or cluster is None or isinstance(cluster.spec, InvalidSpec):
        raise TypeError("who begins a drill has declared it, and a WALCluster")
    if backup is None or backup.status.manifest is None:
        return "there is no backup yet"
    if cluster.status.kafka is None or backup.status.location != location_of(cluster):
        return f"backup {backup.metadata.name} is kept at {backup.status.location}, not where the WALCluster says"
    most = fitting(source.own.all, drill.topics, drill.max_bytes)
    topics = choose_topics(backup, most, status.last_topic, cluster.spec.topics)
    if not topics:
        return f"backup {backup.metadata.name} has no topic of prefix {cluster.spec.topics.prefix} with records"
    source_of = RestoreSource(
        cluster_id=cluster.status.kafka.cluster_id, chain=backup.status.chain, backup=backup.status.manifest.name
    )
    return WALRestoreSpec(
        cluster_ref=spec.cluster_ref,
        source=source_of,
        target=RestoreTarget(latest=True),
        topics=topics,
        scratch=ScratchTopics(**{name: getattr(drill, name) for name in ScratchTopics.model_fields}),
        timeout=drill.timeout,
        spark=spec.spark,
    )


def location_of(cluster: WALCluster | None) -> str | None:
    """Where the WALCluster says that backups go; None: it does not say."""
    if cluster is None or isinstance(cluster.spec, InvalidSpec) or cluster.spec.backup is None:
        return None
    return cluster.spec.backup.storage.describe()


def _status_of(policy: WALBackupPolicy, own: OwnDrills, now: datetime) -> DrillStatus:
    """What is known only from objects that are gone stays."""
    before, last = policy.status.drill, own.last
    since = now.replace(microsecond=0) if before is None else before.since
    runs = (due_time(policy.metadata.name, each.metadata.name) for each in own.all)
    passed = own.ended(RestoreStage.COMPLETED)
    update: dict[str, object] = {
        "active": None if own.active is None else own.active.metadata.name,
        "last_run_time": newest([*runs, None if before is None else before.last_run_time], now),
    }
    if last is not None:
        plan = last.status.plan
        update |= {"last": last.metadata.name, "records": None if plan is None else plan.records}
    done = [each for each in own.all if each.status.stage is RestoreStage.COMPLETED or is_too_large_alone(each)]
    is_newest = before is None or before.last_topic is None or done[-1:] == [last]  # older ones may be gone
    if done and is_newest and not isinstance(done[-1].spec, InvalidSpec):
        update |= {"last_topic": done[-1].spec.topics[-1]}
    if passed:
        update |= {"last_passed_time": passed[-1].status.completion_time}
    return (before or DrillStatus(since=since)).model_copy(update=update)


def _said(own: OwnDrills) -> tuple[ConditionStatus, str, str] | None:
    last = own.last
    ready = None if last is None else find_condition(last.status.conditions, ConditionType.READY)
    if last is None or ready is None:
        return None
    is_passed = last.status.stage is RestoreStage.COMPLETED
    return as_status(is_passed), ready.reason, f"WALRestore {last.metadata.name}: {ready.message}{passed_over(own.all)}"


def drill_condition(policy: WALBackupPolicy, drills: Drills, build: ConditionBuilder) -> tuple[Condition, ...]:
    """How the last drill ended; none before the first, nor where none are declared."""
    kind = ConditionType.DRILL_PASSED
    if drills.status is None:
        return ()
    if drills.said is not None:
        status, reason, message = drills.said
        return (build(kind, status, reason, message),)
    before = find_condition(policy.status.conditions, kind)
    return () if before is None else (before,)
