"""Whether the last record of the target is the source's: else one of the two logs is not what it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sparkjob.wire.reader import Range, Reader
from sparkjob.wire.records import Record
from wal_subscription.log_batches import LogBatch
from wal_subscription.stops import MustStop, Reason, Stop

UNCOMMITTED = "read_uncommitted"
"""As the database reads: what was aborted, too."""
Fetch = Callable[[int], Sequence[LogBatch]]


def require_same(
    topic: str, last: int, source: tuple[Fetch, Mapping[str, str]], target: tuple[Fetch, Mapping[str, str]]
) -> None:
    """Compares what both logs have at offset `last`: the batches, and the records where those differ.

    Records that were encoded anew are in other batches than the source has.

    Raises:
        MustStop: they differ.
        Trouble, Refused, Interrupted, RangeGone: one of them cannot be read.
    """
    theirs, ours = (batch_at(last, fetch(last)) for fetch, _ in (source, target))
    if theirs is not None and ours is not None and theirs.passes and same_batch(theirs, ours):
        return
    is_hole = theirs is None or theirs.is_empty
    their, our = None if is_hole else record_at(topic, last, source[1]), record_at(topic, last, target[1])
    if not same_record(their, our):
        message = f"topic {topic} has another record at offset {last} in the target than in the source"
        raise MustStop(Stop(topic, Reason.DIVERGED, last, message))


def batch_at(offset: int, batches: Sequence[LogBatch]) -> LogBatch | None:
    """The batch that has the offset."""
    return next((batch for batch in batches if batch.base <= offset < batch.end), None)


def same_batch(theirs: LogBatch, ours: LogBatch) -> bool:
    """Whether one is what the other becomes when it is sent."""
    return theirs.base == ours.base and theirs.to_batch() == ours.to_batch()


def same_record(their: Record | None, our: Record | None) -> bool:
    """Whether a record arrived as it was; without one the target has null and null."""
    if our is None:
        return False
    if their is None:
        return (our.key, our.value, our.headers) == (None, None, None)
    return our._replace(timestamp_type=their.timestamp_type) == their


def record_at(topic: str, offset: int, options: Mapping[str, str]) -> Record | None:
    """The record, by a client of its own."""
    with Reader(options, isolation=UNCOMMITTED) as reader:
        return next((record for record, _ in reader.read(Range(topic, offset, offset + 1))), None)
