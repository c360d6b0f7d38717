"""Reads a topic that was restored: every offset has what the backup has, or a record of null."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sparkjob.wire.kafka_state import KafkaState, TopicState
from sparkjob.wire.reader import Range, RangeGone, Reader
from sparkjob.wire.records import Record, encode
from wal_backup.findings import Finding, Kind
from wal_backup.gaps import Gap, merge
from wal_backup.restore.plan import TopicPlan
from wal_backup.restore.task import TopicJob, WrittenSection


def read_back(job: TopicJob, written: Sequence[WrittenSection], options: Mapping[str, str]) -> list[Finding]:
    """What is not as it was planned, up to the first record that is not.

    Raises:
        Interrupted: Kafka does not answer.
    """
    topic, kafka = job.topic, KafkaState(options)
    found = list(find_wrong_ends(job, kafka.topics([topic.name]).get(topic.name)))
    if found:
        return found
    nulls = merge([*topic.gaps, (topic.end, topic.pad_end)])
    try:
        with Reader(options) as reader:
            records = (record for record, _ in reader.read(Range(topic.name, topic.start, topic.pad_end)))
            found += find_difference(topic, records, nulls, written)
    except RangeGone as gone:
        found.append(_finding(topic, str(gone), topic.start))
    return found or list(find_wrong_ends(job, kafka.topics([topic.name]).get(topic.name)))


def find_wrong_ends(job: TopicJob, state: TopicState | None) -> Iterator[Finding]:
    """A topic that is not there, was made again, or begins or ends elsewhere than planned."""
    topic = job.topic
    if state is None:
        yield Finding(Kind.NOT_OURS, f"topic {topic.name} is gone", None, topic.name)
    elif state.topic_id != job.topic_id:
        yield Finding(Kind.NOT_OURS, f"topic {topic.name} was made again: it is {state.topic_id}", None, topic.name)
    elif state.end > topic.pad_end:
        message = f"topic {topic.name} ends at offset {state.end}, not at {topic.pad_end}: something else wrote to it"
        yield Finding(Kind.NOT_OURS, message, None, topic.name, topic.pad_end)
    elif (state.start, state.end) != (topic.start, topic.pad_end):
        message = f"topic {topic.name} has offsets {state.start} to {state.end}, not {topic.start} to {topic.pad_end}"
        yield _finding(topic, message, state.start)


def find_difference(
    topic: TopicPlan, records: Iterable[Record], nulls: Sequence[Gap], written: Sequence[WrittenSection]
) -> Iterator[Finding]:
    """The first offset, or section, that has something else."""
    expected, sections, holes = topic.start, iter(written), iter((*nulls, (topic.pad_end, topic.pad_end)))
    section, hole, sha = next(sections, None), next(holes), hashlib.sha256()
    for record in records:
        offset = record.offset
        if offset != expected:
            yield _finding(topic, f"topic {topic.name} has no record at offset {expected}", expected)
            return
        expected += 1
        while offset >= hole[1] and hole[0] < topic.pad_end:
            hole = next(holes)
        if hole[0] <= offset < hole[1]:
            if (record.key, record.value, record.headers) != (None, None, None):
                yield _finding(topic, f"topic {topic.name} has a record at offset {offset}, where none was", offset)
                return
            continue
        sha.update(encode(record))
        if section is not None and offset == section.last:
            if sha.hexdigest() != section.digest:
                message = f"topic {topic.name} has other records from offset {section.first} to {section.last}"
                yield _finding(topic, f"{message} than were backed up", section.first)
                return
            section, sha = next(sections, None), hashlib.sha256()
    if section is not None or expected != topic.pad_end:
        yield _finding(topic, f"topic {topic.name} has no record at offset {expected}", expected)


def _finding(topic: TopicPlan, message: str, offset: int) -> Finding:
    return Finding(Kind.NOT_RESTORED, message, None, topic.name, offset)
