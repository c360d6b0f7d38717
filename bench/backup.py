"""Backups of a WAL: CPU per record against a plain loop that writes the same, bytes in the store, memory, checks.

What a record costs is told by two loads, a tenth and the whole, in one warm session: the rest of a start is left out.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from backup_rounds import TENTH, Samples, Work
from beds import Beds
from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic
from devops_rows import entries
from measured_command import Cost, measure
from report import Result
from sizes import Sizes
from wal_load import Load, flush, send
from warm_session import run_rounds, session_environment

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process

HEAP = "1g"
LOOP, DISK, SHA = (
    "confluent-kafka loop, same Parquet and store",
    "Kafka's bytes on disk (lz4)",
    "sha256sum of the objects",
)
EMPTY = "an empty Spark application"
GOAL_CPU, GOAL_STORED, GOAL_RANDOM, GOAL_MEMORY, GOAL_QUIET, GOAL_CHECK = 1.75, 0.5, 1.05, 1.2, 1.3, 2.0
TIMEOUT = 120.0
RANDOM_BYTES = 1_000
BATCH_BYTES = 16_384
"""Of a batch of entries: GreptimeDB's datanode sends what came since the last (log-store/src/kafka/producer.rs)."""
TASK = """
import json, sys
from sparkjob.wire.reader import Range
from wal_backup.store import parse_place
from wal_backup.task import write_objects
from sparkjob.fields import Fields
ranges, options, storage, path = json.loads(sys.argv[1])
write_objects([Range(*each) for each in ranges], options, parse_place(Fields("storage", storage)), "bench", path)
"""
EMPTY_PROGRAM = """
from sparkjob.session import open_session
spark = open_session("empty")
assert spark.range(1).count() == 1
spark.stop()
"""


@dataclass(frozen=True, slots=True)
class Size:
    """Records of the whole load, in how many topics; rounds of both sides; entries of metrics, records of random bytes.

    `tenth` 0: only the whole load. `checks`: how often it is checked. `memory`: how often the memory of the program and
    of a task is measured, `quiet`: how often an incremental without news of `quiet_topics`; 0: left out.
    """

    records: int = 700_000
    topics: int = 1
    rounds: int = 5
    tenth: int = 1
    checks: int = 3
    entries: int = 50_000
    random_records: int = 20_000
    memory: int = 1
    quiet: int = 2
    quiet_topics: int = 64


SMALL = Size(2_000, 1, rounds=1, tenth=0, checks=1, entries=100, random_records=100, memory=0, quiet=0)
"""Spark starts once, which takes most of the time."""
SIZES = Sizes("backup", __doc__, Size(), SMALL)


class Bed:
    """A Kafka with the loads, and a bucket."""

    def __init__(self, kafka: KafkaProcesses, s3: S3Process, size: Size, folder: Path) -> None:
        self._kafka, self._size, self._folder = kafka, size, folder
        self._servers = ",".join(kafka.bootstrap_servers)
        self.objects = s3.make_bucket("bench")
        (folder / "id").write_text(s3.access_key_id)
        (folder / "secret").write_text(s3.secret_access_key)
        self._s3 = {
            "bucket": "bench",
            "prefix": "here",
            "region": s3.region,
            "endpoint": s3.endpoint,
            "accessKeyIdFile": str(folder / "id"),
            "secretAccessKeyFile": str(folder / "secret"),
        }
        self._load = Load(self._servers, "bench-backup", size.topics, size.records // size.topics, is_random=True)
        self._load.write_log()

    def rounds(self) -> Work:
        """Both sides in turns, of the load."""
        names = [self._load.topic(index) for index in range(self._load.topics)]
        return self._work("load", dict.fromkeys(names, self._load.each))

    def metrics(self) -> Work:
        """Entries of machine metrics, once."""
        return self._once("metrics", self._size.entries, entries)

    def random(self) -> Work:
        """Values that nothing makes smaller, once."""
        return self._once("random", self._size.random_records, _random_values)

    def _once(self, name: str, count: int, values: Callable[[int], Iterable[bytes]]) -> Work:
        topics = {f"bench-backup-{name}": count}
        _fill(self._servers, topics, values)
        return replace(self._work(name, topics), rounds=1, checks=0, tenth=False)

    def run(self, *works: Work) -> list[Samples]:
        """All of it in one session, which is a process of its own."""
        given = [asdict(work) for work in works]
        return [Samples(**each) for each in run_rounds("backup_rounds.py", given, self._folder, self._environment())]

    def on_disk(self, work: Work) -> int:
        """Bytes that Kafka has of these topics, of one replica each."""
        names = ",".join(name for name, _, _ in work.topics)
        said = self._kafka.tool(
            "org.apache.kafka.tools.LogDirsCommand",
            *("--describe", "--topic-list", names),
        )
        found = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
        logs = [log for broker in found["brokers"] for folder in broker["logDirs"] for log in folder["partitions"]]
        if {log["partition"] for log in logs} != {f"{name}-0" for name, _, _ in work.topics}:
            raise RuntimeError(f"Kafka tells of other logs: {said[-300:]}")
        return sum(int(log["size"]) for log in logs)

    def memory(self, work: Work) -> list[Result]:
        """The most memory of a process of the program, and of a task alone, of the whole load and of a tenth."""
        program, task = dict[int, list[float]](), dict[int, list[float]]()
        for number in range(self._size.memory):
            for part in (TENTH, 1):
                cost = self._program("backup", work.request(f"memory{number}-{part}", part))
                program.setdefault(part, []).append(cost.mebibytes)
                task.setdefault(part, []).append(self._task(work, part, number).mebibytes)
        return [
            Result(
                f"most memory of {what}, ten times the data",
                "MiB",
                found[1],
                "a tenth of it",
                found[TENTH],
                GOAL_MEMORY,
            )
            for what, found in {"a process": program, "a task's Python": task}.items()
        ]

    def quiet(self) -> Result:
        """An incremental of topics without news, against a Spark application that does nothing."""
        names = {f"bench-quiet_{number}": 10 for number in range(self._size.quiet_topics)}
        _fill(self._servers, names, _random_values)
        work = self._work("quiet", names)
        self._program("backup", work.request("quiet", 1))
        parent = json.loads((self._folder / "summary.json").read_bytes())["manifest"]
        ours, empty = list[float](), list[float]()
        for number in range(self._size.quiet):
            request = work.request("more", 1, parent, attempt=number + 1, new=False)
            ours.append(self._program("backup", request).seconds)
            if json.loads((self._folder / "summary.json").read_bytes())["counts"]["objects"]:
                raise RuntimeError("nothing was new, and there is an object")
            empty.append(measure([sys.executable, "-c", EMPTY_PROGRAM], self._environment()).seconds)
        metric = f"incremental without news, {len(names)} topics"
        return Result(metric, "s", ours, EMPTY, empty, GOAL_QUIET)

    def _program(self, command: str, request: dict[str, Any]) -> Cost:
        path = self._folder / "asked.json"
        path.write_text(json.dumps(request))
        words = [sys.executable, "-m", "wal_backup", command, "--request", str(path)]
        return measure([*words, "--summary", str(self._folder / "summary.json")], self._environment())

    def _task(self, work: Work, part: int, number: int) -> Cost:
        """All in one task: a tenth of one large topic has more than a section holds."""
        ranges = [(name, 0, end // part) for name, _, end in work.topics]
        path, options = f"data/task-{number}-{part}.parquet", {"bootstrap.servers": self._servers}
        given = json.dumps([ranges, options, {"s3": self._s3}, path])
        return measure([sys.executable, "-c", TASK, given])

    def _work(self, name: str, topics: dict[str, int]) -> Work:
        admin = AdminClient({"bootstrap.servers": self._servers})  # kept: its answers end with it
        found = admin.describe_topics(TopicCollection(list(topics)))
        ids = {topic: str(future.result(TIMEOUT).topic_id) for topic, future in found.items()}
        named = tuple((each, ids[each].replace("+", "-").replace("/", "_"), end) for each, end in topics.items())
        size, where = self._size, (self._s3, str(self._folder))
        return Work(
            name, self._servers, self._kafka.cluster_id, named, *where, size.rounds, size.checks, bool(size.tenth)
        )

    def _environment(self) -> dict[str, str]:
        return session_environment(self._folder, HEAP)


def main(arguments: Sequence[str] | None = None, beds: Beds | None = None) -> None:
    """Measures and reports."""
    run, beds = SIZES.parse(arguments), beds or Beds()
    report = run.report({"driverMemory": HEAP, "randomBytes": RANDOM_BYTES})
    with beds.brokers(1) as kafka, S3Process() as s3, tempfile.TemporaryDirectory() as folder:
        bed = Bed(kafka, s3, run.size, Path(folder))
        work, once = bed.rounds(), {"machine metrics": bed.metrics(), "random bytes": bed.random()}
        samples, *others = bed.run(work, *once.values())
        print(samples, flush=True)
        report.results += results(bed, work, samples)
        for (what, each), other, goal in zip(once.items(), others, (GOAL_STORED, GOAL_RANDOM), strict=True):
            disk = [float(bed.on_disk(each))]
            report.results.append(Result(f"stored, {what}", "B", [float(other.stored)], DISK, disk, goal))
        if run.size.memory:
            report.results += bed.memory(work)
        if run.size.quiet:
            report.results.append(bed.quiet())
    run.finish(report)


def results(bed: Bed, work: Work, samples: Samples) -> list[Result]:
    """The lines of the rounds."""
    records = sum(end for _, _, end in work.topics)
    ours, loop = (
        [_per_record(each, records) for each in _pairs(whole, tenth)]
        for whole, tenth in ((samples.ours, samples.ours_tenth), (samples.loop, samples.loop_tenth))
    )
    wall = [seconds / records * 1e6 for _, seconds in samples.ours], [s / records * 1e6 for _, s in samples.loop]
    stored = [float(samples.stored)]
    sums = [_sha256sum(bed.objects / "here", samples.chain) for _ in samples.checks]
    return [
        Result("backup, CPU per record", "µs", ours, LOOP, loop, GOAL_CPU),
        Result("backup, time per record on 2 cores", "µs", wall[0], LOOP, wall[1]),
        Result("stored, half of it random hex", "B", stored, DISK, [float(bed.on_disk(work))]),
        Result("stored, half of it random hex", "B", stored, LOOP, [float(samples.loop_stored)]),
        Result("check of the records, 2 cores", "s", samples.checks, SHA, sums, GOAL_CHECK),
    ]


def _pairs(
    whole: Sequence[tuple[float, float]], tenth: Sequence[tuple[float, float]]
) -> list[tuple[float, float | None]]:
    less: Sequence[float | None] = [cpu for cpu, _ in tenth] or [None] * len(whole)
    return [(cpu, other) for (cpu, _), other in zip(whole, less, strict=True)]


def _per_record(costs: tuple[float, float | None], records: int) -> float:
    whole, tenth = costs
    if tenth is None:
        return whole / records * 1e6
    return (whole - tenth) / (records - records // TENTH) * 1e6


def _sha256sum(objects: Path, chain: str) -> float:
    files = sorted(str(path) for path in objects.rglob("*.parquet") if chain in path.parts)
    if not files:
        raise RuntimeError(f"chain {chain} has no objects")
    return measure(["sha256sum", *files]).seconds


def _random_values(count: int) -> Iterable[bytes]:
    return (os.urandom(RANDOM_BYTES) for _ in range(count))


def _fill(servers: str, topics: dict[str, int], values: Callable[[int], Iterable[bytes]]) -> None:
    """Topics with so many records of such values."""
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics([NewTopic(name, 1, 1) for name in topics]).values():
        future.result(TIMEOUT)
    settings = {"bootstrap.servers": servers, "acks": "all", "compression.type": "lz4", "linger.ms": 20}
    producer = Producer(settings | {"batch.size": BATCH_BYTES})
    for name, count in topics.items():
        for value in values(count):
            send(producer, name, None, value)
    flush(producer)


if __name__ == "__main__":
    main()
