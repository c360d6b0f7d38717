"""What a process keeps open between jobs: connections, and nothing that is known of a topic."""

from __future__ import annotations

from kafka.errors import KafkaError

from sparkjob.bucket import Bucket
from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.connection import Connection, sentence_of_error
from sparkjob.wire.reader import RangeGone
from wal_subscription.source import connect
from wal_subscription.stops import MustStop, Stop, Trouble
from wal_subscription.table.copier import Copied, Copier, Job, Sides

_OPENED_FOR: list[Sides] = []
_OPEN: list[tuple[Connection, Bucket]] = []
"""One at most."""


def copy(job: Job, sides: Sides) -> Copied:
    """Runs a job. Never raises what may pass."""
    if [sides] != _OPENED_FOR:
        forget()
        _OPENED_FOR.append(sides)
    copier: Copier | None = None
    trouble = stop = refused = None
    try:
        if not _OPEN:
            _OPEN.append((connect(sides.source), Bucket(sides.place)))
        copier = Copier(job, sides, *_OPEN[0])
        copier.run()
    except MustStop as must:
        stop = must.stop
    except Refused as error:
        refused = str(error)
    except (Trouble, Interrupted, RangeGone) as error:
        trouble = str(error)
    except (KafkaError, OSError) as error:
        trouble = sentence_of_error(error)
        forget()
    return _copied(job, copier, trouble, stop, refused)


def _copied(job: Job, copier: Copier | None, trouble: str | None, stop: Stop | None, refused: str | None) -> Copied:
    name = job.topic.name
    if copier is None or copier.begun is None or copier.commit is None:
        return Copied(name, known=job.known, trouble=trouble, stop=stop, refused=refused)
    before, now = copier.begun.progress, copier.commit.progress
    return Copied(
        name,
        before.position,
        now.position,
        now.read_from,
        copier.commit.number,
        now.rows - before.rows,
        trouble,
        stop,
        refused,
    )


def forget() -> None:
    """As a process begins."""
    for connection, _ in _OPEN:
        connection.close()
    _OPEN.clear()
    _OPENED_FOR.clear()
