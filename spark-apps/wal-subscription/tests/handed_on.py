"""Two Kafkas, and a subscription between them that hands rows on in this process; its judge is a plain consumer."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from local_snapshots import LocalSnapshots
from mirrors import Side
from record_logs import NAMES, Expected, Written
from wal_topics import TIMEOUT

from seawall_e2e.waiting import wait_until
from wal_subscription.records import process
from wal_subscription.records.jobs import Copied, Job, Sides
from wal_subscription.records.micro_batches import RecordsBatches
from wal_subscription.records.progress import Progress, parse_progress
from wal_subscription.records.request import RecordsRequest, parse_records_request
from wal_subscription.stops import Stop

ALL: dict[str, list[str]] = {"include": ["*"], "exclude": []}
COMPACTED = {"cleanup.policy": "compact"}


@dataclass
class Handed:
    """What the operator does before a run, and what it reads after it.

    Attributes:
        tables: the globs of a person.
        known, known_to: the names of all tables, read when the logs had ended there.
        names_others: whether the request has the ids of those that are not selected.
    """

    source: Side
    target: Side
    name: str = field(default_factory=lambda: f"handed-{secrets.token_hex(4)}")
    tables: Mapping[str, Sequence[str]] = field(default_factory=lambda: dict(ALL))
    known: Mapping[int, str] = field(default_factory=lambda: dict(NAMES))
    known_to: int = 0
    names_others: bool = True
    run: int = 1
    generation: int = 0
    by: str = "Topic"
    partitions: int = 1
    sources: list[str] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    dead_letters: bool = False
    snapshot: str | None = None

    def make(self, count: int = 1, target: Mapping[str, str] | None = None) -> list[str]:
        """Topics of the source, and those of the target with these configs."""
        names = [f"{self.name}-{number}" for number in range(count)]
        self.source.create(*names)
        return self.take(names, target)

    def take(self, names: list[str], target: Mapping[str, str] | None = None) -> list[str]:
        """Topics that there are, and those of the target."""
        self.sources = names
        self._create(self.rows, self.partitions, target or {})
        self._create(self.progress, len(names), {**COMPACTED, **(target or {})})
        self._create(self.dead, 1, target or {})
        wait_until(lambda: len(self.target.state.topics(self.outputs)) == len(self.outputs), "they are known")
        return self.sources

    def _create(self, name: str, partitions: int, config: Mapping[str, str]) -> None:
        new = NewTopic(name, partitions, self.target.replicas, config=dict(config))
        admin = AdminClient(dict(self.target.options))
        admin.create_topics([new])[name].result(TIMEOUT)

    @property
    def rows(self) -> str:
        """The topic of rows."""
        return f"{self.name}-rows"

    @property
    def progress(self) -> str:
        """The topic of progress."""
        return f"{self.name}-progress"

    @property
    def dead(self) -> str:
        """The topic of dead letters."""
        return f"{self.name}-dead"

    @property
    def outputs(self) -> list[str]:
        """All of them."""
        return [self.rows, self.progress, self.dead]

    def append(self, log: Written, topic: int = 0, timestamp: int = 0) -> None:
        """What was written to the log since the last time; `timestamp` in ms, 0 for now."""
        self.source.topics.append({self.sources[topic]: log.take()}, timestamp)

    def request(self, **other: Any) -> dict[str, Any]:
        """As the operator would write it."""
        targets, sources = self.target.state.topics(self.outputs), self.source.state.topics(self.sources)

        def output(name: str, partitions: int, most: int = 1 << 20) -> dict[str, Any]:
            topic_id = targets[name].topic_id
            return {"topic": name, "topicId": topic_id, "partitions": partitions, "maxMessageBytes": most}

        return {
            "version": 1,
            "sink": "Records",
            "object": {"namespace": "db", "name": "changes", "uid": "0d3f8c1e-7a55-4f0b-9d1c-3f1b2c4d5e6f"},
            "run": self.run,
            "source": self.source.to_json(),
            "target": self.target.to_json(),
            "intervalMilliseconds": 100,
            "databaseVersion": "1.1.3",
            "records": {
                "writer": f"seawall.{self.name}",
                "by": self.by,
                "rows": output(self.rows, self.partitions),
                "progress": output(self.progress, len(self.sources)),
                "deadLetters": output(self.dead, 1, 4_096) if self.dead_letters else None,
            },
            "tables": self._tables(),
            "snapshot": None if self.snapshot is None else {"uri": self.snapshot},
            "topics": [
                {
                    "name": name,
                    "sourceTopicId": sources[name].topic_id,
                    "from": self.starts.get(name, 0),
                    "progressPartition": number,
                    "generation": self.generation,
                    "namesKnownTo": self.known_to,
                }
                for number, name in enumerate(self.sources)
            ],
            **other,
        }

    def _tables(self) -> dict[str, Any]:
        selected = {table: name for table, name in self.known.items() if is_selected(name, self.tables)}
        others = sorted(self.known.keys() - selected.keys()) if self.names_others else None
        known = [{"id": table, "name": name} for table, name in selected.items()]
        return {**self.tables, "known": known, "notSelected": others}

    def parsed(self, **other: Any) -> RecordsRequest:
        """As the program reads it."""
        return parse_records_request(json.dumps(self.request(**other)).encode())

    def start(
        self, clock: Callable[[], float] | None = None, snapshots: LocalSnapshots | None = None, **other: Any
    ) -> RecordsBatches:
        """A driver in this process, with all that a start asks."""
        process.forget_all()
        micro = RecordsBatches(
            self.parsed(**other), run_here, clock or time.monotonic, snapshots=snapshots or LocalSnapshots()
        )
        micro.require_sides()
        return micro

    def run_all(
        self, micro: RecordsBatches | None = None, within: float = 60, until_files: int | None = None
    ) -> list[Stop]:
        """Runs until the target has all, or so many files of the snapshot of its only topic, or it is over."""
        running = micro or self.start()

        def has_files() -> bool:
            found = [place.snapshot for place in self.places().values()]
            return any(place is None or place.file >= until_files for place in found if until_files is not None)

        def is_done() -> bool:
            running.once()
            return running.is_over or has_files() or (not running.stops and self.has_all())

        wait_until(is_done, "all is handed on", within=within)
        return running.stops

    def has_all(self) -> bool:
        """Whether the progress is where the source ends."""
        ends = {name: found.end for name, found in self.source.state.topics(self.sources).items()}
        places = self.places()
        found = {name: place.position for name, place in places.items() if place.generation == self.generation}
        return all(found.get(name, -1) >= end for name, end in ends.items())

    def places(self) -> dict[str, Progress]:
        """The newest progress of each topic, by the judge's own reading."""
        found = self.read(self.progress, len(self.sources))
        parsed = [progress for _, _, value in found if (progress := parse_progress(value)) is not None]
        return {progress.topic: progress for progress in parsed}

    def committed(self) -> list[dict[str, Any]]:
        """The rows, as a reader of committed ones gets them."""
        return [json.loads(value) for _, _, value in self.read(self.rows, self.partitions)]

    def read(self, topic: str, partitions: int) -> list[tuple[int, bytes, bytes]]:
        """Partition, key and value of all committed records."""
        return [
            (message.partition(), message.key(), message.value())
            for message in committed_in(self.target.options, topic, partitions)
        ]

    def require_once(self, logs: Mapping[str, Written] | Written, *tables: int) -> int:
        """Each row of the tables once, in the order of the log: of its topic, or of its table; how many there are."""
        orders = [tables] if self.by == "Topic" else [(table,) for table in tables]
        by_topic = logs if isinstance(logs, Mapping) else {self.sources[0]: logs}
        rows = self.committed()
        for topic, log in by_topic.items():
            for order in orders:
                found = [as_expected(row) for row in rows if row["topic"] == topic and row["tableId"] in order]
                assert found == log.of(*order), f"{topic}: {difference(found, log.of(*order))}"
        assert len(rows) == sum(len(log.of(*tables)) for log in by_topic.values())
        self.require_chain()
        return len(rows)

    def require_chain(self) -> None:
        """Each transaction begins where the one before it ended, and a generation where it was let begin."""
        ends: dict[tuple[str, int], int] = {}
        for _, key, value in self.read(self.progress, len(self.sources)):
            progress = parse_progress(value)
            assert progress is not None
            assert key == progress.topic.encode()
            which = progress.topic, progress.generation
            assert progress.start == ends.get(which, progress.start)
            assert progress.read_from <= progress.position
            ends[which] = progress.position


def is_selected(name: str, tables: Mapping[str, Sequence[str]]) -> bool:
    """By the globs."""
    includes, excludes = (any(fnmatchcase(name, glob) for glob in tables[which]) for which in ("include", "exclude"))
    return includes and not excludes


def committed_in(options: Mapping[str, str], topic: str, partitions: int) -> list[Any]:
    """All committed records of a topic, partition by partition."""
    consumer = Consumer(
        {
            **options,
            "group.id": "judge",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    found, ended = list[Any](), set[int]()
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        while len(ended) < partitions:
            for message in consumer.consume(1_000, 0.1):
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
    finally:
        consumer.close()
    return sorted(found, key=lambda message: (message.partition(), message.offset()))


def as_expected(row: Mapping[str, Any]) -> Expected:
    """What the test had written."""
    values = row["values"]
    return Expected(row["tableId"], row["sequence"], values["host"], values["load"], row["op"])


def difference(found: Sequence[Expected], wanted: Sequence[Expected]) -> str:
    """The first one, and how many there are on both sides."""
    at = next((at for at, (one, other) in enumerate(zip(found, wanted, strict=False)) if one != other), None)
    return f"{len(found)} rows, {len(wanted)} wanted; the first other one is number {at}"


def run_here(jobs: Iterable[Job], sides: Sides, _: Callable[[str], bool]) -> list[Copied]:
    """Runs jobs in this process."""
    return [process.copy(job, sides) for job in jobs]
