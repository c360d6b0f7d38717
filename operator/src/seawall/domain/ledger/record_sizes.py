"""What the records of a log take on disk, by the mean: what a hold keeps is counted in it.

    on disk                                           live records are
    ------------------------------------------------  -------------------------------------------------------------
    nothing was ever deleted                          all of it
    the log start rose lately                         nobody knows how much of it: Kafka frees whole closed segments,
                                                      when it next looks for them, and their files a minute later
    the log start has stood still since               all of it but a part of the segment in which the log starts

So the mean of before stays until what is on disk contradicts it: a purge makes nothing that is kept look larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from seawall.domain.ledger.tables import TopicLog
from seawall.domain.times import TOPICS_FREED_AFTER_MS


@dataclass(frozen=True, slots=True)
class RecordSize:
    """What is known of one log.

    Attributes:
        topic_id: which log it is.
        log_start: where it began when it was observed last,
        since: and since when, in the stopwatch's milliseconds.
        mean: bytes a record; None: not known.
    """

    topic_id: str
    log_start: int
    since: int
    mean: float | None


def measured(before: RecordSize | None, log: TopicLog, segment_bytes: int, now: int) -> RecordSize | None:
    """What is known of a log once it was observed again; `now` is the stopwatch's milliseconds."""
    if log.topic_id is None or log.log_start is None or log.high_watermark is None:
        return before
    same = before if before is not None and before.topic_id == log.topic_id else None
    since = same.since if same is not None and same.log_start == log.log_start else now
    entries = log.high_watermark - log.log_start
    mean = None if same is None else same.mean
    if log.size_bytes is not None and entries > 0:
        mean = _mean(mean, log.size_bytes, entries, _deleted_at_most(log.log_start, segment_bytes, now - since))
    return RecordSize(log.topic_id, log.log_start, since, mean)


def _deleted_at_most(log_start: int, segment_bytes: int, stood: int) -> int | None:
    """How much of what is on disk may be deleted records; None: any part of it."""
    if log_start == 0:
        return 0
    return segment_bytes if stood >= TOPICS_FREED_AFTER_MS else None


def _mean(before: float | None, size: int, entries: int, deleted: int | None) -> float | None:
    """The mean of before, within what is possible now; or else the least that is."""
    least = None if deleted is None else max(size - deleted, 0) / entries
    if before is None:
        return least
    return min(before if least is None else max(before, least), size / entries)


def measured_all(
    before: Mapping[str, RecordSize], logs: Mapping[str, TopicLog], segments: Mapping[str, int], now: int
) -> dict[str, RecordSize]:
    """By name what is known of these logs; `segments` are the greatest sizes of one, in bytes."""
    found = {name: measured(before.get(name), log, segments[name], now) for name, log in logs.items()}
    return {name: size for name, size in found.items() if size is not None}


def with_record_sizes(logs: Mapping[str, TopicLog], known: Mapping[str, RecordSize]) -> dict[str, TopicLog]:
    """The logs with the mean of their records."""
    return {name: replace(log, record_bytes=_of(known.get(name), log)) for name, log in logs.items()}


def _of(size: RecordSize | None, log: TopicLog) -> float | None:
    return size.mean if size is not None and size.topic_id == log.topic_id else None
