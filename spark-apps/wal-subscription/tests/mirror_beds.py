"""Two Kafkas for all tests of mirrors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mirrors import Mirror, side_of

from seawall_e2e.loopback import KafkaProcesses


@pytest.fixture(scope="session")
def source_kafka(beds: str) -> Iterator[KafkaProcesses]:
    """The source."""
    with KafkaProcesses(1) as processes:
        yield processes


@pytest.fixture(scope="session")
def target_kafka(beds: str) -> Iterator[KafkaProcesses]:
    """The target."""
    with KafkaProcesses(1) as processes:
        yield processes


@pytest.fixture
def mirror(source_kafka: KafkaProcesses, target_kafka: KafkaProcesses) -> Mirror:
    """A mirror without topics."""
    return Mirror(side_of(source_kafka), side_of(target_kafka))
