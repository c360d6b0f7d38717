"""One Spark session for all tests, on loopback, with two cores; and one Kafka for those that need it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from replay_verification.session import open_session
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.processes import platform_folder

HERE = Path(__file__).parent
_DOWNLOAD_TIMEOUT = 900
_NO_SPARK = (
    "test_request",
    "test_sequences",
    "test_assembly",
    "test_summary",
    "test_page",
    "test_connection",
    "test_stretches",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps what needs Spark on one worker of xdist, so that a session starts once."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.stem not in _NO_SPARK:
            item.add_marker(pytest.mark.xdist_group("spark"))
            # py4j leaves the sockets of what it collects to the garbage collector.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that the program itself would open."""
    os.environ["SEAWALL_SPARK_JARS"] = str(platform_folder("spark/jars.sh", _DOWNLOAD_TIMEOUT))
    os.environ["SPARK_MASTER"] = "local[2]"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_DIRS"] = str(tmp_path_factory.mktemp("spark"))
    session = open_session("tests of replay-verification")
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaProcesses]:
    """One broker."""
    with KafkaProcesses(brokers=1) as processes:
        yield processes
