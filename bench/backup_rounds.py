"""Backups in one warm session, and the plain loop, in turns: `backup_rounds.py <file with a list of Work as JSON>`.

The last line of stdout is JSON: a list of `Samples`. CPU is this process's and that of Spark's Java with all below it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import plain_backup
from process_cpu import cpu_of
from pyspark.sql import SparkSession
from warm_session import run_job

from sparkjob.session import open_session

TENTH = 10


@dataclass(frozen=True, slots=True)
class Work:
    """What is backed up: topics by name, id and number of records, and their Kafka; where to; how often.

    `tenth`: also a tenth of it, so that what a start costs can be left out.
    """

    name: str
    servers: str
    cluster_id: str
    topics: tuple[tuple[str, str, int], ...]
    s3: dict[str, Any]
    folder: str
    rounds: int
    checks: int
    tenth: bool

    def request(
        self, name: str, part: int, parent: dict[str, str] | None = None, *, attempt: int = 1, new: bool = True
    ) -> dict[str, Any]:
        """The request of a backup of one part in so many of each topic; with `new=False` of nothing after it."""
        topics = [
            {
                "name": topic,
                "topicId": topic_id,
                "logStart": 0,
                "from": 0 if new else end // part,
                "to": end // part,
                "config": {},
                "regions": [],
            }
            for topic, topic_id, end in self.topics
        ]
        return {
            "version": 1,
            "backup": {"name": name, "attempt": attempt},
            "verify": "None",
            "chain": name if parent is None else parent["name"].partition("-1-")[0],
            "parent": parent,
            "kafka": {"bootstrapServers": self.servers.split(","), "clusterId": self.cluster_id},
            "storage": {"s3": self.s3},
            "topics": topics,
        }


@dataclass(slots=True)
class Samples:
    """Of each round: CPU seconds and wall seconds of a backup and of the loop, whole and a tenth (0: not measured).

    `checks` are wall seconds of a check of `stored` bytes: those that the first backup has in the store.
    """

    ours: list[tuple[float, float]] = field(default_factory=list)
    ours_tenth: list[tuple[float, float]] = field(default_factory=list)
    loop: list[tuple[float, float]] = field(default_factory=list)
    loop_tenth: list[tuple[float, float]] = field(default_factory=list)
    checks: list[float] = field(default_factory=list)
    stored: int = 0
    loop_stored: int = 0
    chain: str = ""


class Rounds:
    """Both sides of the comparison."""

    def __init__(self, work: Work, spark: SparkSession) -> None:
        self._work, self._spark, self._runs = work, spark, 0
        gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - pyspark has no other door
        self._java = int(gateway.proc.pid)
        self._topics = [(topic, end) for topic, _, end in work.topics]
        self.samples = Samples()

    def run(self) -> Samples:
        """One of each to warm up, then all in turns."""
        work, samples = self._work, self.samples
        self._back_up(TENTH)
        self._loop(TENTH)
        for _ in range(work.rounds):
            samples.ours.append(self._measure(lambda: self._back_up(1)))
            samples.loop.append(self._measure(lambda: self._loop(1)))
            if work.tenth:
                samples.ours_tenth.append(self._measure(lambda: self._back_up(TENTH)))
                samples.loop_tenth.append(self._measure(lambda: self._loop(TENTH)))
        about = {"version": 1, "storage": {"s3": work.s3}, "clusterId": work.cluster_id, "chain": samples.chain}
        for _ in range(work.checks):
            checked = self._measure(lambda: run_job("check", {**about, "level": "Checksums"}, work.folder, self._spark))
            samples.checks.append(checked[1])
        return samples

    def _measure(self, act: Callable[[], object]) -> tuple[float, float]:
        began, cpu = time.monotonic(), time.process_time() + cpu_of(self._java)
        act()
        return time.process_time() + cpu_of(self._java) - cpu, time.monotonic() - began

    def _back_up(self, part: int) -> None:
        self._runs += 1
        name = f"{self._work.name}{self._runs}"
        counts = run_job("backup", self._work.request(name, part), self._work.folder, self._spark)["counts"]
        if counts["records"] != sum(end // part for _, end in self._topics):
            raise RuntimeError(f"it backed up {counts['records']} records")
        if part == 1 and not self.samples.chain:
            self.samples.chain, self.samples.stored = name, counts["storedBytes"]

    def _loop(self, part: int) -> None:
        self._runs += 1
        topics = [(topic, end // part) for topic, end in self._topics]
        stored, _ = plain_backup.back_up(
            self._work.servers, topics, self._work.s3, f"plain/{self._work.name}{self._runs}.parquet"
        )
        if part == 1:
            self.samples.loop_stored = stored


def main() -> None:
    """Runs and prints."""
    given = json.loads(Path(sys.argv[1]).read_text())
    works = [Work(**{**each, "topics": tuple(map(tuple, each["topics"]))}) for each in given]
    spark = open_session("bench")
    spark.sparkContext.setLogLevel("ERROR")
    samples = [asdict(Rounds(work, spark).run()) for work in works]
    spark.stop()
    print(json.dumps(samples))


if __name__ == "__main__":
    main()
