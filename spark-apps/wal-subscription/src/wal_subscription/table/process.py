"""What a process keeps open between jobs: connections, and nothing that is known of a topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkjob.bucket import Bucket
from sparkjob.wire.connection import Connection
from wal_subscription.outcome import Outcome, outcome_of
from wal_subscription.records.beginning import NeedsSnapshot
from wal_subscription.source import connect
from wal_subscription.table.copier import Copier
from wal_subscription.table.jobs import Copied, Job, Made, Sides

_OPENED_FOR: list[Sides] = []
_OPEN: list[tuple[Connection, Bucket]] = []
"""One at most."""


def copy(job: Job, sides: Sides) -> Copied:
    """Runs a job. Never raises what may pass."""
    return _done(job, sides, lambda copier: copier.run())


def name_files(job: Job, sides: Sides, made: Sequence[Made]) -> Copied:
    """Commits what was made of the files of a job; the first that did not come to its end is told instead."""
    failed = next((each.how for each in made if not each.how.is_well), None)
    if failed is not None:
        return _copied(job, None, failed)
    return _done(job, sides, lambda copier: copier.name_files(made))


def _done(job: Job, sides: Sides, act: Callable[[Copier], None]) -> Copied:
    if [sides] != _OPENED_FOR:
        forget()
        _OPENED_FOR.append(sides)
    ran = list[Copier]()

    def run() -> None:
        if not _OPEN:
            _OPEN.append((connect(sides.source), Bucket(sides.place)))
        ran.append(Copier(job, sides, *_OPEN[0]))
        act(ran[0])

    try:
        how = outcome_of(run)
    except NeedsSnapshot:
        return Copied(job.topic.name, known=job.known, needs_snapshot=True)
    if how.is_cut:
        forget()
    return _copied(job, ran[0] if ran else None, how)


def _copied(job: Job, copier: Copier | None, how: Outcome) -> Copied:
    name = job.topic.name
    if copier is None or copier.begun is None or copier.commit is None:
        return Copied(name, known=job.known, trouble=how.trouble, stop=how.stop, refused=how.refused)
    before, now = copier.begun.progress, copier.commit.progress
    return Copied(
        name,
        before.position,
        now.position,
        now.read_from,
        copier.commit.number,
        now.rows - before.rows,
        how.trouble,
        how.stop,
        how.refused,
        now.snapshot,
    )


def forget() -> None:
    """As a process begins."""
    for connection, _ in _OPEN:
        connection.close()
    _OPEN.clear()
    _OPENED_FOR.clear()
