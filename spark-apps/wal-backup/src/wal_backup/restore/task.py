"""Writes one topic of a restore, from its first offset to its last. There is no second try: the topic is made anew.

1. Records of null up to the first offset that comes back, with time 0: the first real record, which is more than
   `segment.ms` younger, begins a segment of its own, and the padding goes with the next cleaning of the log.
2. DeleteRecords: the log begins there.
3. The records in order, and records of null where the log had none; Kafka must give each batch its offset.
4. Records of null up to where the log shall end. None is younger than what comes back: to the operator a record of
   after the topic was made is another's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark import TaskContext

from sparkjob.errors import Interrupted, Refused
from sparkjob.wire.batches import batches, nulls
from sparkjob.wire.records import Record, digest_of
from wal_backup.findings import Finding, Kind
from wal_backup.parquet import Section
from wal_backup.restore.appender import Appender, NotOurs
from wal_backup.restore.plan import TopicPlan
from wal_backup.restore.section_reader import SectionChanged, SectionReader
from wal_backup.restore.target import TargetKafka, require_empty
from wal_backup.store import Place, Store

CREATE_TIME = 1
"""What every record has that a producer gave its time; a log that gave them its own is restored so, too."""
PADDING_TIME = 0


@dataclass(frozen=True, slots=True)
class TopicJob:
    """A topic to be written.

    Attributes:
        topic: by the name of the topic that is written to.
        topic_id: of the empty topic.
        most_bytes: that one batch may have.
        source: what the topic is called in the backup.
    """

    topic: TopicPlan
    topic_id: str
    most_bytes: int
    source: str


@dataclass(frozen=True, slots=True)
class WrittenSection:
    """Records that follow each other but for known gaps, and what their digest in the new log must be."""

    first: int
    last: int
    digest: str


@dataclass(frozen=True, slots=True)
class TopicWritten:
    """How it ended. Without a finding and a trouble the topic has all that was planned.

    Attributes:
        finding: what is wrong with the backup, or with the topic.
        trouble: what did not answer, or refused.
    """

    name: str
    sections: tuple[WrittenSection, ...] = ()
    finding: Finding | None = None
    trouble: str | None = None


def restore_topic(job: TopicJob, options: Mapping[str, str], place: Place, folder: str) -> TopicWritten:
    """Writes a topic; what goes wrong with it is its own result, so that other topics are written to their ends."""
    name, context = job.topic.name, TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        return TopicWritten(name, trouble=f"topic {name} was begun before: it has to be made anew")
    try:
        return TopicWritten(name, write_topic(job, options, place, folder))
    except NotOurs as error:
        return TopicWritten(name, finding=Finding(Kind.NOT_OURS, str(error), None, name, error.offset))
    except SectionChanged as error:
        return TopicWritten(name, finding=error.finding)
    except (Interrupted, Refused) as error:
        return TopicWritten(name, trouble=str(error))


def write_topic(job: TopicJob, options: Mapping[str, str], place: Place, folder: str) -> tuple[WrittenSection, ...]:
    """Writes a topic, and says what must be found in it.

    Raises:
        NotOurs: something else writes to it, or made it again.
        SectionChanged: the backup is not what was written.
        Interrupted, Refused: Kafka or the store does not answer, or refuses; the topic is not empty.
    """
    topic = job.topic
    target = TargetKafka(options)
    require_empty(topic.name, job.topic_id, target.find_topics([topic.name]).get(topic.name))
    with Appender(options, topic.name, job.topic_id) as log, SectionReader(Store(place), folder) as reader:
        pad(log, topic.start, PADDING_TIME, job.most_bytes)
        if topic.start > 0:
            target.delete_records(topic.name, job.topic_id, topic.start)
        written, newest = list[WrittenSection](), PADDING_TIME
        for section in topic.sections:
            records = [record for record in reader.read(job.source, section) if record.offset < topic.end]
            if records:
                for batch in batches(records, log.position, job.most_bytes):
                    log.append(batch)
                written.append(_written(section, records))
                newest = records[-1].timestamp
        pad(log, topic.pad_end, newest, job.most_bytes)
    return tuple(written)


def pad(log: Appender, end: int, timestamp: int, most_bytes: int) -> None:
    """Appends records of null up to an offset. Raises as `Appender.append`."""
    for batch in nulls(end - log.position, timestamp, most_bytes):
        log.append(batch)


def _written(section: Section, records: list[Record]) -> WrittenSection:
    """The digest of the backup counts, unless it is of more records, or of such as had the time of their log."""
    is_whole = len(records) == section.records
    if is_whole and all(record.timestamp_type == CREATE_TIME for record in records):
        return WrittenSection(section.first, section.last, section.digest)
    restored = (record._replace(timestamp_type=CREATE_TIME) for record in records)
    return WrittenSection(records[0].offset, records[-1].offset, digest_of(restored))
