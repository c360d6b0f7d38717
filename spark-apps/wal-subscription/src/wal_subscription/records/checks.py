"""What must be so of both sides before anything is committed."""

from __future__ import annotations

from collections.abc import Mapping

from kafka.protocol.metadata import MetadataRequest

from sparkjob.wire.connection import Connection, name_of, uuid_of
from sparkjob.wire.reader import UNCOMMITTED, Range, Reader
from sparkjob.wire.records import Record, digest_of
from wal_subscription.asked import OfGlobs, OfRun, OfTopic, SourceTopic
from wal_subscription.records.decoder import Poison, UnknownTable
from wal_subscription.records.progress import FilePlace, Progress
from wal_subscription.records.snapshot import Base
from wal_subscription.stops import MustStop, Reason, Stop, Trouble
from walrecord.region import table_id

PATIENCE_SECONDS = 10.0


def require_ours(found: Progress | None, request: OfRun, topic: SourceTopic) -> None:
    """Stops where the progress is another one's.

    Raises:
        MustStop: it is so.
    """
    if found is None:
        return
    name, writer = topic.name, request.sink.writer
    where = f"the progress of topic {name} in the target is"
    if found.writer != writer:
        raise MustStop(Stop(name, Reason.DIVERGED, found.position, f"{where} of {found.writer}, not of {writer}"))
    if found.run > request.run:
        message = f"{where} of run {found.run}, and this is run {request.run}"
        raise MustStop(Stop(name, Reason.FENCED, found.position, message))
    if found.generation > topic.generation:
        message = f"{where} of generation {found.generation}, and this is generation {topic.generation}"
        raise MustStop(Stop(name, Reason.FENCED, found.position, message))
    if found.generation == topic.generation and found.topic_id != topic.source_id:
        message = f"{where} about {found.topic_id}, not {topic.source_id}: the topic was made again"
        raise MustStop(Stop(name, Reason.IDENTITY_FENCE_BROKEN, found.position, message))


def stop_at(topic: str, reason: Reason, why: Poison | UnknownTable) -> Stop:
    """A topic that must not go on at a record."""
    what = "a record of a table whose name is not known"
    if isinstance(why, Poison):
        what = f"a record that gives no rows: {why.said}"
    return Stop(topic, reason, why.offset, f"topic {topic} has at offset {why.offset}, of region {why.region}, {what}")


def digest_before(position: int, last: Record | None) -> str | None:
    """Of the record before a position, if that was read last; None: there is none, or it was another one."""
    return None if last is None or last.offset != position - 1 else digest_of([last])


def require_same(found: Progress, job: OfTopic, source: Mapping[str, str]) -> None:
    """The source still has the record that was handed on last, if it has that offset.

    Raises:
        MustStop: it has another one.
    """
    if found.last is None or not job.source_start < found.position <= job.end:
        return
    last, name = found.position - 1, job.topic.name
    with Reader(source, PATIENCE_SECONDS, UNCOMMITTED) as reader:
        record = next((record for record, _ in reader.read(Range(name, last, last + 1))), None)
    if record is None or digest_of([record]) != found.last:
        message = f"topic {name} has another record at offset {last} in the source than the one that was handed on"
        raise MustStop(Stop(name, Reason.DIVERGED, last, message))


def require_source(topic: SourceTopic, source_start: int, progress: Progress) -> None:
    """Not now, if the source does not have what comes next: the driver finds out whether it is so for good.

    Raises:
        Trouble: it is so.
    """
    if source_start > progress.read_from:
        raise Trouble(f"topic {topic.name} begins at offset {source_start} in the source, beyond {progress.read_from}")


def is_current(progress: Progress | None, job: OfTopic) -> bool:
    """Whether who wrote a topic's rows last may go on from what it knows: beyond a gap another one may have written."""
    return progress is None or job.source_start <= progress.read_from


def require_leader(topic: SourceTopic, planned: int | None, epoch: int) -> None:
    """Not now, if a record is of a newer leader than led when the job was planned: its log may be another one.

    It may have lost its end, and grown again, after whoever began had compared it. The next plan knows that leader;
    who begins then compares first.

    Raises:
        Trouble: it is so.
    """
    if planned is not None and epoch > planned:
        raise Trouble(f"topic {topic.name} has another leader in the source than when it was planned")


def require_base(base: Base, selection: OfGlobs, topic: SourceTopic, end: int) -> None:
    """Stops where the log, which ends at `end`, does not go on from what selected regions of a topic begin with.

    Also at a region whose table is not known: its files would be passed over, and its entries up to the cut, too.

    Raises:
        MustStop: it is so.
    """
    for region, entry_id in base.cuts.items():
        is_selected = selection.has(table_id(region))
        is_unknown = is_selected is None and entry_id >= topic.names_known_to
        if not is_selected and not is_unknown:
            continue
        where = f"the snapshot has the rows of region {region} up to entry {entry_id}, and topic {topic.name}"
        if entry_id >= end:
            message = f"{where} ends at offset {end} in the source: it lost its tail, or they are not of one database"
            raise MustStop(Stop(topic.name, Reason.DIVERGED, end, message))
        if is_unknown:
            message = (
                f"the snapshot has rows of region {region} up to entry {entry_id}, whose table's name is not known"
            )
            raise MustStop(Stop(topic.name, Reason.TABLE_UNKNOWN, entry_id, message))
        if entry_id + 1 < topic.start:
            message = f"{where} begins at offset {topic.start}: what is between is neither here nor there"
            raise MustStop(Stop(topic.name, Reason.SOURCE_GAP, entry_id + 1, message))


def require_snapshot(place: FilePlace | None, base: Base | None, request: OfRun, topic: SourceTopic) -> None:
    """Stops where a topic has begun with another snapshot than the request's.

    Raises:
        MustStop: it is so.
    """
    if place is None:
        return
    if request.snapshot_uri is None:
        message = f"topic {topic.name} has begun with a snapshot, and the request has none"
        raise MustStop(Stop(topic.name, Reason.SNAPSHOT_UNUSABLE, None, message))
    if base is not None and base.digest != place.digest:
        message = f"topic {topic.name} has begun with snapshot {place.digest}, and the request has {base.digest}"
        raise MustStop(Stop(topic.name, Reason.SNAPSHOT_UNUSABLE, None, message))


def require_ids(connection: Connection, ids: Mapping[str, str]) -> None:
    """Topics that were made again are not read on, and get nothing.

    Raises:
        Trouble: one is, or is gone.
    """
    asked = [MetadataRequest.MetadataRequestTopic(name=name) for name in ids]
    for found in connection.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False)).topics:
        if found.error_code:
            raise Trouble(f"topic {found.name} is not known: {name_of(found.error_code)}")
        if found.topic_id != uuid_of(ids[found.name]):
            raise Trouble(f"topic {found.name} was made again")
