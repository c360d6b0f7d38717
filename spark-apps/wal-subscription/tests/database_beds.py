"""A database for a test, beside the two Kafkas of mirrors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses


@pytest.fixture
def db(source_kafka: KafkaProcesses) -> Iterator[RefDbProcesses]:
    """A database with two datanodes and one topic."""
    with (
        EtcdProcess() as etcd,
        RefDbProcesses(source_kafka.bootstrap_servers, etcd, datanodes=2, wal={"num_topics": 1}) as database,
    ):
        yield database
