"""One verification: asks Kafka, reads, asks again, and gathers what the levels find.

Kafka is asked for topic ids and offsets before the log is read *and* after: a topic that was deleted, made again or cut
meanwhile must not pass. When the reading itself fails, the same question tells a broken log from a broken network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from replay_verification.broker import Broker
from replay_verification.connection import client_options
from replay_verification.coverage import LogState, find_coverage
from replay_verification.errors import Interrupted, Refused
from replay_verification.findings import Finding, Kind, Severity
from replay_verification.integrity import counted, pieces_of, verdicts_on
from replay_verification.report import RegionCounts, Seen, TopicCounts
from replay_verification.request import Level, Request, Topic
from replay_verification.scan import Starts, start_of
from replay_verification.schemas import unsigned
from replay_verification.session import sentence_of
from replay_verification.source import Range, read_records
from replay_verification.tally import Tally

UNREADABLE_LOG = (PySparkException, Py4JJavaError)


class Verifier:
    """Works on one request."""

    def __init__(self, spark: SparkSession, request: Request) -> None:
        self._spark, self._request = spark, request
        self._options = client_options(request.kafka)
        self._seen = Seen()

    def verify(self) -> Seen:
        """Everything that the request's level finds.

        Raises:
            Refused: It asks for another cluster.
            Interrupted: Kafka or Spark failed, or a transaction is open.
        """
        with Broker(self._spark, self._options) as broker:
            self._check_cluster(broker)
            topics = self._find_coverage(broker, self._request.topics)
            while topics:
                try:
                    self._read(topics)
                except UNREADABLE_LOG as error:
                    left = self._find_coverage(broker, topics)
                    if left == topics:
                        raise Interrupted(f"the log could not be read: {sentence_of(error)}") from error
                    topics = left
                    continue
                self._find_coverage(broker, topics)
                break
        return self._seen

    def _check_cluster(self, broker: Broker) -> None:
        asked, found = self._request.kafka.cluster_id, broker.cluster_id()
        if asked is not None and asked != found:
            raise Refused(f"the Kafka cluster at {self._options['bootstrap.servers']} is {found}, not {asked}")

    def _find_coverage(self, broker: Broker, topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
        """Keeps what coverage finds, and returns the topics that can be read."""
        states = broker.states(topic.name for topic in topics)
        found = find_coverage(topics, states)
        self._seen.findings += found
        bad = {finding.topic for finding in found}
        good = tuple(topic for topic in topics if topic.name not in bad)
        _check_stable(good, states)
        return good

    def _read(self, topics: tuple[Topic, ...]) -> None:
        ranges = [Range(topic.name, topic.start, topic.end) for topic in topics if topic.start < topic.end]
        starts: dict[str, dict[int, int]] = {
            topic.name: {region.id: region.reads_from for region in topic.regions} for topic in topics
        }
        rows: list[Row] = []
        if ranges:
            records = read_records(self._spark, self._options, ranges)
            if self._request.level is Level.COVERAGE:
                rows = counted(records).collect()
            else:
                rows = verdicts_on(pieces_of(records, starts), starts).collect()
        self._seen.topics |= {topic.name: TopicCounts() for topic in topics}
        for row in rows:
            self._take(row, starts)
        if self._request.level.includes(Level.INTEGRITY):
            self._add_silent_regions(topics)

    def _take(self, row: Row, starts: Starts) -> None:
        values: Mapping[str, Any] = row.asDict()
        if "records" in values:
            self._seen.topics[values["topic"]] = TopicCounts(values["records"], values["bytes"])
            return
        region = None if values["region"] is None else unsigned(values["region"])
        if values["kind"] == "finding":
            kind = Kind(values["finding"])
            self._seen.findings.append(Finding(kind, values["topic"], values["message"], values["offset"], region))
            self._untold(kind, -1)
            return
        self._seen.untold_errors += values["errors"]
        self._seen.untold_warnings += values["warnings"]
        if region is None:
            self._seen.topics[values["topic"]] = TopicCounts(values["entries"], values["bytes"])
            return
        reads_from = start_of(region, starts[values["topic"]])
        if reads_from is not None:
            counts = (values["entries"], values["rows"], values["bytes"], values["last_offset"])
            tally = Tally(*counts, unsigned(values["xor"]), values["total"])
            self._seen.regions.append(RegionCounts(values["topic"], region, reads_from, tally))

    def _untold(self, kind: Kind, change: int) -> None:
        if kind.severity is Severity.ERROR:
            self._seen.untold_errors += change
        else:
            self._seen.untold_warnings += change

    def _add_silent_regions(self, topics: tuple[Topic, ...]) -> None:
        """Regions without a record are in the report, too: nothing to replay is an answer."""
        known = {counts.region for counts in self._seen.regions}
        self._seen.regions += [
            RegionCounts(topic.name, region.id, region.reads_from, Tally())
            for topic in topics
            for region in topic.regions
            if region.id not in known
        ]
        self._seen.regions.sort(key=lambda counts: (counts.topic, counts.region))


def _check_stable(topics: tuple[Topic, ...], states: Mapping[str, LogState]) -> None:
    for topic in topics:
        state = states[topic.name]
        if state.stable_end < topic.end:
            raise Interrupted(
                f"topic {topic.name} has an open transaction from offset {state.stable_end} on: records up to "
                f"{topic.end} cannot be read before it ends (nothing should write to a WAL topic in transactions)"
            )
