"""What a real database writes is handed on, to a topic and to a bucket, also while its regions move.

Of each key the row with the highest sequence is what the database answers, and the rows of a region come in the order
of their sequences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from handed_on import Handed
from mirrors import side_of
from tabled import Tabled

from seawall_e2e.loopback import KafkaProcesses
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.loopback.s3 import S3Process
from wal_subscription.records import process
from wal_subscription.table import process as table_process
from walrecord.region import table_id

pytest_plugins = ("mirror_beds", "table_beds")
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
    table_process.forget()


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


Row = tuple[str, int, int, tuple[object, ...]]
"""Table, region, sequence and values."""


def in_topic(handed: Handed) -> list[Row]:
    """Rows in the order in which a reader of the topic meets them."""
    return [
        (row["table"], row["region"], row["sequence"], tuple(row["values"].get(column) for column in COLUMNS))
        for row in handed.committed()
    ]


def sequences_in_bucket(tabled: Tabled) -> list[tuple[int, int]]:
    """Region and sequence of rows in the order of the commits, and of the files in them."""
    commits = (commit for topic in tabled.sources for commit in tabled.commits(topic))
    return [(row["_region"], row["_sequence"]) for commit in commits for row in tabled.rows_of(commit)]


def newest(rows: Iterable[Row], table: str) -> set[tuple[object, ...]]:
    """What a reader makes of them, who keeps of each key the row with the highest sequence."""
    found: dict[str, tuple[int, tuple[object, ...]]] = {}
    for name, _, sequence, values in rows:
        if name == f"public.{table}":
            key = f"{values[:2]}"
            found[key] = max(found.get(key, (-1, ())), (sequence, values), key=lambda each: each[0])
    return {values for _, values in found.values()}


def require_rising(sequences: Iterable[tuple[int, int]]) -> None:
    """Those of each region rise."""
    found = defaultdict[int, list[int]](list)
    for region, sequence in sequences:
        found[region].append(sequence)
    for region, each in found.items():
        assert all(one < other for one, other in pairwise(each)), (region, each)


def test_a_reader_of_the_rows_has_the_tables_while_regions_move_a_datanode_dies_and_one_is_made(
    source_kafka: KafkaProcesses,
    target_kafka: KafkaProcesses,
    bucket_server: S3Process,
    db: RefDbProcesses,
    tmp_path: Path,
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
    assert newest(in_topic(handed), "t") == answered(db, "t")

    db.sql(f"ADMIN migrate_region({regions['t'][0]}, 0, 1)")
    insert(db, "t", 5.0, 6.0)
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
    rows = in_topic(handed)
    assert newest(rows, "t") == answered(db, "t")
    assert newest(rows, "later") == answered(db, "later")
    assert len(answered(db, "t")) == 6
    assert {name for name, *_ in rows} == {"public.t", "public.later"}
    handed.require_chain()
    sequences = [(region, sequence) for _, region, sequence, _ in rows]
    assert [region for region, _ in sequences].count(regions["t"][0]) == 8, "before, between and after the moves"
    require_rising(sequences)

    tabled = Tabled(handed.source, bucket_server, tmp_path / "keys", tables=handed.tables, known=handed.known)
    tabled.sources = handed.sources
    tabled.run_all()
    assert sorted(sequences_in_bucket(tabled)) == sorted(sequences)
    require_rising(sequences_in_bucket(tabled))
