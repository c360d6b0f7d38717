"""A snapshot and then the log give the table's rows: what a reader makes of them has the digest that Equivalence finds.

The program runs on Spark; the long form (`pytest -m soak`) kills its drivers in the middle of the snapshot.
"""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from hashlib import blake2b
from operator import xor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from handed_on import Handed
from mirrors import side_of
from pyspark.sql import SparkSession
from record_logs import CPU, Written
from spark_marks import WITH_SPARK
from test_records_of_a_database import TABLE, answered, insert, regions_of
from test_stream import Run, drivers
from verifications import verify
from wal_topics import request_of

from replay_verification import rows as compared
from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.snapshots import Snapshot
from seawall_e2e.waiting import wait_until
from wal_subscription.doubts import CERTAIN_SECONDS
from wal_subscription.stops import Reason
from walrecord.region import region_id, table_id

pytest_plugins = ("spark_beds", "mirror_beds")
pytestmark = WITH_SPARK
COLUMNS, KEY = ["host", "ts", "load"], ["host", "ts"]


@pytest.fixture
def db(source_kafka: KafkaProcesses) -> Iterator[RefDbProcesses]:
    """A database with two datanodes and one topic."""
    with (
        EtcdProcess() as etcd,
        RefDbProcesses(source_kafka.bootstrap_servers, etcd, datanodes=2, wal={"num_topics": 1}) as database,
    ):
        yield database


@pytest.fixture
def handed(source_kafka: KafkaProcesses, target_kafka: KafkaProcesses) -> Handed:
    """A subscription without topics."""
    return Handed(side_of(source_kafka), side_of(target_kafka))


def state_of(rows: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Mapping[str, Any]]]:
    """What a reader makes of them: region → key → values, by the sequence, and then by the order."""
    newest: dict[int, dict[str, tuple[int, Mapping[str, Any] | None]]] = defaultdict(dict)
    for row in rows:
        keys = newest[row["region"]]
        key = json.dumps([row["values"][name] for name in KEY])
        if row["sequence"] >= keys.get(key, (-1, None))[0]:
            keys[key] = row["sequence"], None if row["op"] == "delete" else row["values"]
    return {
        region: {key: values for key, (_, values) in found.items() if values is not None}
        for region, found in newest.items()
    }


def digest_of(rows: Mapping[str, Mapping[str, Any]], columns: Sequence[str]) -> str:
    """As Equivalence makes it."""
    hashes = [compared._hash([values.get(name) for name in columns]) for values in rows.values()]
    text = ":".join(map(str, (len(hashes), reduce(xor, hashes), sum(hashes))))
    return blake2b(text.encode(), digest_size=8).hexdigest()


def test_a_reader_has_the_rows_of_the_table_by_the_digest_of_equivalence(
    spark: SparkSession, handed: Handed, db: RefDbProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wal_subscription.report.GATHER_SECONDS", 1.0)
    monkeypatch.setitem(CERTAIN_SECONDS, Reason.IDENTITY_FENCE_BROKEN, 0.5)
    db.sql(TABLE.format("t"))
    for loads in ((1.5, 2.0, -3.25), (7.0, 8.0)):
        insert(db, "t", *loads)
        db.sql("ADMIN flush_table('t')")
    base = Snapshot(tmp_path / "base")
    base.add_manifests(db.folder / "storage")
    base.write()
    insert(db, "t", 9.0)
    (name,) = names = [f"wal_{db.prefix}_0"]
    regions = regions_of(db, "t")
    handed.known, handed.snapshot = {table_id(regions[0]): "public.t"}, base.uri
    handed.take(names)
    request = tmp_path / "request.json"
    request.write_text(json.dumps(handed.request()))
    run = Run(spark, request, tmp_path / "summary.json")
    wait_until(handed.has_all, "the snapshot and the log are handed on", within=90)
    db.sql(f"ADMIN migrate_region({regions[0]}, 0, 1)")
    insert(db, "t", 1.0, 2.0, 3.0, 4.0)
    wait_until(handed.has_all, "the log goes on", within=90)

    now = Snapshot(tmp_path / "now")
    now.add_manifests(db.folder / "storage")
    answer = db.sql("SELECT * FROM t", cut=True)
    now.add_scan(answer, lambda row: int(row[1] >= "m"))
    now.write()
    end = max(region["applied_entry_id"] for region in answer["regions"]) + 1
    asked = handed.source.topics.topic(name, end, reads_from=dict.fromkeys(regions, 0))
    request_bytes = request_of(handed.source.topics.servers, "Equivalence", [asked], now.uri)
    verified = verify(spark, tmp_path / "verified", request_bytes)
    assert verified.report is not None, verified.summary
    expected = {
        region["id"]: region["comparison"]["cuts"][-1]["found"]["digest"] for region in verified.report["regions"]
    }
    rows = handed.committed()
    columns = json.loads((tmp_path / "now/snapshot.json").read_text())["regions"][0]["columns"]
    assert {region: digest_of(found, columns) for region, found in state_of(rows).items()} == expected
    assert sum(1 for row in rows if row.get("snapshot")) > 0
    assert {
        tuple(values[name] for name in ("ts", "host", "load"))
        for found in state_of(rows).values()
        for values in found.values()
    } == answered(db, "t")
    handed.source.topics.delete(name)
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
    request, before, kills = tmp_path / "request.json", 0, 0
    request.write_text(json.dumps(handed.request()))

    def is_ahead() -> bool:
        return sum(place.rows for place in handed.places().values()) > before

    for count in (1, 2):
        with drivers(request, tmp_path, count) as running:
            wait_until(is_ahead, "rows are handed on", within=240)
            os.kill(running[0].pid, signal.SIGKILL)  # the Python driver alone: its Java may go on for a moment
            kills += count
        before = sum(place.rows for place in handed.places().values())
        print(f"{before} rows when {count} drivers were killed")  # noqa: T201 - the counts are the evidence
    is_left = before < len(wanted)
    assert is_left, "it was through before"
    with drivers(request, tmp_path, 1):
        wait_until(handed.has_all, "all is handed on", within=240)
    rows, most = handed.committed(), len(wanted) // 2
    for name, hosts in zip(names, (wanted[:most], wanted[most:]), strict=True):
        own = [row for row in rows if row["topic"] == name]
        is_equal = [row["values"]["host"] for row in own if row.get("snapshot")] == hosts
        assert is_equal, "each row of the files once, in their order"
        assert [row["sequence"] for row in own[most:]] == list(range(21, 41)), "and then what is beyond"
    handed.require_chain()
    print(f"{len(rows)} rows once and in order; {kills} kills of drivers on Spark")  # noqa: T201 - the counts are the evidence


def large_snapshot(folder: Path, topics: Sequence[str], files: int, rows: int) -> tuple[str, list[str]]:
    """Of topics with a region each, up to entry 9; its URI, and its rows in order."""
    wanted, regions = list[str](), list[dict[str, Any]]()
    folder.mkdir()
    for number, topic in enumerate(topics):
        names = [f"{topic}-{file}.parquet" for file in range(files)]
        for name in names:
            hosts = [f"{name}-{row:06}" for row in range(rows)]
            table = pa.table({"host": hosts, "ts": list(range(rows)), "load": [0] * rows})
            pq.write_table(table, folder / name, row_group_size=7_000)
            wanted += hosts
        cut = {"entryId": 9, "files": names, "sequence": 20}
        regions.append({"id": region_id(CPU, number), "topic": topic, "columns": COLUMNS, "key": KEY, "cuts": [cut]})
    (folder / "snapshot.json").write_text(json.dumps({"version": 1, "regions": regions}))
    return folder.as_uri(), wanted
