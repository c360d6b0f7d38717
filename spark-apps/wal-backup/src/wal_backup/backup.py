"""One backup: asks Kafka, reads, asks again, proves what it wrote, and only then publishes the manifest.

The manifest makes it count, and nothing can take it back. So a backup that is not what it should be has none, nor has
one whose proof is interrupted: another attempt then is the only child of the same parent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql import SparkSession

from sparkjob.errors import Interrupted, Refused
from sparkjob.kafka_options import librdkafka_options
from sparkjob.wire.epochs import Piece, epochs_to_ask, read_epoch_ends
from sparkjob.wire.kafka_state import KafkaState
from sparkjob.wire.reader import Range, RangeGone, Reader
from sparkjob.wire.records import digest_of
from wal_backup.chain import read_parent
from wal_backup.findings import Finding
from wal_backup.gaps import Gap, merge, width
from wal_backup.layout import manifest_name, manifests_folder, object_path
from wal_backup.manifest import LastRecord, Manifest, StoredObject, TopicBackup, digest_of_manifest, parse_manifest
from wal_backup.parquet import Section
from wal_backup.plan import plan_tasks
from wal_backup.request import BackupRequest, TopicRange
from wal_backup.store import Store
from wal_backup.task import RangeRead, TaskResult, write_objects
from wal_backup.trouble import find_cut, find_trouble
from wal_backup.verify import Verifier


class LogChanged(Exception):  # noqa: N818 - the outcome's name
    """The log is not the one that was to be backed up: the next backup must be full."""


class Flawed(Exception):  # noqa: N818 - as above
    """What the store has is not what was written, or does not replay: there is no manifest."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(findings[0].message)
        self.findings = tuple(findings)


@dataclass(frozen=True, slots=True)
class Written:
    """A backup that counts: its manifest, the digest of it, and how many warnings its proof had."""

    manifest: Manifest
    digest: str
    warnings: int


class Backup:
    """Works on one request."""

    def __init__(self, spark: SparkSession, request: BackupRequest) -> None:
        self._spark, self._request = spark, request
        self._options = librdkafka_options(request.kafka)
        self._store = Store(request.place)

    def write(self) -> Written:
        """Writes the objects and the manifest.

        Raises:
            Refused: it asks for another Kafka, for a parent that is not there, or the store refuses.
            LogChanged: what is asked for is not in the log any more, or does not continue the parent.
            Flawed: what was read again from the store is not what it should be.
            Interrupted: Kafka, Spark or the store does not answer.
        """
        began, request = datetime.now(UTC), self._request
        self._store.names(manifests_folder(request.folder))  # a store that refuses does so before anything is read
        kafka = KafkaState(self._options)
        found = kafka.cluster_id()
        if found != request.cluster_id:
            raise Refused(
                f"the Kafka cluster at {self._options['bootstrap.servers']} is {found}, not {request.cluster_id}"
            )
        parent = None if request.parent is None else read_parent(self._store, request.folder, request.parent)
        place = _place_after(parent)
        self._require_unpublished(manifest_name(request.backup, request.attempt, place))
        self._require_no_fork(place)
        self._require(kafka)
        if parent is not None:
            self._require_continues(kafka, parent)
        try:
            results = self._read()
        except Exception:
            self._require(kafka)  # a log that was cut or made again is a finding, and no failure of the network
            raise
        self._require(kafka)
        self._require_one_log(results)
        manifest = self._manifest(results, parent, began)
        self._require_stored(manifest.objects)
        verifier = Verifier(self._spark, request.place, request.verify, request.database_version)
        proof = verifier.verify(request.folder, [manifest])
        if proof.findings:
            raise Flawed(proof.findings)
        return Written(manifest, self._publish(manifest), proof.warnings)

    def _publish(self, manifest: Manifest) -> str:
        """Creates the manifest where there is none, asks it back, and returns its digest."""
        content, path = manifest.to_bytes(), self._path_of(manifest.name)
        self._require_unpublished(manifest.name)
        self._require_no_fork(manifest.sequence)
        if self._request.parent is not None:
            read_parent(self._store, self._request.folder, self._request.parent)  # it may have been deleted meanwhile
        if not self._store.create(path, content):  # whoever asked at the same instant found none either
            self._require_unpublished(manifest.name, content)
        if self._store.size(path) is None or self._store.read(path) != content:
            raise Interrupted(f"the manifest {path} is not what was written")
        return digest_of_manifest(content)

    def _require_unpublished(self, name: str, ours: bytes | None = None) -> None:
        """Of another driver of the same request, of which nobody heard, it is no obstacle to another attempt.

        One that has these bytes is ours: the answer to what created it was lost, and it was created once more.
        """
        path = self._path_of(name)
        if self._store.size(path) is None:
            return
        found = self._store.read(path)
        if found == ours:
            return
        is_same = parse_manifest(found, path).request_digest == self._request.digest
        kind = Interrupted if is_same else Refused
        raise kind(f"the manifest {path} is there already: nothing is overwritten")

    def _path_of(self, manifest: str) -> str:
        return f"{manifests_folder(self._request.folder)}/{manifest}"

    def _require_no_fork(self, place: int) -> None:
        """No other backup has this place in the chain; another attempt of this one may: its driver died unheard."""
        end = f"-{place:06}.json.gz"
        for name in self._store.names(manifests_folder(self._request.folder)):
            if name.endswith(end) and name.removesuffix(end).rpartition("-")[0] != self._request.backup:
                raise LogChanged(f"the chain goes on with {name} already: a second one would make it a fork")

    def _require_stored(self, objects: Sequence[StoredObject]) -> None:
        for stored in objects:
            size = self._store.size(f"{self._request.folder}/{stored.path}")
            if size != stored.bytes:
                raise Interrupted(
                    f"object {stored.path} has {size} bytes in the store, and {stored.bytes} were written"
                )

    def _require(self, kafka: KafkaState) -> None:
        topics = self._request.topics
        trouble = find_trouble(topics, kafka.topics(topic.name for topic in topics))
        if trouble is not None:
            raise LogChanged(trouble)

    def _require_one_log(self, results: Sequence[TaskResult]) -> None:
        """Tasks read at different times: one before the log was cut off, and another one what was written after."""
        read = pieces_of(results)
        ids = {topic.name: topic.topic_id for topic in self._request.topics}
        ends = read_epoch_ends(
            self._options, {(topic, ids[topic]): epochs_to_ask(pieces) for topic, pieces in read.items()}
        )
        cut = find_cut(read, ends)
        if cut is not None:
            raise LogChanged(cut)

    def _require_continues(self, kafka: KafkaState, parent: Manifest) -> None:
        """Each topic of the parent goes on where it ended, in the same log: nothing is glued over a gap."""
        before = {topic.name: topic for topic in parent.topics}
        with Reader(self._options) as reader:
            for topic in self._request.topics:
                old = before.get(topic.name)
                if old is not None:
                    _require_same_log(topic, old)
                    _require_last_record(reader, kafka, topic, parent.last_records.get(topic.name))

    def _read(self) -> list[TaskResult]:
        request, options = self._request, self._options
        ranges = [Range(topic.name, topic.start, topic.end) for topic in request.topics]
        tasks = list(enumerate(plan_tasks(ranges, self._spark.sparkContext.defaultParallelism)))
        if not tasks:
            return []
        name, attempt, place, folder = request.backup, request.attempt, request.place, request.folder
        driver = uuid4().hex[:8]  # there may be a second one: its SparkApplication was submitted again

        def run(task: tuple[int, list[Range]]) -> TaskResult | Refused:
            context = TaskContext.get()
            number = 0 if context is None else context.taskAttemptId()
            try:
                path = object_path(name, attempt, driver, task[0], number)
                return write_objects(task[1], options, place, folder, path)
            except Refused as refused:
                return refused  # an answer, and no failure: Spark would ask three times more

        results = self._spark.sparkContext.parallelize(tasks, len(tasks)).map(run).collect()
        for result in results:
            if isinstance(result, Refused):
                raise result
        return [result for result in results if not isinstance(result, Refused)]

    def _manifest(self, results: Sequence[TaskResult], parent: Manifest | None, began: datetime) -> Manifest:
        reads, sections = defaultdict[str, list[RangeRead]](list), defaultdict[str, list[Section]](list)
        for result in results:
            for read in result.ranges:
                reads[read.topic].append(read)
            for topic, section in result.sections:
                sections[topic].append(section)
        request = self._request
        last = {} if parent is None else dict(parent.last_records)
        last |= {topic: newest for topic, all_reads in reads.items() if (newest := _last_record(all_reads)) is not None}
        return Manifest(
            cluster_id=request.cluster_id,
            chain=request.chain,
            backup=request.backup,
            attempt=request.attempt,
            sequence=_place_after(parent),
            request_digest=request.digest,
            parent=request.parent,
            started_time=_text(began),
            finished_time=_text(datetime.now(UTC)),
            topics=tuple(_topic(topic, reads[topic.name], sections[topic.name]) for topic in request.topics),
            objects=tuple(each for result in results for each in result.objects),
            last_records={topic.name: last[topic.name] for topic in request.topics if topic.name in last},
            restore_point=request.point,
        )


def _place_after(parent: Manifest | None) -> int:
    return 0 if parent is None else parent.sequence + 1


def _require_same_log(topic: TopicRange, old: TopicBackup) -> None:
    if old.topic_id != topic.topic_id:
        raise LogChanged(
            f"topic {topic.name} was made again since its last backup: {topic.topic_id}, not {old.topic_id}"
        )
    if old.end != topic.start:
        raise LogChanged(f"topic {topic.name} was backed up to offset {old.end}, and this goes on at {topic.start}")


def _require_last_record(reader: Reader, kafka: KafkaState, topic: TopicRange, last: LastRecord | None) -> None:
    """The newest record that was backed up, if it is still there, is the same: no tail was lost and written anew."""
    if last is None:
        return
    try:
        found = [record for record, _ in reader.read(Range(topic.name, last.offset, last.offset + 1))]
    except RangeGone as gone:
        state = kafka.topics([topic.name]).get(topic.name)
        if state is None or state.start <= last.offset:  # a log that was cut does not have it either, for a moment
            raise Interrupted(f"topic {topic.name} did not give its record at offset {last.offset}: {gone}") from None
        return  # it was purged meanwhile, which it may be: it is backed up
    if digest_of(found) != last.digest:
        raise LogChanged(f"topic {topic.name} has another record at offset {last.offset} than was backed up")


def pieces_of(results: Sequence[TaskResult]) -> dict[str, list[Piece]]:
    """What was read of each topic, by the leaders that had appended it. A gap before an epoch is of any."""
    found = defaultdict[str, list[Piece]](list)
    for read in (each for result in results for each in result.ranges):
        if read.last_record is None:
            continue
        before = {end: first for first, end in read.gaps}
        firsts = [first for _, first in read.epochs]
        ends = [*(before.get(first, first) for first in firsts[1:]), read.last_record.offset + 1]
        found[read.topic] += [Piece(epoch, *at) for (epoch, _), *at in zip(read.epochs, firsts, ends, strict=True)]
    return dict(found)


def _topic(topic: TopicRange, reads: Sequence[RangeRead], sections: Sequence[Section]) -> TopicBackup:
    gaps: tuple[Gap, ...] = merge(gap for read in reads for gap in read.gaps)
    epochs: dict[int, int] = {}
    for read in sorted(reads, key=lambda each: each.start):
        for epoch, first in read.epochs:
            epochs.setdefault(epoch, first)
    found = TopicBackup(
        topic.name,
        topic.topic_id,
        topic.log_start,
        topic.start,
        topic.end,
        topic.config,
        topic.regions,
        tuple(epochs.items()),
        gaps,
        tuple(sorted(sections, key=lambda section: section.first)),
    )
    if found.records + width(gaps) != topic.end - topic.start:
        raise Interrupted(f"topic {topic.name} gave {found.records} records and {width(gaps)} gaps of its range")
    return found


def _last_record(reads: Sequence[RangeRead]) -> LastRecord | None:
    last = [read.last_record for read in sorted(reads, key=lambda each: each.start) if read.last_record is not None]
    return last[-1] if last else None


def _text(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
