"""What brokers tell of their log directories: one of which a directory is offline has not told what it has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from seawall.adapters.kafka import raw_cluster
from seawall.domain.partitions import PartitionId
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten

KAFKA_STORAGE_ERROR = 56


def folder(error: int, **sizes: int) -> SimpleNamespace:
    """A result of DescribeLogDirs: an offline directory has an error, and no topic."""
    topics = [
        SimpleNamespace(name=name, partitions=[SimpleNamespace(partition_index=0, partition_size=size)])
        for name, size in sizes.items()
    ]
    return SimpleNamespace(error_code=error, topics=topics)


def answer(*folders: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(error_code=0, results=list(folders))


def an_offline_directory_is_not_told() -> None:
    told = {1: answer(folder(0, wal=7)), 2: answer(folder(0, wal=8), folder(KAFKA_STORAGE_ERROR)), 3: answer(folder(0))}
    kafka: Any = SimpleNamespace(brokers=lambda: list(told), ask=lambda _: told)
    sizes = raw_cluster.sizes(kafka, None)
    assert sizes.reported == {1, 3}
    assert sizes.by_partition == {PartitionId("wal", 0): {1: 7, 2: 8}}


def test_an_offline_directory_is_not_told() -> None:
    an_offline_directory_is_not_told()
    mutant = rewritten(raw_cluster, "_is_whole", "folder.error_code", "False")
    assert find_survivors([(mutant, an_offline_directory_is_not_told)]) == []
