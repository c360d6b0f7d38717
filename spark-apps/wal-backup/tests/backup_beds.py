"""One S3 server for all tests of backups, and a bucket for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from backups import Bed, bed_in_folder, bucket_bed
from pyspark.sql import SparkSession

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.s3 import S3Process


@pytest.fixture(scope="session")
def s3(beds: str) -> Iterator[S3Process]:
    """The server."""
    with S3Process() as server:
        yield server


@pytest.fixture
def bed(spark: SparkSession, kafka: KafkaProcesses, s3: S3Process, tmp_path: Path) -> Bed:
    """Kafka, and a bucket that is empty."""
    return bucket_bed(spark, kafka, s3, tmp_path)


@pytest.fixture
def folder_bed(spark: SparkSession, kafka: KafkaProcesses, tmp_path: Path) -> Bed:
    """The same with a folder, which keeps no checksums of its own."""
    return bed_in_folder(spark, kafka, tmp_path)


@pytest.fixture(scope="module")
def shared_bed(spark: SparkSession, kafka: KafkaProcesses, tmp_path_factory: pytest.TempPathFactory) -> Bed:
    """For what the tests of a file share."""
    return bed_in_folder(spark, kafka, tmp_path_factory.mktemp("shared"))
