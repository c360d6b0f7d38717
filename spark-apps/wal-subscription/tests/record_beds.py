"""Fixtures of the sink of records: its stories on two Kafkas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mirrors import side_of
from told_stories import Stories

from seawall_e2e.loopback import KafkaProcesses

pytest_plugins = ("mirror_beds",)


@pytest.fixture
def tell(source_kafka: KafkaProcesses, target_kafka: KafkaProcesses, tmp_path: Path) -> Iterator[Stories]:
    """Stories on two Kafkas; each test begins as a process does."""
    told = Stories(side_of(source_kafka), side_of(target_kafka), tmp_path)
    yield told
    told.close()
