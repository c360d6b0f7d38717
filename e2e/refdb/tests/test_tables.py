"""Columns, partitions, placement, and what is written about a table."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdb.errors import DatabaseError
from refdb.meta.values import (
    DatanodeTable,
    Peer,
    RegionRoute,
    TableRoute,
    checkpoint,
    checkpoint_value,
    node_address_value,
    pruned_entry_id,
    topic_name_value,
)
from refdb.metasrv.tables import metadata_of, place
from refdb.schema import Column, ColumnType, RangePartitions, Schema, Table, Value

PEERS = (Peer(0, "a:1"), Peer(1, "b:1"), Peer(2, "c:1"))
SCHEMA = Schema((Column("ts", ColumnType.TIMESTAMP), Column("n", ColumnType.STRING)), ("n",), "ts")
TABLE = Table(1024, "t", SCHEMA, RangePartitions("n", ("f", "z")))


@pytest.mark.parametrize(("value", "region"), [(None, 0), ("", 0), ("e", 0), ("f", 1), ("yy", 1), ("z", 2), ("é", 2)])
def test_partition_rules(value: str | None, region: int) -> None:
    assert TABLE.region_of((1, value)) == region


@given(bounds=st.lists(st.integers(), unique=True).map(sorted), value=st.integers())
def test_a_row_is_in_the_region_whose_bounds_hold_it(bounds: list[int], value: int) -> None:
    number = RangePartitions("v", tuple(bounds)).place(value)
    assert all(bound <= value for bound in bounds[:number])
    assert all(value < bound for bound in bounds[number:])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ColumnType.INT32, 2**31),
        (ColumnType.INT32, "1"),
        (ColumnType.STRING, 1),
        (ColumnType.INT64, True),
        (ColumnType.UINT64, -1),
    ],
)
def test_values_of_another_type_are_refused(kind: ColumnType, value: Value) -> None:
    with pytest.raises(DatabaseError):
        Column("c", kind).array([value])


def test_tables_survive_json() -> None:
    assert Table.from_json(json.loads(json.dumps(asdict(TABLE)))) == TABLE


def test_regions_go_round_robin_over_datanodes_and_topics() -> None:
    placed = place(1024, 4, PEERS, ("t0", "t1"), used=1)
    assert [(p.region_id, p.leader.id, p.topic) for p in placed] == [
        (4398046511105, 0, "t1"),
        (4398046511106, 1, "t0"),
        (4398046511107, 2, "t1"),
        (4398046511108, 0, "t0"),
    ]


def test_the_keys_of_a_table_have_greptimedbs_names_and_shapes() -> None:
    written = metadata_of(TABLE, place(1024, 3, PEERS[:2], ("t0",), used=0))
    assert written["__topic_region/t0/4398046511106"] == "{}"
    assert json.loads(written["__dn_table/0/1024"]) == {
        "table_id": 1024,
        "regions": [1, 3],
        "follower_regions": [],
        "engine": "mito",
        "region_storage_path": "",
        "region_options": {},
        "region_wal_options": {
            "1": '{"wal.provider":"kafka","wal.kafka.topic":"t0"}',
            "3": '{"wal.provider":"kafka","wal.kafka.topic":"t0"}',
        },
        "version": 0,
    }
    route = json.loads(written["__table_route/1024"])
    assert route["type"] == "physical"
    assert route["max_region_number"] == 3
    assert route["region_routes"][1] == {
        "region": {"id": 4398046511106, "name": "", "attrs": {}, "partition_expr": ""},
        "leader_peer": {"id": 1, "addr": "b:1"},
        "follower_peers": [],
    }


def test_values_survive_their_text() -> None:
    route = TableRoute((RegionRoute(2**64 - 1, PEERS[1], downgrading=True), RegionRoute(7, PEERS[0])), version=3)
    assert TableRoute.from_text(route.to_text()) == route
    table = DatanodeTable(9, {1: "t", 2: "u"}, version=4)
    assert DatanodeTable.from_text(table.to_text()) == table
    moved = route.with_region(RegionRoute(7, PEERS[2]))
    assert (moved.version, moved.regions[1].leader, moved.regions[0]) == (4, PEERS[2], route.regions[0])


def test_markers_and_checkpoints_in_every_form_that_is_found() -> None:
    assert topic_name_value(248376) == '{"pruned_entry_id":248376}'
    assert (pruned_entry_id(""), pruned_entry_id('{"pruned_entry_id":7}')) == (0, 7)
    assert [checkpoint(text) for text in ("", "{}", '{"checkpoint":{"entry_id":10,"metadata_entry_id":9}}')] == [
        None,
        None,
        10,
    ]
    assert checkpoint(checkpoint_value(5)) == 5
    assert node_address_value(PEERS[0]) == '{"peer":{"id":0,"addr":"a:1"}}'
