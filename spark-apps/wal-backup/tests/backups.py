"""Requests of backups on a real Kafka, and the program run as spark-submit would, in this process."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from wal_logs import DATA, OTHER
from wal_topics import Topics

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from sparkjob.wire.kafka_state import KafkaState
from sparkjob.wire.reader import Range, Reader
from sparkjob.wire.records import Record
from wal_backup.__main__ import main
from wal_backup.layout import chain_folder
from wal_backup.manifest import Manifest, parse_manifest
from wal_backup.parquet import read_section

CHAIN = "greptimedb"


@dataclass
class Answer:
    """What a command left."""

    code: int
    summary: dict[str, Any]

    def kinds(self) -> list[str]:
        """Of its findings."""
        return [finding["kind"] for finding in self.summary["findings"]]


@dataclass
class Bed:
    """A store, a Kafka, and what was asked of them.

    Attributes:
        objects: the folder in which the store's objects are.
        storage: the store, as a request names it.
        chain_name: the chain that is written, and looked into.
    """

    spark: SparkSession
    topics: Topics
    cluster_id: str
    folder: Path
    objects: Path
    storage: Mapping[str, Any]
    asked: int = 0
    chain_name: str = CHAIN
    answers: list[Answer] = field(default_factory=list)

    def back_up(
        self,
        *ranges: tuple[str, int, int],
        parent: Answer | None = None,
        name: str = "full",
        attempt: int = 1,
        verify: str = "None",
        **other: Any,
    ) -> Answer:
        """Backs up these ranges of topics; a parent is what its backup answered."""
        return self.run(
            "backup", {**self.request(*ranges, parent=parent, name=name, attempt=attempt, verify=verify), **other}
        )

    def request(
        self, *ranges: tuple[str, int, int], parent: Answer | None, name: str, attempt: int, verify: str
    ) -> dict[str, Any]:
        """What asks for that."""
        ids = self.topics.ids(*(topic for topic, _, _ in ranges))
        given = None if parent is None else parent.summary["manifest"]
        topics = [
            {
                "name": topic,
                "topicId": ids[topic],
                "logStart": start,
                "from": start,
                "to": end,
                "config": {"retention.ms": "-1"},
                "regions": [{"id": region, "readsFrom": start, "flushed": None} for region in (DATA, OTHER)],
            }
            for topic, start, end in ranges
        ]
        servers = self.topics.servers.split(",")
        return {
            "version": 1,
            "backup": {"name": name, "attempt": attempt},
            "verify": verify,
            "databaseVersion": "1.1.3",
            "chain": self.chain_name,
            "parent": given,
            "kafka": {"bootstrapServers": servers, "clusterId": self.cluster_id, "tls": None, "sasl": None},
            "storage": self.storage,
            "topics": topics,
        }

    def inspect(self) -> Answer:
        """Asks which chains there are, and whether they are whole."""
        return self.run("inspect", self._about_chains())

    def check(self, level: str = "Checksums") -> Answer:
        """Has all that was written read again."""
        return self.run("check", {**self._about_chains(), "level": level, "databaseVersion": "1.1.3"})

    def run(self, command: str, request: Mapping[str, Any]) -> Answer:
        """One command."""
        self.asked += 1
        path, summary = self.folder / f"{self.asked}.json", self.folder / f"{self.asked}.summary"
        path.write_text(json.dumps(request))
        code = main([command, "--request", str(path), "--summary", str(summary)], self.spark)
        return Answer(code, json.loads(summary.read_bytes()))

    @property
    def chain(self) -> Path:
        """The folder of the chain."""
        return self.objects / chain_folder(self.cluster_id, self.chain_name)

    def manifest_path(self, answer: Answer) -> Path:
        """Of what a backup wrote."""
        return self.chain / "manifests" / str(answer.summary["manifest"]["name"])

    def manifest(self, answer: Answer) -> Manifest:
        """What a backup wrote."""
        path = self.manifest_path(answer)
        return parse_manifest(path.read_bytes(), path.name)

    def stored(self, answer: Answer, topic: str) -> list[Record]:
        """The records of a topic that a backup wrote, in the order of their offsets."""
        (found,) = [each for each in self.manifest(answer).topics if each.name == topic]
        records: list[Record] = []
        for section in found.sections:
            with pq.ParquetFile(self.chain / section.object) as file:
                records += read_section(file, section.row_group)[1]
        return records

    def log(self, topic: str, start: int, end: int) -> list[Record]:
        """The same records, from Kafka."""
        with Reader({"bootstrap.servers": self.topics.servers}) as reader:
            return [record for record, _ in reader.read(Range(topic, start, end))]

    def _about_chains(self) -> Mapping[str, Any]:
        return {"version": 1, "storage": self.storage, "clusterId": self.cluster_id, "chain": None}


def bucket_bed(spark: SparkSession, kafka: KafkaProcesses, s3: S3Process, folder: Path) -> Bed:
    """One with a bucket of its own; what is asked for is in the folder."""
    bucket = f"wal-{secrets.token_hex(4)}"
    objects = s3.make_bucket(bucket)
    (folder / "id").write_text(f"{s3.access_key_id}\n")
    (folder / "secret").write_text(s3.secret_access_key)
    storage = {
        "s3": {
            "bucket": bucket,
            "prefix": "here",
            "region": s3.region,
            "endpoint": s3.endpoint,
            "accessKeyIdFile": str(folder / "id"),
            "secretAccessKeyFile": str(folder / "secret"),
        }
    }
    return _bed(spark, kafka, folder, objects / "here", storage)


def bed_in_folder(spark: SparkSession, kafka: KafkaProcesses, folder: Path) -> Bed:
    """One whose objects are in a folder of this folder."""
    return _bed(spark, kafka, folder, folder / "store", {"folder": {"path": str(folder / "store")}})


def _bed(spark: SparkSession, kafka: KafkaProcesses, folder: Path, objects: Path, storage: Mapping[str, Any]) -> Bed:
    topics = Topics(kafka.bootstrap_servers)
    cluster_id = KafkaState({"bootstrap.servers": topics.servers}).cluster_id()
    return Bed(spark, topics, cluster_id, folder, objects, storage)
