"""One region on a real Kafka and real files: leases, leaders that were replaced, large entries."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path

import pytest
from one_region import REGION, SCHEMA, leading

from refdb.errors import DatabaseError, RegionFatalError, Unavailable
from refdb.region.files import RegionFiles
from refdb.region.opener import Assignment, Floors, create_region, open_region
from refdb.region.region import Region
from refdb.schema import Row, Schema
from refdb.wal.log import WalLog
from refdb.wal.options import WalOptions
from refdb.wal.topics import require_topics
from seawall_e2e.loopback import KafkaProcesses

pytestmark = pytest.mark.integration


@pytest.fixture
def topic(one_kafka: KafkaProcesses) -> str:
    name = f"region-{uuid.uuid4().hex[:8]}"
    require_topics(WalOptions(kafka={"bootstrap.servers": one_kafka.bootstrap_servers[0]}, topics=(name,)))
    return name


def reopened(topic: str, files: RegionFiles, log: WalLog, term: int = 0) -> Region:
    return leading(open_region(Assignment(REGION, topic, term), Floors(), files, log))


def test_a_large_row_is_split_and_joined(topic: str, log: WalLog, tmp_path: Path) -> None:
    region = leading(create_region(REGION, topic, SCHEMA, RegionFiles(tmp_path), log))
    entry_id = region.write([(1, "x" * 10_000)])
    assert entry_id > 4
    assert reopened(topic, RegionFiles(tmp_path), log).scan().rows == [(1, "x" * 10_000)]


def test_nothing_is_acknowledged_when_the_lease_ended_while_appending(topic: str, log: WalLog, tmp_path: Path) -> None:
    region = create_region(REGION, topic, SCHEMA, RegionFiles(tmp_path), log)
    now = [0.0]
    region._clock = lambda: now[0]
    region.extend_lease(1.0)
    append = log.append

    def slow(*args: object) -> int:
        now[0] = 5.0
        return append(*args)  # type: ignore[arg-type]

    region._log = type("Slow", (), {"append": staticmethod(slow), "max_batch_bytes": 2000})()
    with pytest.raises(Unavailable, match="lost its lease"):
        region.write([(1, "a")])


def test_a_replaced_leader_cannot_flush(topic: str, log: WalLog, tmp_path: Path) -> None:
    old = leading(create_region(REGION, topic, SCHEMA, RegionFiles(tmp_path), log))
    old.write([(1, "a")])
    new = reopened(topic, RegionFiles(tmp_path), log)
    with pytest.raises(RegionFatalError, match="another leader"):
        old.flush()
    with pytest.raises(DatabaseError, match="another leader"):
        old.write([(2, "b")])
    assert new.flush()
    assert new.scan().rows == [(1, "a")]


def test_a_leader_that_was_stopped_between_file_and_manifest_cannot_flush(
    topic: str, log: WalLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = leading(create_region(REGION, topic, SCHEMA, RegionFiles(tmp_path), log))
    old.write([(1, "a")])
    write_rows = RegionFiles.write_rows
    successors: list[Region] = []

    def stopped(files: RegionFiles, schema: Schema, rows: Iterable[Row]) -> str:
        name = write_rows(files, schema, rows)
        monkeypatch.undo()
        # SIGSTOP here; so many others lead it meanwhile that old versions are cleaned up.
        successors.extend(reopened(topic, RegionFiles(tmp_path), log, term) for term in range(1, 10))
        return name

    monkeypatch.setattr(RegionFiles, "write_rows", stopped)
    with pytest.raises(RegionFatalError, match="another leader"):
        old.flush()
    assert old.manifest.flushed_entry_id == 0
    assert successors[-1].flush()
    assert reopened(topic, RegionFiles(tmp_path), log, 9).scan().rows == [(1, "a")]


def test_an_opening_that_comes_late_does_not_shut_out_a_later_leader(topic: str, log: WalLog, tmp_path: Path) -> None:
    create_region(REGION, topic, SCHEMA, RegionFiles(tmp_path), log)
    leader = reopened(topic, RegionFiles(tmp_path), log, term=5)
    with pytest.raises(RegionFatalError, match=r"a later leader has opened it \(term 5, this is 4\)"):
        reopened(topic, RegionFiles(tmp_path), log, term=4)
    leader.write([(1, "a")])
    assert leader.flush()


def test_an_idle_sample_needs_an_empty_memtable_and_a_lease(topic: str, log: WalLog, tmp_path: Path) -> None:
    region = leading(create_region(REGION, topic, SCHEMA, RegionFiles(tmp_path), log))
    region.write([(1, "a")])
    assert not region.is_idle(1)
    assert region.sample_idle() is None
    region.flush()
    log.activate(topic)
    assert region.is_idle(1)
    assert region.sample_idle() == 1
    stranger = open_region(Assignment(REGION, topic, 1), Floors(), RegionFiles(tmp_path), log)
    assert stranger.sample_idle() is None


@pytest.mark.parametrize("floors", [Floors(checkpoint=2), Floors(pruned=2)])
def test_replay_starts_after_checkpoint_and_marker(topic: str, log: WalLog, tmp_path: Path, floors: Floors) -> None:
    region = leading(create_region(REGION, topic, SCHEMA, RegionFiles(tmp_path), log))
    for number in range(4):
        region.write([(number, "a")])
    opened = leading(open_region(Assignment(REGION, topic, 0), floors, RegionFiles(tmp_path), log))
    assert opened.scan().rows == [(2, "a"), (3, "a")]


def test_a_new_region_starts_at_the_end_of_a_topic_in_use(topic: str, log: WalLog, tmp_path: Path) -> None:
    first = leading(create_region(REGION, topic, SCHEMA, RegionFiles(tmp_path / "1"), log))
    for number in range(5):
        first.write([(number, "a")])
    second = create_region(REGION + 1, topic, SCHEMA, RegionFiles(tmp_path / "2"), log)
    assert (first.manifest.flushed_entry_id, second.manifest.flushed_entry_id) == (0, 5)
