"""A snapshot and then the log give the table's rows in a bucket: its digest is that which Equivalence finds.

The program runs on Spark; the long form (`pytest -m soak`) kills its drivers in the middle of the snapshot.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from equivalent import Grown, Told
from large_snapshots import killed_within, large_snapshot
from mirrors import side_of
from pyspark.sql import SparkSession
from record_logs import CPU, Written
from spark_marks import WITH_SPARK
from tabled import Tabled
from test_stream import Run

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.loopback.s3 import S3Process
from seawall_e2e.waiting import wait_until
from wal_subscription.doubts import CERTAIN_SECONDS
from wal_subscription.stops import Reason
from walrecord.region import table_id

pytest_plugins = ("spark_beds", "mirror_beds", "database_beds", "table_beds")
pytestmark = WITH_SPARK
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture
def tabled(source_kafka: KafkaProcesses, bucket_server: S3Process, tmp_path: Path) -> Tabled:
    """A subscription without topics."""
    return Tabled(side_of(source_kafka), bucket_server, tmp_path / "keys")


def told(row: dict[str, Any]) -> Told:
    """As the database has it: times are milliseconds."""
    own = {name: value for name, value in row.items() if not name.startswith("_")}
    values = {
        name: (value - EPOCH) // timedelta(milliseconds=1) if name == "ts" else value for name, value in own.items()
    }
    return Told(row["_region"], row["_sequence"], row["_op"] == "delete", values)


# In every run: the same for rows in topics (test_records_with_a_snapshot.py), and tables that begin with a snapshot
# without Spark (test_table_guards.py).
@pytest.mark.soak
def test_a_reader_has_the_rows_of_the_table_by_the_digest_of_equivalence(
    spark: SparkSession, tabled: Tabled, db: RefDbProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wal_subscription.report.GATHER_SECONDS", 1.0)
    monkeypatch.setitem(cast("dict[Reason, float]", CERTAIN_SECONDS), Reason.IDENTITY_FENCE_BROKEN, 0.5)
    grown = Grown(db, tmp_path)
    tabled.known, tabled.snapshot = {table_id(grown.regions[0]): "public.t"}, grown.base
    tabled.sources = [grown.topic]
    request = tmp_path / "request.json"
    request.write_text(json.dumps(tabled.request()))
    run = Run(spark, request, tmp_path / "summary.json")
    wait_until(tabled.has_all, "the snapshot and the log are written", within=90)
    grown.go_on()
    wait_until(tabled.has_all, "the log goes on", within=90)
    rows = tabled.rows()
    of_files = [row["_file"] for row in rows if row["_file"] is not None]
    assert len(set(of_files)) > 1
    rows.sort(key=lambda row: (row["_sequence"], math.inf if row["_file"] is None else row["_file"]))
    grown.require(spark, tabled.source, [told(row) for row in rows])
    tabled.require_chain()
    tabled.source.topics.delete(grown.topic)
    assert run.end()[1]["outcome"] == "Stopped"


def test_a_snapshot_that_cannot_be_read_is_refused(spark: SparkSession, tabled: Tabled, tmp_path: Path) -> None:
    (name,) = tabled.make()
    log, request = Written(), tmp_path / "request.json"
    for _ in range(10):
        log.entry(CPU)
    tabled.append(log)
    tabled.snapshot, _ = large_snapshot(tmp_path / "lost", [name], files=2, rows=1)
    request.write_text(json.dumps(tabled.request()))
    (tmp_path / "lost" / f"{name}-0.parquet").unlink()
    code, summary = Run(spark, request, tmp_path / "summary.json").end()
    assert (code, summary["outcome"]) == (0, "Refused")
    assert f"the snapshot {tabled.snapshot} cannot be read" in summary["message"]
    assert tabled.rows() == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_drivers_that_are_killed_write_each_row_of_a_snapshot_once(
    spark: SparkSession, tabled: Tabled, tmp_path: Path
) -> None:
    """`spark` has set what a program needs to find its jars. Of two of them at once one commits."""
    names = tabled.make(2)
    logs = {name: Written() for name in names}
    for topic, log in enumerate(logs.values()):
        for _ in range(20):
            log.entry(CPU, 2, number=topic)
        tabled.append(log, topic)
    tabled.snapshot, wanted = large_snapshot(tmp_path / "snapshot", names, files=100, rows=5_000)
    request = tmp_path / "request.json"
    request.write_text(json.dumps(tabled.request()))

    def written() -> int:
        return sum(commits[-1]["rows"] for name in names if (commits := tabled.commits(name)))

    kills = killed_within(request, written, len(wanted), tabled.has_all)
    number, most = 0, len(wanted) // 2
    for name, hosts in zip(names, (wanted[:most], wanted[most:]), strict=True):
        rows = tabled.rows(name)
        of_files = sorted((row["_file"], row["_row"], row["host"]) for row in rows if row["_file"] is not None)
        assert [host for _, _, host in of_files] == hosts, "each row of the files once"
        assert [row["_sequence"] for row in rows if row["_file"] is None] == list(range(21, 41)), "and what is beyond"
        tabled.require_chain(name)
        number += len(rows)
    print(f"{number} rows once; {kills} kills of drivers on Spark")  # noqa: T201 - the counts are the evidence
