"""One verification: asks Kafka, reads, asks again, and gathers what the levels find.

Kafka is asked for topic ids and offsets before the log is read *and* after: a topic that was deleted, made again or cut
meanwhile must not pass. When the reading itself fails, the same question tells a broken log from a broken network.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from replay_verification import holes
from replay_verification.broker import Broker
from replay_verification.comparer import Comparer
from replay_verification.comparison import plan_comparison
from replay_verification.coverage import Extent, LogState, find_coverage, find_cuts, led_anew
from replay_verification.coverage_counts import counted, find_counted
from replay_verification.repeats import add_reused
from replay_verification.report import RegionCounts, Seen, TopicCounts
from replay_verification.request import Level, Request, Topic
from replay_verification.source import read_records
from replay_verification.watch import Watch
from sparkjob.errors import Interrupted, Refused
from sparkjob.integrity.findings import Finding, Kind, Severity
from sparkjob.integrity.reuse import reused
from sparkjob.integrity.scan import Starts, start_of
from sparkjob.integrity.schemas import unsigned
from sparkjob.integrity.tally import Tally
from sparkjob.integrity.verdicts import pieces_of, verdicts_on
from sparkjob.kafka_options import librdkafka_options
from sparkjob.session import sentence_of
from sparkjob.snapshot import NAME, SnapshotRegion, parse_snapshot
from sparkjob.storage import Storage
from sparkjob.wire.reader import Range
from walrecord import drops_repeated_middle

UNREADABLE_LOG = (PySparkException, Py4JJavaError)
_LOSSES = frozenset(
    {
        Kind.ILLEGAL_SEQUENCE,
        Kind.ORPHAN_PART,
        Kind.PARTS_DO_NOT_JOIN,
        Kind.SEQUENCE_GAP,
        Kind.UNDECODABLE_ENTRY,
        Kind.UNDECODABLE_KEY,
        Kind.UNFINISHED_ENTRY,
    }
)


class Verifier:
    """Works on one request."""

    def __init__(self, spark: SparkSession, request: Request) -> None:
        self._spark, self._request = spark, request
        self._options = librdkafka_options(request.kafka)
        self._drops_repeats = drops_repeated_middle(request.database_version)

    def verify(self) -> Seen:
        """Everything that the request's level finds.

        Raises:
            Refused: It asks for another cluster, or for a snapshot that cannot be read.
            Interrupted: Kafka or Spark failed, or a transaction is open.
        """
        snapshot = self._read_snapshot()
        broker = Broker(self._options)
        self._check_cluster(broker)
        topics, found, extents = self._look(broker, self._request.topics)
        while topics:
            seen = Seen()
            try:
                with Watch(self._spark, partial(self._is_broken, broker, topics)):
                    self._read(topics, seen)
                    if snapshot is not None:
                        extents += self._compare(broker, topics, snapshot, seen)
            except UNREADABLE_LOG as error:
                left, why, extents = self._look(broker, topics)
                if len(left) == len(topics):
                    raise Interrupted(_unread(error, topics)) from error
                topics, found = left, _both(found, why)
                continue
            left, late, _ = self._look(broker, topics)
            cuts = self._look_for_cuts(broker, left, extents)
            seen.findings += _both(found, [*late, *cuts])
            return seen
        return Seen(findings=found)

    def _read_snapshot(self) -> dict[int, SnapshotRegion] | None:
        folder = self._request.snapshot_uri
        if folder is None or self._request.level is not Level.EQUIVALENCE:
            return None
        uri = f"{folder.rstrip('/')}/{NAME}"
        return parse_snapshot(Storage(self._spark).read(uri), uri)

    def _check_cluster(self, broker: Broker) -> None:
        asked, found = self._request.kafka.cluster_id, broker.cluster_id()
        if asked is not None and asked != found:
            raise Refused(f"the Kafka cluster at {self._options['bootstrap.servers']} is {found}, not {asked}")

    def _look(self, broker: Broker, topics: tuple[Topic, ...]) -> tuple[tuple[Topic, ...], list[Finding], list[Extent]]:
        """The topics that can be read, what is wrong with the others, or is to be said of any, and how far they go."""
        states = broker.states(topic.name for topic in topics)
        found = find_coverage(topics, states)
        bad = {finding.topic for finding in found if finding.severity is Severity.ERROR}
        good = tuple(topic for topic in topics if topic.name not in bad)
        _check_stable({topic.name: topic.end for topic in good}, states)
        read = (topic for topic in good if topic.start < topic.end)
        return good, found, [states[topic.name].read_to(topic.name, topic.end) for topic in read]

    def _look_for_cuts(self, broker: Broker, topics: tuple[Topic, ...], extents: Sequence[Extent]) -> list[Finding]:
        """A log that lost its tail while it was read, and grew again, is as it was by its id and its offsets."""
        states = broker.states(topic.name for topic in topics)
        return find_cuts(broker.last_epochs(led_anew(extents, states)))

    def _is_broken(self, broker: Broker, topics: tuple[Topic, ...]) -> bool:
        states = broker.states(topic.name for topic in topics)
        return any(finding.severity is Severity.ERROR for finding in find_coverage(topics, states))

    def _read(self, topics: tuple[Topic, ...], seen: Seen) -> None:
        ranges = [Range(topic.name, topic.start, topic.end) for topic in topics if topic.start < topic.end]
        starts = {topic.name: {region.id: region.reads_from for region in topic.regions} for topic in topics}
        seen.topics = {topic.name: TopicCounts() for topic in topics}
        if ranges:
            records = read_records(self._spark, self._options, ranges)
            if self._request.level is Level.COVERAGE:
                for row in counted(records).collect():
                    seen.topics[row["topic"]] = TopicCounts(row["records"], row["bytes"])
                    seen.findings += find_counted(row)
            else:
                verdicts = verdicts_on(pieces_of(records, starts), starts, drops_repeats=self._drops_repeats)
                for row in verdicts.collect():
                    _take(row, starts, seen)
                self._look_at_repeats(ranges, starts, seen)
            self._find_holes(ranges, seen)
        if self._request.level.includes(Level.INTEGRITY):
            _add_silent_regions(topics, seen)

    def _find_holes(self, ranges: Sequence[Range], seen: Seen) -> None:
        """Every topic has as many records as offsets, or the first one that is missing is found."""
        counts = {name: read.records for name, read in seen.topics.items()}
        bad = holes.with_holes(ranges, counts)
        if not bad:
            return
        lines = holes.gaps(read_records(self._spark, self._options, bad)).collect()
        found = {line["topic"]: line.asDict() for line in lines}
        seen.findings += [holes.missing(each, found.get(each.topic), counts.get(each.topic, 0)) for each in bad]

    def _look_at_repeats(self, ranges: Sequence[Range], starts: Starts, seen: Seen) -> None:
        """Where sequence numbers come again, the entries are compared; what is not the same is no legal repeat."""
        regions: dict[str, dict[int, int]] = defaultdict(dict)
        for found in seen.findings:
            if found.kind is Kind.REPEATED_SEQUENCE and found.region is not None:
                regions[found.topic][found.region] = start_of(found.region, starts[found.topic]) or 0
        if not regions:
            return
        records = read_records(self._spark, self._options, [each for each in ranges if each.topic in regions])
        lines = reused(records, regions, drops_repeats=self._drops_repeats).collect()
        add_reused(lines, seen)

    def _compare(
        self, broker: Broker, topics: tuple[Topic, ...], snapshot: Mapping[int, SnapshotRegion], seen: Seen
    ) -> list[Extent]:
        """How far logs were read for it is given."""
        states = broker.states(topic.name for topic in topics)
        there = tuple(topic for topic in topics if topic.name in states)  # the look after this tells of the others
        replayed = {counts.region for counts in seen.regions if counts.tally.entries}
        plan = plan_comparison(there, snapshot, states, replayed)
        _check_stable({topic: end for topic, (_, end) in plan.ranges().items()}, states)
        folder = self._request.snapshot_uri
        if plan.pairs and folder is not None:
            comparer = Comparer(self._spark, self._options, folder, drops_repeats=self._drops_repeats)
            results, differing = comparer.compare(plan)
            seen.comparisons |= results
            seen.findings += [_placed(finding, seen.findings) for finding in differing]
        seen.comparisons |= plan.left_out
        seen.findings += plan.findings
        return [states[topic].read_to(topic, end) for topic, (start, end) in plan.ranges().items() if start < end]


def _take(row: Row, starts: Starts, seen: Seen) -> None:
    """One line of VERDICTS."""
    region = None if row["region"] is None else unsigned(row["region"])
    if row["kind"] == "finding":
        finding = Finding(Kind(row["finding"]), row["topic"], row["message"], row["offset"], region)
        seen.findings.append(finding)
        if finding.severity is Severity.ERROR:
            seen.untold_errors -= 1
        else:
            seen.untold_warnings -= 1
        return
    seen.untold_errors += row["errors"]
    seen.untold_warnings += row["warnings"]
    if region is None:
        seen.topics[row["topic"]] = TopicCounts(row["entries"], row["bytes"])
    elif (reads_from := start_of(region, starts[row["topic"]])) is not None:
        counts = (row["entries"], row["rows"], row["bytes"], row["last_offset"])
        tally = Tally(*counts, unsigned(row["xor"]), row["total"])
        seen.regions.append(RegionCounts(row["topic"], region, reads_from, tally))


def _both(known: list[Finding], found: list[Finding]) -> list[Finding]:
    """What was found before and again later stands once."""
    return list(dict.fromkeys([*known, *found]))


def _unread(error: BaseException, topics: Sequence[Topic]) -> str:
    """Why the log could not be read, with the topic if there is only one or the error names it."""
    text = f"{error} {getattr(error, 'java_exception', '')}"
    names = [topic.name for topic in topics if re.search(rf"(?<![\w.-]){re.escape(topic.name)}(?![\w.])", text)]
    if len(topics) == 1:
        names = [topics[0].name]
    where = f"topic {names[0]}" if len(names) == 1 else "the log"
    return f"{where} could not be read: {sentence_of(error)}"


def _add_silent_regions(topics: tuple[Topic, ...], seen: Seen) -> None:
    """Regions without a record are in the report, too: nothing to replay is an answer."""
    known = {(counts.topic, counts.region) for counts in seen.regions}
    seen.regions += [
        RegionCounts(topic.name, region.id, region.reads_from, Tally())
        for topic in topics
        for region in topic.regions
        if (topic.name, region.id) not in known
    ]
    seen.regions.sort(key=lambda counts: (counts.topic, counts.region))


def _placed(finding: Finding, known: list[Finding]) -> Finding:
    """A row that the log does not have has no offset; what Integrity missed in the region tells where it was."""
    if finding.offset is not None:
        return finding
    gaps = [
        other.offset
        for other in known
        if other.region == finding.region and other.kind in _LOSSES and other.offset is not None
    ]
    return replace(finding, offset=min(gaps, default=None))


def _check_stable(ends: Mapping[str, int], states: Mapping[str, LogState]) -> None:
    for topic, end in ends.items():
        stable = states[topic].stable_end
        if stable < end:
            raise Interrupted(
                f"topic {topic} has an open transaction from offset {stable} on: records up to {end} "
                "cannot be read before it ends (nothing should write to a WAL topic in transactions)"
            )
