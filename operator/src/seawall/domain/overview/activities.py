"""What goes on now, how far it is and what it waits for; and what ended last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.backup import WALBackup
from seawall.api.v1alpha1.disruption import Disruption, DisruptionKind, of_kind
from seawall.api.v1alpha1.purge import Stage, WALPurge
from seawall.api.v1alpha1.reassignment import OVER, ReassignmentStage, ReassignmentStatus
from seawall.api.v1alpha1.restore import WALRestore
from seawall.api.v1alpha1.rollout import RestartStatus, RollStage
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.conditions import find_condition
from seawall.domain.overview.snapshot import Snapshot
from seawall.domain.times import ROLLOUT_START


@dataclass(frozen=True, slots=True)
class Progress:
    """How far something is.

    Attributes:
        done: so many.
        total: of so many.
        unit: datanodes, entries, bytes, partitions or topics.
        eta: when it should be done as far as one can tell; None: nobody can.
    """

    done: int
    total: int
    unit: str
    eta: datetime | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """Something that has begun and is not over, or that waits for its turn.

    Attributes:
        what: Restart, Reassignment, Purge, Verification, Backup or Restore.
        name: the object that it is; of a restart or a reassignment the WALCluster.
        stage: where it is.
        waits: whether something else has to happen first.
        message: what it does, or what it waits for, in one sentence.
        since: when it began; None: it has not.
        progress: how far it is; None: nobody can tell.
    """

    what: str
    name: str
    stage: str
    waits: bool
    message: str
    since: datetime | None = None
    progress: Progress | None = None


def list_activities(snapshot: Snapshot) -> tuple[Activity, ...]:
    """All that goes on."""
    return tuple(_activities(snapshot))


def _activities(snapshot: Snapshot) -> Iterator[Activity]:
    status, name = snapshot.cluster.status, snapshot.cluster.metadata.name
    restart, reassignment = status.restart, status.reassignment
    if restart is not None and is_rolling(restart):
        waits = restart.stage in {RollStage.WAITING, RollStage.STALLED}
        stage = "" if restart.stage is None else restart.stage.value
        entry = of_kind(status.disruption, DisruptionKind.DATANODE_RESTART)
        of_roll = _of_roll(restart, entry, snapshot.now)
        yield Activity("Restart", name, stage, waits, restart.message, restart.start_time, of_roll)
    if reassignment is not None and reassignment.stage is not None and reassignment.is_active:
        stage, waits = reassignment.stage.value, reassignment.stage in _MOVES_NOTHING
        of_moves = _of_moves(reassignment, snapshot.now)
        yield Activity("Reassignment", name, stage, waits, reassignment.message, reassignment.start_time, of_moves)
    for run in sorted(snapshot.purges, key=lambda run: run.metadata.creation_timestamp):
        if not run.status.is_finished:
            yield _of_run("Purge", run, _of_purge(run))
    jobs: list[tuple[str, WALVerification | WALBackup | WALRestore]] = [
        *(("Verification", each) for each in snapshot.verifications),
        *(("Backup", each) for each in snapshot.backups),
        *(("Restore", each) for each in snapshot.restores),
    ]
    for what, job in sorted(jobs, key=lambda found: found[1].metadata.creation_timestamp):
        if not job.status.is_over:
            yield _of_run(what, job, None)


_MOVES_NOTHING = frozenset({ReassignmentStage.PENDING, ReassignmentStage.AWAITING_APPROVAL})


def is_rolling(restart: RestartStatus) -> bool:
    """Whether a roll is under way."""
    return restart.stage not in {None, RollStage.COMPLETED}


def _of_roll(restart: RestartStatus, entry: Disruption | None, now: datetime) -> Progress:
    """Datanodes that were restarted, of those and the ones that are to be."""
    due = [row for row in restart.datanodes if row.due and (entry is None or row.pod != entry.name)]
    total = restart.restarted + len(due) + (entry is not None)
    eta = _end_of_roll(restart, entry, [row.replay_seconds for row in due], now)
    return Progress(restart.restarted, total, "datanodes", eta)


def _end_of_roll(
    restart: RestartStatus, entry: Disruption | None, replays: list[int | None], now: datetime
) -> datetime | None:
    """The replay under way and those to come, each with a container's start; None: it waits, or one is not known."""
    known = [seconds for seconds in replays if seconds is not None]
    if restart.stage in {RollStage.WAITING, RollStage.STALLED} or len(known) < len(replays):
        return None
    others = timedelta(seconds=sum(known)) + len(known) * ROLLOUT_START
    if entry is None:
        return now + others
    eta = end_of_replay(restart, entry)
    return None if eta is None else max(eta, now) + others


def end_of_replay(restart: RestartStatus, entry: Disruption | None) -> datetime | None:
    """When the datanode that is restarted should serve again."""
    if entry is None:
        return None
    if restart.progress is not None and restart.progress.eta is not None:
        return restart.progress.eta
    if entry.datanode is None or entry.datanode.expected_seconds is None:
        return None
    return (entry.gone_time or entry.start_time) + timedelta(seconds=entry.datanode.expected_seconds) + ROLLOUT_START


def _of_moves(run: ReassignmentStatus, now: datetime) -> Progress | None:
    """Bytes that were copied, or partitions where there is nothing to copy."""
    if run.bytes and run.bytes_left is not None:
        done = max(0, run.bytes - run.bytes_left)
        return Progress(done, run.bytes, "bytes", _end_of_moves(run, done, now))
    if run.partitions is None:
        return None
    return Progress(run.partitions.done, run.partitions.total, "partitions")


def _end_of_moves(run: ReassignmentStatus, done: int, now: datetime) -> datetime | None:
    """By the speed until now; before anything has arrived, by the estimate, as long as that is not over."""
    if run.stage is not ReassignmentStage.ONGOING or run.start_time is None or not run.bytes_left:
        return None
    if done:
        return now + (now - run.start_time) * (run.bytes_left / done)
    estimated = run.start_time + timedelta(seconds=(run.estimated_seconds or 0) * _slower(run))
    return estimated if estimated > now else None


def _slower(run: ReassignmentStatus) -> float:
    """How many times slower the slowest broker is than the throttle of the run: somebody throttled it."""
    if not run.rates_set or not run.throttle_bytes_per_second:
        return 1.0
    return max(1.0, run.rates_set[-1] / run.throttle_bytes_per_second)


def _of_purge(run: WALPurge) -> Progress | None:
    """Topics that were deleted from, of those from which something may go."""
    status = run.status
    if status.stage is not Stage.PURGE or status.frozen is None or status.topics is None:
        return None
    return Progress(status.topics.purged, status.frozen.topics, "topics")


def _of_run(what: str, run: Run, progress: Progress | None) -> Activity:
    conditions, stage = run.status.conditions, run.status.stage
    ready, waiting = (find_condition(conditions, kind) for kind in (ConditionType.READY, ConditionType.WAITING))
    message = "no operator has looked at it yet" if ready is None else ready.message
    waits = stage is None or (waiting is not None and waiting.status == "True")
    since = run.status.start_time
    return Activity(
        what, run.metadata.name, "Pending" if stage is None else stage.value, waits, message, since, progress
    )


Run = WALPurge | WALVerification | WALBackup | WALRestore


@dataclass(frozen=True, slots=True)
class Ended:
    """Something that is over.

    Attributes:
        what: Restart, Reassignment, Purge or Verification.
        name: the object that it was; of a restart or a reassignment the WALCluster.
        stage: its last.
        message: how it ended, in one sentence.
        time: when.
    """

    what: str
    name: str
    stage: str
    message: str
    time: datetime


def ended_last(snapshot: Snapshot) -> tuple[Ended, ...]:
    """The last of each, the newest first."""
    status, name = snapshot.cluster.status, snapshot.cluster.metadata.name
    found: list[Ended] = []
    roll, moves = status.restart, status.reassignment
    if roll is not None and roll.stage is RollStage.COMPLETED and roll.completion_time is not None:
        message = f"restarted {roll.restarted} datanodes"  # its own sentence is about what comes next
        found.append(Ended("Restart", name, roll.stage, message, roll.completion_time))
    if moves is not None and moves.stage in OVER and moves.completion_time is not None:
        found.append(Ended("Reassignment", name, str(moves.stage), moves.message, moves.completion_time))
    for what, runs in (
        ("Purge", snapshot.purges),
        ("Verification", snapshot.verifications),
        ("Backup", snapshot.backups),
        ("Restore", snapshot.restores),
    ):
        over = max(_over(runs), key=_ended_at, default=None)
        if over is not None:
            ready = find_condition(over.status.conditions, ConditionType.READY)
            message = "" if ready is None else ready.message
            found.append(Ended(what, over.metadata.name, over.status.stage or "", message, _ended_at(over)))
    return tuple(sorted(found, key=lambda ended: ended.time, reverse=True))


def newest_failures(snapshot: Snapshot) -> Iterator[tuple[Run, Condition]]:
    """Runs that failed and were not followed by one that did not: of each policy or schedule, and of those by hand."""
    for runs in (snapshot.purges, snapshot.verifications, snapshot.backups, snapshot.restores):
        newest: dict[str | None, Run] = {}
        for run in sorted(_over(runs), key=_ended_at):
            newest[run.metadata.controller_uid] = run
        for run in newest.values():
            failed = find_condition(run.status.conditions, ConditionType.FAILED)
            if failed is not None and failed.status == "True":
                yield run, failed


def _over(runs: Sequence[Run]) -> Iterable[Run]:
    return (run for run in runs if (run.status.is_finished if isinstance(run, WALPurge) else run.status.is_over))


def _ended_at(run: Run) -> datetime:
    return run.status.completion_time or run.metadata.creation_timestamp
