"""A snapshot and then the log give the table's rows: what a reader makes of them has the digest that Equivalence finds.

The program runs on Spark; the long form (`pytest -m soak`) kills its drivers in the middle of the snapshot.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from equivalent import Grown, Told
from handed_on import Handed
from large_snapshots import killed_within, large_snapshot
from mirrors import side_of
from pyspark.sql import SparkSession
from record_logs import CPU, Written
from spark_marks import WITH_SPARK
from test_stream import Run

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until
from wal_subscription.doubts import CERTAIN_SECONDS
from wal_subscription.stops import Reason
from walrecord.region import table_id

pytest_plugins = ("spark_beds", "mirror_beds", "database_beds")
pytestmark = WITH_SPARK


@pytest.fixture
def handed(source_kafka: KafkaProcesses, target_kafka: KafkaProcesses) -> Handed:
    """A subscription without topics."""
    return Handed(side_of(source_kafka), side_of(target_kafka))


def test_a_reader_has_the_rows_of_the_table_by_the_digest_of_equivalence(
    spark: SparkSession, handed: Handed, db: RefDbProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wal_subscription.report.GATHER_SECONDS", 1.0)
    monkeypatch.setitem(CERTAIN_SECONDS, Reason.IDENTITY_FENCE_BROKEN, 0.5)
    grown = Grown(db, tmp_path)
    handed.known, handed.snapshot = {table_id(grown.regions[0]): "public.t"}, grown.base
    handed.take([grown.topic])
    request = tmp_path / "request.json"
    request.write_text(json.dumps(handed.request()))
    run = Run(spark, request, tmp_path / "summary.json")
    wait_until(handed.has_all, "the snapshot and the log are handed on", within=90)
    grown.go_on()
    wait_until(handed.has_all, "the log goes on", within=90)
    rows = handed.committed()
    assert sum(1 for row in rows if row.get("snapshot")) > 0
    grown.require(
        spark,
        handed.source,
        [Told(row["region"], row["sequence"], row["op"] == "delete", row["values"]) for row in rows],
    )
    handed.source.topics.delete(grown.topic)
    assert run.end()[1]["outcome"] == "Stopped"


def test_a_snapshot_that_cannot_be_read_is_refused(spark: SparkSession, handed: Handed, tmp_path: Path) -> None:
    (name,) = handed.make()
    folder, request = tmp_path / "lost", tmp_path / "request.json"
    handed.snapshot = folder.as_uri()
    request.write_text(json.dumps(handed.request()))
    code, summary = Run(spark, request, tmp_path / "summary.json").end()
    assert (code, summary["outcome"]) == (0, "Refused")
    assert "lost/snapshot.json cannot be read: FileNotFoundException" in summary["message"]
    large_snapshot(folder, [name], files=1, rows=1)
    log = Written()
    for _ in range(10):
        log.entry(CPU)
    handed.append(log)
    (folder / f"{name}-0.parquet").unlink()
    code, summary = Run(spark, request, tmp_path / "summary.json").end()
    assert (code, summary["outcome"]) == (0, "Refused")
    assert f"the snapshot {handed.snapshot} cannot be read" in summary["message"]
    assert handed.committed() == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_drivers_that_are_killed_hand_on_each_row_of_a_snapshot_once(
    spark: SparkSession, handed: Handed, tmp_path: Path
) -> None:
    """`spark` has set what a program needs to find its jars. Two of them at once end each other's transactions."""
    names = handed.make(2)
    logs = {name: Written() for name in names}
    for topic, log in enumerate(logs.values()):
        for _ in range(20):
            log.entry(CPU, 2, number=topic)
        handed.append(log, topic)
    handed.snapshot, wanted = large_snapshot(tmp_path / "snapshot", names, files=6, rows=80_000)
    request = tmp_path / "request.json"
    request.write_text(json.dumps(handed.request()))

    def handed_on() -> int:
        return sum(place.rows for place in handed.places().values())

    kills = killed_within(request, handed_on, len(wanted), handed.has_all)
    rows, most = handed.committed(), len(wanted) // 2
    for name, hosts in zip(names, (wanted[:most], wanted[most:]), strict=True):
        own = [row for row in rows if row["topic"] == name]
        is_equal = [row["values"]["host"] for row in own if row.get("snapshot")] == hosts
        assert is_equal, "each row of the files once, in their order"
        assert [row["sequence"] for row in own[most:]] == list(range(21, 41)), "and then what is beyond"
    handed.require_chain()
    print(f"{len(rows)} rows once and in order; {kills} kills of drivers on Spark")  # noqa: T201 - the counts are the evidence
