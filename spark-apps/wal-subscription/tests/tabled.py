"""A Kafka and a bucket, and a subscription between them that runs in this process.

Its judge reads the objects where the server keeps them, with nothing but json and pyarrow, by `contract/TABLE.md`.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from handed_on import ALL, difference, is_selected
from local_snapshots import LocalTables
from mirrors import Side
from record_logs import NAMES, Expected, Written

from seawall_e2e.loopback.s3 import S3Process
from seawall_e2e.waiting import wait_until
from wal_subscription.stops import Stop
from wal_subscription.table import process
from wal_subscription.table.jobs import Copied, Job, Sides
from wal_subscription.table.micro_batches import TableBatches
from wal_subscription.table.request import TableRequest, parse_table_request

PREFIX = "here"


@dataclass
class Tabled:
    """What the operator does before a run, and what a reader finds after it.

    Attributes:
        known, known_to: the names of all tables, read when the logs had ended there.
    """

    source: Side
    server: S3Process
    keys: Path
    name: str = field(default_factory=lambda: f"tabled-{secrets.token_hex(4)}")
    tables: Mapping[str, Sequence[str]] = field(default_factory=lambda: dict(ALL))
    known: Mapping[int, str] = field(default_factory=lambda: dict(NAMES))
    known_to: int = 0
    run: int = 1
    generation: int = 0
    commit_milliseconds: int = 100
    most_bytes: int = 128 << 20
    dead_letters: bool = False
    snapshot: str | None = None
    sources: list[str] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = self.server.make_bucket(self.name)
        self.keys.mkdir(exist_ok=True)
        self.as_user(self.server.access_key_id, self.server.secret_access_key)

    def as_user(self, *keys: str) -> None:
        """Whose keys are in the files from now on."""
        for name, key in zip(("id", "secret"), keys, strict=True):
            (self.keys / name).write_text(key)

    @property
    def writer(self) -> str:
        """Of the commits."""
        return f"seawall.{self.name}"

    @property
    def root(self) -> Path:
        """What is below the prefix."""
        return self.folder / PREFIX

    def make(self, count: int = 1) -> list[str]:
        """Topics of the source."""
        self.sources = [f"{self.name}-{number}" for number in range(count)]
        self.source.create(*self.sources)
        return self.sources

    def append(self, log: Written, topic: int = 0, timestamp: int = 0) -> None:
        """What was written to the log since the last time; `timestamp` in ms, 0 for now."""
        self.source.topics.append({self.sources[topic]: log.take()}, timestamp)

    def request(self, **other: Any) -> dict[str, Any]:
        """As the operator would write it."""
        sources = self.source.state.topics(self.sources)
        return {
            "version": 1,
            "sink": "Table",
            "object": {"namespace": "db", "name": "table", "uid": "0d3f8c1e-7a55-4f0b-9d1c-3f1b2c4d5e6f"},
            "run": self.run,
            "source": self.source.to_json(),
            "intervalMilliseconds": 100,
            "databaseVersion": "1.1.3",
            "table": {
                "s3": {
                    "bucket": self.name,
                    "prefix": PREFIX,
                    "region": self.server.region,
                    "endpoint": self.server.endpoint,
                    "accessKeyIdFile": str(self.keys / "id"),
                    "secretAccessKeyFile": str(self.keys / "secret"),
                },
                "writer": self.writer,
                "commitMilliseconds": self.commit_milliseconds,
                "maxFileBytes": self.most_bytes,
                "deadLetters": self.dead_letters,
            },
            "tables": {**self.tables, **selected_of(self.known, self.tables)},
            "snapshot": None if self.snapshot is None else {"uri": self.snapshot},
            "topics": [
                {
                    "name": name,
                    "sourceTopicId": sources[name].topic_id,
                    "generation": self.generation,
                    "from": self.starts.get(name, 0),
                    "namesKnownTo": self.known_to,
                }
                for name in self.sources
            ],
            **other,
        }

    def parsed(self, **other: Any) -> TableRequest:
        """As the program reads it."""
        return parse_table_request(json.dumps(self.request(**other)).encode())

    def start(
        self, clock: Callable[[], float] | None = None, snapshots: LocalTables | None = None, **other: Any
    ) -> TableBatches:
        """A driver in this process, with all that a start asks."""
        process.forget()
        files = snapshots or LocalTables()
        micro = TableBatches(self.parsed(**other), run_here, clock or time.monotonic, snapshots=files)
        micro.require_sides()
        return micro

    def run_all(
        self, micro: TableBatches | None = None, within: float = 60, until_files: int | None = None
    ) -> list[Stop]:
        """Runs until the table has all, or so many files of the snapshot of its only topic, or it is over."""
        running = micro or self.start()

        def has_files() -> bool:
            places = [commit["snapshot"] for commit in self.commits()[-1:]]
            return any(place is None or place["file"] >= until_files for place in places if until_files is not None)

        def is_done() -> bool:
            running.once()
            return running.is_over or has_files() or (not running.stops and self.has_all())

        wait_until(is_done, "all is written", within=within)
        return running.stops

    def has_all(self) -> bool:
        """Whether the chain is where the source ends."""
        ends = {name: found.end for name, found in self.source.state.topics(self.sources).items()}
        return all(self.position(name) >= end for name, end in ends.items())

    def position(self, topic: str) -> int:
        """Of the last commit."""
        names = self.log(topic)
        return json.loads(names[-1].read_bytes())["position"] if names else -1

    def chain(self, topic: str | None = None) -> Path:
        """The folder of a topic's chain."""
        name = topic or self.sources[0]
        topic_id = self.source.of(name).topic_id
        return self.root / self.writer / "chains" / name / topic_id / str(self.generation)

    def log(self, topic: str | None = None) -> list[Path]:
        """The objects of a chain, in their order."""
        return sorted((self.chain(topic) / "log").glob("*.json"))

    def commits(self, topic: str | None = None) -> list[dict[str, Any]]:
        """What they say."""
        return [json.loads(path.read_bytes()) for path in self.log(topic)]

    def rows(self, topic: str | None = None) -> list[dict[str, Any]]:
        """All rows of a topic that commits name, in the order of the log."""
        found = [row for commit in self.commits(topic) for row in self.rows_of(commit)]
        return sorted(found, key=lambda row: (row["_offset"], row["_row"]))

    def rows_of(self, commit: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Of one commit; each with the id and the name of its table."""
        found = list[dict[str, Any]]()
        for file in commit["files"]:
            path = self.root / file["path"]
            assert path.stat().st_size == file["bytes"]
            rows = pq.read_table(path).to_pylist()
            assert len(rows) == file["rows"]
            offsets = [row["_offset"] for row in rows]
            assert (min(offsets), max(offsets)) == (file["firstOffset"], file["lastOffset"])
            assert path.parent.name == str(file["tableId"])
            found += [{**row, "tableId": file["tableId"], "table": file["table"]} for row in rows]
        of_log = [row["_offset"] for row in found if row["_file"] is None]
        assert all(commit["from"] <= offset < commit["position"] for offset in of_log)
        return found

    def require_once(self, logs: Mapping[str, Written] | Written, *tables: int) -> int:
        """Each row of the tables once, in the order of the log; how many there are."""
        number = 0
        for topic, log in (logs if isinstance(logs, Mapping) else {self.sources[0]: logs}).items():
            rows, wanted = self.rows(topic), log.of(*tables)
            found = [as_expected(row) for row in rows]
            assert found == wanted, f"{topic}: {difference(found, wanted)}"
            self.require_chain(topic)
            number += len(rows)
        return number

    def require_chain(self, topic: str | None = None) -> None:
        """Each commit begins where the one before it ended, and counts what there is."""
        commits = self.commits(topic)
        assert [commit["number"] for commit in commits] == list(range(len(commits)))
        position, run, rows, letters = commits[0]["from"] if commits else 0, 0, 0, 0
        for commit in commits:
            assert commit["from"] == position
            assert commit["readFrom"] <= commit["position"]
            assert commit["run"] >= run
            rows += sum(file["rows"] for file in commit["files"])
            letters += len(commit["letters"])
            assert (commit["rows"], commit["deadLetters"]) == (rows, letters)
            position, run = commit["position"], commit["run"]


def selected_of(known: Mapping[int, str], globs: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What globs come to."""
    selected = {table: name for table, name in known.items() if is_selected(name, globs)}
    others = sorted(known.keys() - selected.keys())
    return {"known": [{"id": table, "name": name} for table, name in selected.items()], "notSelected": others}


def as_expected(row: Mapping[str, Any]) -> Expected:
    """What the test had written."""
    return Expected(row["tableId"], row["_sequence"], row["host"], row["load"], row["_op"])


def run_here(jobs: Iterable[Job], sides: Sides, _: Callable[[str], bool]) -> list[Copied]:
    """Runs jobs in this process."""
    return [process.copy(job, sides) for job in jobs]
