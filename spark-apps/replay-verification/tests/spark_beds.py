"""One Spark session for all tests, on loopback, with two cores; and one Kafka for those that need it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from replay_verification import source
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.spark import spark_variables
from sparkjob.session import open_session


@pytest.fixture(scope="session")
def spark(beds: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that the program itself would open."""
    os.environ.update(spark_variables(), SPARK_MASTER="local[2]")
    os.environ["SPARK_LOCAL_DIRS"] = str(tmp_path_factory.mktemp("spark"))
    session = open_session("tests of replay-verification")
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def small_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs of tests are short, and are cut into as many partitions of Spark as those of people."""
    monkeypatch.setattr(source, "_LEAST_OFFSETS", 7)


@pytest.fixture(scope="session")
def kafka(beds: str) -> Iterator[KafkaProcesses]:
    """One broker, with and without TLS and passwords."""
    with KafkaProcesses(brokers=1, sasl_ssl=True) as processes:
        yield processes
