"""Equivalence on a real database: what its log gives is what its files and its tables hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from spark_marks import WITH_SPARK
from verifications import verify
from wal_topics import Topics, request_of

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.snapshots import Snapshot

pytest_plugins = ("spark_beds",)
pytestmark = WITH_SPARK

TABLE = """CREATE TABLE t (ts TIMESTAMP TIME INDEX, host STRING, load DOUBLE, PRIMARY KEY(host))
PARTITION BY RANGE COLUMNS (host) (PARTITION a VALUES LESS THAN ('m'), PARTITION b VALUES LESS THAN (MAXVALUE))"""


@pytest.fixture(scope="module")
def db(kafka: KafkaProcesses) -> Iterator[RefDbProcesses]:
    """A database with one datanode and one topic."""
    with (
        EtcdProcess() as etcd,
        RefDbProcesses(kafka.bootstrap_servers, etcd, datanodes=1, wal={"num_topics": 1}) as database,
    ):
        assert "code" not in database.sql(TABLE)
        yield database


def _insert(db: RefDbProcesses, *loads: float) -> None:
    rows = ", ".join(f"({number}, '{host}', {load})" for number, load in enumerate(loads) for host in ("ann", "zoe"))
    assert "code" not in db.sql(f"INSERT INTO t (ts, host, load) VALUES {rows}")  # noqa: S608 - a test database


def _partition(row: Any) -> int:
    return int(row[1] >= "m")


def test_the_log_gives_the_rows_of_the_database(
    spark: SparkSession, kafka: KafkaProcesses, db: RefDbProcesses, tmp_path: Path
) -> None:
    for round_ in range(2):
        _insert(db, 1.5 + round_, 2.0, -3.25)
        assert "code" not in db.sql("ADMIN flush_table('t')")
    _insert(db, 9.0)
    answer = db.sql("SELECT * FROM t", cut=True)
    snapshot = Snapshot(tmp_path / "snapshot")
    snapshot.add_manifests(db.folder / "storage")
    snapshot.add_scan(answer, _partition)
    snapshot.write()
    topics, name = Topics(kafka.bootstrap_servers), f"wal_{db.prefix}_0"
    reads_from = {region["region_id"]: 0 for region in answer["regions"]}
    end = max(region["applied_entry_id"] for region in answer["regions"]) + 1
    asked = topics.topic(name, end, reads_from=reads_from)
    verified = verify(spark, tmp_path, request_of(topics.servers, "Equivalence", [asked], snapshot.uri))
    assert verified.code == 0, verified.summary
    assert verified.report is not None
    for region in verified.report["regions"]:
        cuts = region["comparison"]["cuts"]
        assert [cut["found"]["rows"] for cut in cuts] == [3, 3, 3]  # each round writes the same keys anew
        assert len({cut["found"]["digest"] for cut in cuts}) == 3
