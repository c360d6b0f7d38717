"""Whether the last record of the target is the source's: else one of the two logs is not what it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.reader import UNCOMMITTED, Range, RangeGone, Reader
from sparkjob.wire.records import Record
from wal_subscription.log_batches import LogBatch
from wal_subscription.stops import MustStop, Reason, Stop, Trouble

Fetch = Callable[[int], Sequence[LogBatch]]


def require_same(
    topic: str,
    last: int,
    source: tuple[Fetch, Mapping[str, str]],
    target: tuple[Fetch, Mapping[str, str]],
    least: int | None = None,
) -> None:
    """Compares what both logs have at offset `last`: the batches, and the records where those differ.

    Records that were encoded anew are in other batches than the source has. `least`: the first offset that both have;
    where they differ, the stop names the offset that they differ from, as far as a few comparisons tell.

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

        def is_same(offset: int) -> bool:
            return same_record(record_at(topic, offset, source[1]), record_at(topic, offset, target[1]))

        first = first_difference(is_same, last if least is None else least, last)
        message = f"topic {topic} has another record at offset {first} in the target than in the source"
        raise MustStop(Stop(topic, Reason.DIVERGED, first, message))


def first_difference(is_same: Callable[[int], bool], least: int, last: int) -> int:
    """An offset of [least, last] at which two logs differ that do at `last`, and before which they do not.

    Where the logs differ from one offset on, it is that one. Steps that double go back, and halves come forward again:
    as few comparisons as there are bits in the distance, twice. Where one cannot be made, what is known so far counts.
    """
    same, differs, step = least - 1, last, 1
    try:
        while differs > least and not is_same(at := max(least, differs - step)):
            differs, step = at, 2 * step
        if differs > least:
            same = at
        while differs - same > 1:
            middle = (same + differs) // 2
            same, differs = (middle, differs) if is_same(middle) else (same, middle)
    except (Interrupted, Refused, RangeGone, Trouble):
        return differs
    return differs


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
