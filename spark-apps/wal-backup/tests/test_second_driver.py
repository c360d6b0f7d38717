"""A driver that is started once more with the same request: its tasks are others, and write over nothing."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import driver_stories as stories
import pytest
from backups import Bed
from spark_marks import WITH_SPARK
from test_large_records import record_of

from tests.support.log_readers import reader_of
from wal_backup import plan, task
from wal_backup.backup import Backup
from wal_backup.request import parse_backup
from wal_backup.task import TaskResult

pytest_plugins = ("spark_beds", "backup_beds")
TOPICS = {"wal_0": (5, 40), "wal_2": (0, 12)}


def driver(cores: int) -> Any:
    """A session of Spark whose tasks run in this process, and have the same numbers as those of any other driver."""

    def parallelize(tasks: list[Any], _: int) -> Any:
        def mapped(run: Callable[[Any], Any]) -> Any:
            return SimpleNamespace(collect=lambda: [run(each) for each in tasks])

        return SimpleNamespace(map=mapped)

    return SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=cores, parallelize=parallelize))


def request(folder: Path) -> bytes:
    """A full backup into this folder."""
    ranges = [
        {"name": name, "topicId": name, "logStart": start, "from": start, "to": end, "config": {}, "regions": []}
        for name, (start, end) in TOPICS.items()
    ]
    return json.dumps(
        {
            "version": 1,
            "backup": {"name": "full", "attempt": 1},
            "verify": "None",
            "chain": "full",
            "kafka": {"bootstrapServers": ["none:9092"], "clusterId": "kafka", "tls": None, "sasl": None},
            "storage": {"folder": {"path": str(folder)}},
            "topics": ranges,
        }
    ).encode()


def read(folder: Path, cores: int) -> list[TaskResult]:
    """What the tasks of a driver leave that has so many cores."""
    return Backup(driver(cores), parse_backup(request(folder)))._read()


def objects(folder: Path) -> dict[Path, bytes]:
    """All that are in the store."""
    return {path: path.read_bytes() for path in folder.rglob("*.parquet")}


def paths(results: list[TaskResult]) -> list[str]:
    """Of the objects that a manifest would name."""
    return [each.path for result in results for each in result.objects]


def test_a_second_driver_of_the_same_request_writes_over_nothing() -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(task, "Reader", reader_of(record_of, lambda _: 0))
        patch.setattr(plan, "LEAST_OFFSETS", 2)
        folder = Path(name)
        first = read(folder, 1)
        before = objects(folder)
        second = read(folder, 4)
        after = objects(folder)
    assert len(first) < len(second), "the log was cut elsewhere"
    assert len(before) == len(paths(first))
    assert {path: after[path] for path in before} == before
    assert len(after) == len(before) + len(paths(second))
    assert not set(paths(first)) & set(paths(second))


@pytest.mark.parametrize(
    "story",
    [
        stories.a_second_driver_that_counts_first,
        stories.two_drivers_that_ask_for_the_manifest_at_the_same_instant,
        stories.a_manifest_whose_answer_was_lost,
    ],
    ids=lambda story: story.__name__,
)
class TestInABucket:
    """In a folder: `test_backup_mutants.py`."""

    pytestmark = WITH_SPARK

    def test_no_manifest_is_overwritten(self, bed: Bed, story: Callable[[Bed], None]) -> None:
        story(bed)
