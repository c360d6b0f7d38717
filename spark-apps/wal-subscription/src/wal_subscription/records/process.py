"""What a process keeps open between jobs: it lives longer than they do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka.errors import KafkaError

from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.connection import Connection, sentence_of_error
from sparkjob.wire.reader import RangeGone
from wal_subscription.records.copier import Copier, NeedsSnapshot
from wal_subscription.records.encoding import Placed
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.request import Topic
from wal_subscription.records.sink import Overtaken
from wal_subscription.source import connect
from wal_subscription.stops import MustStop, Stop, Trouble

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
    trouble = stop = refused = None
    is_cut = False
    try:
        act()
    except NeedsSnapshot:
        forget(name)
        return Copied(name, needs_snapshot=True)
    except MustStop as must:
        stop = must.stop
    except Refused as error:
        refused = str(error)
    except (Trouble, Interrupted, RangeGone) as error:
        trouble = str(error)
    except (KafkaError, OSError) as error:
        trouble, is_cut = sentence_of_error(error), True
    copied = _copied(name, trouble, stop, refused)
    if is_cut:
        _forget_connections()
    elif (trouble, stop, refused) != (None, None, None) or copied.snapshot is not None:
        forget(name)  # of a snapshot, another process hands on the next files
    return copied


def _run(job: Job, sides: Sides) -> None:
    """Runs it. Who was overtaken since its last job begins anew at once: Spark gave that one to another worker."""
    name = job.topic.name
    if name in _OPEN and _OPEN[name].epoch != job.epoch:
        forget(name)
    if name not in _OPEN:
        _opened(job.topic, sides).run(job)
        return
    try:
        _OPEN[name].run(job)
    except Overtaken:
        forget(name)
        _opened(job.topic, sides).run(job)


def _copied(name: str, trouble: str | None, stop: Stop | None, refused: str | None) -> Copied:
    copier = _OPEN.get(name)
    begun, progress = (None, None) if copier is None else (copier.begun, copier.progress)
    if begun is None or progress is None:
        return Copied(name, trouble=trouble, stop=stop, refused=refused)
    rows = progress.rows - begun.rows
    return Copied(
        name,
        begun.position,
        progress.position,
        progress.read_from,
        rows,
        progress.snapshot,
        trouble=trouble,
        stop=stop,
        refused=refused,
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
