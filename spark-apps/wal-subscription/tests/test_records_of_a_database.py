"""What a real database writes is handed on: of each key the row with the highest sequence is what it answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from handed_on import Handed
from mirrors import side_of

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from wal_subscription.records import process
from walrecord.region import table_id

pytest_plugins = ("mirror_beds",)
pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("mirror")]
COLUMNS = ("ts", "host", "load")
TABLE = """CREATE TABLE {0} (ts TIMESTAMP TIME INDEX, host STRING, load DOUBLE, PRIMARY KEY(host))
PARTITION BY RANGE COLUMNS (host) (PARTITION a VALUES LESS THAN ('m'), PARTITION b VALUES LESS THAN (MAXVALUE))"""


@pytest.fixture
def db(source_kafka: KafkaProcesses) -> Iterator[RefDbProcesses]:
    """A database with two datanodes and two topics."""
    with (
        EtcdProcess() as etcd,
        RefDbProcesses(source_kafka.bootstrap_servers, etcd, datanodes=2, wal={"num_topics": 2}) as database,
    ):
        yield database
    process.forget_all()


def insert(db: RefDbProcesses, table: str, *loads: float) -> None:
    """The same keys each time, in both regions."""
    rows = ", ".join(f"({number}, '{host}', {load})" for number, load in enumerate(loads) for host in ("ann", "zoe"))
    db.write(f"INSERT INTO {table} (ts, host, load) VALUES {rows}")  # noqa: S608 - a test database


def regions_of(db: RefDbProcesses, table: str) -> list[int]:
    """Of a table."""
    cut = db.sql(f"SELECT * FROM {table}", cut=True)  # noqa: S608 - as above
    return [int(region["region_id"]) for region in cut["regions"]]


def answered(db: RefDbProcesses, table: str) -> set[tuple[object, ...]]:
    """What the database says."""
    return {tuple(row) for row in db.rows(f"SELECT {', '.join(COLUMNS)} FROM {table}")}  # noqa: S608 - as above


def handed_on(handed: Handed, table: str) -> set[tuple[object, ...]]:
    """What a reader of the topic makes of it."""
    newest: dict[str, tuple[int, tuple[object, ...]]] = {}
    for row in handed.committed():
        if row["table"] == f"public.{table}":
            values = tuple(row["values"].get(column) for column in COLUMNS)
            key = f"{values[:2]}"
            newest[key] = max(newest.get(key, (-1, ())), (row["sequence"], values), key=lambda found: found[0])
    return {values for _, values in newest.values()}


def test_a_reader_of_the_rows_has_the_tables_while_regions_move_a_datanode_dies_and_one_is_made(
    source_kafka: KafkaProcesses, target_kafka: KafkaProcesses, db: RefDbProcesses
) -> None:
    db.sql(TABLE.format("t"))
    db.sql(TABLE.format("left_out"))
    insert(db, "t", 1.5, 2.0, -3.25)
    insert(db, "left_out", 1.0)
    regions = {table: regions_of(db, table) for table in ("t", "left_out")}
    handed = Handed(
        side_of(source_kafka),
        side_of(target_kafka),
        tables={"include": ["public.*"], "exclude": ["public.left_*"]},
        known={table_id(ids[0]): f"public.{table}" for table, ids in regions.items()},
    )
    handed.take([f"wal_{db.prefix}_{number}" for number in range(2)])
    handed.run_all()
    assert handed_on(handed, "t") == answered(db, "t")

    db.sql(f"ADMIN migrate_region({regions['t'][0]}, 0, 1)")
    db.sql(f"ADMIN migrate_region({regions['t'][0]}, 1, 0)")
    insert(db, "t", 7.0, 8.0)
    db.datanodes[1].kill()
    db.start_datanode(1)
    insert(db, "t", 9.0)
    db.sql(TABLE.format("later"))
    insert(db, "later", 4.0, 5.0)
    handed.known = {**handed.known, table_id(regions_of(db, "later")[0]): "public.later"}
    handed.run = 2
    handed.run_all()
    assert handed_on(handed, "t") == answered(db, "t")
    assert handed_on(handed, "later") == answered(db, "later")
    assert len(answered(db, "t")) == 6
    assert {row["table"] for row in handed.committed()} == {"public.t", "public.later"}
    handed.require_chain()
