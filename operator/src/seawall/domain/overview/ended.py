"""What ended last, and what of it failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from seawall.api.meta import Condition, ConditionType
from seawall.api.v1alpha1.purge import WALPurge
from seawall.api.v1alpha1.reassignment import OVER
from seawall.api.v1alpha1.rollout import RollStage
from seawall.api.v1alpha1.verification import WALVerification
from seawall.domain.conditions import find_condition
from seawall.domain.overview.snapshot import Snapshot

Run = WALPurge | WALVerification


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
    for what, runs in (("Purge", snapshot.purges), ("Verification", snapshot.verifications)):
        over = max(_over(runs), key=_ended_at, default=None)
        if over is not None:
            ready = find_condition(over.status.conditions, ConditionType.READY)
            message = "" if ready is None else ready.message
            found.append(Ended(what, over.metadata.name, over.status.stage or "", message, _ended_at(over)))
    return tuple(sorted(found, key=lambda ended: ended.time, reverse=True))


def newest_failures(snapshot: Snapshot) -> Iterator[tuple[Run, Condition]]:
    """Runs that failed and were not followed by one that did not: of each policy or schedule, and of those by hand."""
    for runs in (snapshot.purges, snapshot.verifications):
        newest: dict[str | None, Run] = {}
        for run in sorted(_over(runs), key=_ended_at):
            newest[run.metadata.controller_uid] = run
        for run in newest.values():
            failed = find_condition(run.status.conditions, ConditionType.FAILED)
            if failed is not None and failed.status == "True":
                yield run, failed


def _over(runs: Sequence[WALPurge] | Sequence[WALVerification]) -> Iterable[Run]:
    return (run for run in runs if (run.status.is_finished if isinstance(run, WALPurge) else run.status.is_over))


def _ended_at(run: Run) -> datetime:
    return run.status.completion_time or run.metadata.creation_timestamp
