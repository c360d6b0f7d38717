"""One Spark session for all tests, on loopback, with two cores; and one Kafka for those that need it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.processes import platform_folder
from sparkjob.session import open_session

_DOWNLOAD_TIMEOUT = 900


@pytest.fixture(scope="session")
def spark(beds: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that the program itself would open."""
    os.environ["SEAWALL_SPARK_JARS"] = str(platform_folder("spark/jars.sh", _DOWNLOAD_TIMEOUT))
    os.environ["SPARK_MASTER"] = "local[2]"
    os.environ["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # short work on a busy machine
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_DIRS"] = str(tmp_path_factory.mktemp("spark"))
    session = open_session("tests of replay-verification")
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kafka(beds: str) -> Iterator[KafkaProcesses]:
    """One broker, with and without TLS and passwords."""
    with KafkaProcesses(brokers=1, sasl_ssl=True) as processes:
        yield processes
