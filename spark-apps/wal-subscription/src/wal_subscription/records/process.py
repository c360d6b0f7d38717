"""What a process keeps open between jobs: it lives longer than they do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sparkjob.wire.connection import Connection
from wal_subscription.outcome import Outcome, outcome_of
from wal_subscription.records.beginning import NeedsSnapshot
from wal_subscription.records.checks import is_current
from wal_subscription.records.copier import Copier
from wal_subscription.records.encoding import Placed
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.request import Topic
from wal_subscription.records.sink import Overtaken
from wal_subscription.source import connect

_OPEN: dict[str, Copier] = {}
_OPENED_FOR: list[Sides] = []
_CONNECTIONS: list[Connection] = []
"""One for each side."""


def copy(job: Job, sides: Sides) -> Copied:
    """Runs a job with what this process has open. Never raises what may pass."""
    return _done(job, sides, lambda: _run(job, sides))


def hand_on(job: Job, sides: Sides, rows: Iterable[Placed]) -> Copied:
    """Hands on rows of a snapshot. Whoever did so before may have been another process: so it begins."""
    forget(job.topic.name)
    return _done(job, sides, lambda: _opened(job.topic, sides).run_files(job, rows))


def _done(job: Job, sides: Sides, act: Callable[[], None]) -> Copied:
    name = job.topic.name
    if [sides] != _OPENED_FOR:
        forget_all()
        _OPENED_FOR.append(sides)
    try:
        how = outcome_of(act)
    except NeedsSnapshot:
        forget(name)
        return Copied(name, needs_snapshot=True)
    copied = _copied(name, how)
    if how.is_cut:
        _forget_connections()
    elif not how.is_well or copied.snapshot is not None:
        forget(name)  # of a snapshot, another process hands on the next files
    return copied


def _run(job: Job, sides: Sides) -> None:
    """Runs it. Who was overtaken since its last job begins anew at once: Spark gave that one to another worker."""
    name = job.topic.name
    if name in _OPEN and (_OPEN[name].epoch != job.epoch or not is_current(_OPEN[name].progress, job)):
        forget(name)
    if name not in _OPEN:
        _opened(job.topic, sides).run(job)
        return
    try:
        _OPEN[name].run(job)
    except Overtaken:
        forget(name)
        _opened(job.topic, sides).run(job)


def _copied(name: str, how: Outcome) -> Copied:
    copier = _OPEN.get(name)
    begun, progress = (None, None) if copier is None else (copier.begun, copier.progress)
    if begun is None or progress is None:
        return Copied(name, trouble=how.trouble, stop=how.stop, refused=how.refused)
    rows = progress.rows - begun.rows
    return Copied(
        name,
        begun.position,
        progress.position,
        progress.read_from,
        rows,
        progress.snapshot,
        trouble=how.trouble,
        stop=how.stop,
        refused=how.refused,
    )


def _opened(topic: Topic, sides: Sides) -> Copier:
    if not _CONNECTIONS:
        _CONNECTIONS.extend(connect(options) for options in (sides.source, sides.target))
    source, target = _CONNECTIONS
    copier = _OPEN[topic.name] = Copier(topic, sides, source, target)
    return copier


def forget(name: str) -> None:
    """Of one topic: whoever goes on with it begins, and asks anew."""
    if (copier := _OPEN.pop(name, None)) is not None:
        copier.close()


def forget_all() -> None:
    """As a process begins."""
    for name in list(_OPEN):
        forget(name)
    _forget_connections()
    _OPENED_FOR.clear()


def _forget_connections() -> None:
    for name in list(_OPEN):
        forget(name)
    for connection in _CONNECTIONS:
        connection.close()
    _CONNECTIONS.clear()
