"""One S3 server for all tests of backups, and a bucket for each."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from backups import Bed
from pyspark.sql import SparkSession
from wal_topics import Topics

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process
from wal_backup.kafka_state import KafkaState


@pytest.fixture(scope="session")
def s3(beds: str) -> Iterator[S3Process]:
    """The server."""
    with S3Process() as server:
        yield server


@pytest.fixture
def bed(spark: SparkSession, kafka: KafkaProcesses, s3: S3Process, tmp_path: Path) -> Bed:
    """Kafka, and a bucket that is empty."""
    bucket = f"wal-{secrets.token_hex(4)}"
    objects = s3.make_bucket(bucket)
    (tmp_path / "id").write_text(f"{s3.access_key_id}\n")
    (tmp_path / "secret").write_text(s3.secret_access_key)
    storage = {
        "s3": {
            "bucket": bucket,
            "prefix": "here",
            "region": s3.region,
            "endpoint": s3.endpoint,
            "accessKeyIdFile": str(tmp_path / "id"),
            "secretAccessKeyFile": str(tmp_path / "secret"),
        }
    }
    return _bed(spark, kafka, tmp_path, objects / "here", storage)


@pytest.fixture
def folder_bed(spark: SparkSession, kafka: KafkaProcesses, tmp_path: Path) -> Bed:
    """The same with a folder, which keeps no checksums of its own."""
    return _folder_bed(spark, kafka, tmp_path)


@pytest.fixture(scope="module")
def shared_bed(spark: SparkSession, kafka: KafkaProcesses, tmp_path_factory: pytest.TempPathFactory) -> Bed:
    """For what the tests of a file share."""
    return _folder_bed(spark, kafka, tmp_path_factory.mktemp("shared"))


def _folder_bed(spark: SparkSession, kafka: KafkaProcesses, folder: Path) -> Bed:
    return _bed(spark, kafka, folder, folder / "store", {"folder": {"path": str(folder / "store")}})


def _bed(spark: SparkSession, kafka: KafkaProcesses, folder: Path, objects: Path, storage: Mapping[str, Any]) -> Bed:
    topics = Topics(kafka.bootstrap_servers)
    cluster_id = KafkaState({"bootstrap.servers": topics.servers}).cluster_id()
    return Bed(spark, topics, cluster_id, folder, objects, storage)
