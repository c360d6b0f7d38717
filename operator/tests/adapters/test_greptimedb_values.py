"""GreptimeDB's metadata as its versions write them (facts/greptimedb.md §1.9, §3)."""

import json
from collections.abc import Callable

import pytest

from seawall.adapters.greptimedb.metadata_values import (
    marker_with,
    read_address,
    read_datanode_table,
    read_marker,
    read_region_key,
    read_table_route,
    region_of,
)
from seawall.domain.dataplane.metadata import LeaderState, RegionKey, Route

REGION = 4398046511105
LARGEST = 2**64 - 1


@pytest.mark.parametrize(
    ("value", "marker"),
    [("", None), ("null", None), ("{}", None), ('{"pruned_entry_id":0}', 0), ('{"pruned_entry_id":248376}', 248376)],
)
def test_markers_of_all_versions(value: str, marker: int | None) -> None:
    assert read_marker(value) == marker


def test_a_marker_is_moved_and_what_a_newer_version_wrote_beside_it_stays() -> None:
    assert marker_with('{"pruned_entry_id":7,"newer":[1]}', 9) == '{"pruned_entry_id":9,"newer":[1]}'
    assert marker_with("", LARGEST) == '{"pruned_entry_id":18446744073709551615}'


@pytest.mark.parametrize(
    ("value", "checkpoint", "metadata"),
    [
        ("", None, None),
        ("{}", None, None),
        ('{"checkpoint":null}', None, None),
        ('{"checkpoint":{"entry_id":10}}', 10, None),
        ('{"checkpoint":{"entry_id":10,"metadata_entry_id":9}}', 10, 9),
        ('{"checkpoint":{"entry_id":18446744073709551615}}', LARGEST, None),
    ],
)
def test_region_keys_of_all_versions(value: str, checkpoint: int | None, metadata: int | None) -> None:
    expected = ("greptimedb_wal_topic_3", REGION, RegionKey(checkpoint, metadata, 5))
    assert read_region_key(f"greptimedb_wal_topic_3/{REGION}", value, 5) == expected


def test_a_region_id_beyond_a_float_survives() -> None:
    assert read_region_key(f"t/{LARGEST}", "", 1)[1] == LARGEST
    (route,) = read_table_route(physical({"id": LARGEST}, leader_peer={"id": 1, "addr": ""}), 1)
    assert route[0] == LARGEST


def test_a_datanodes_table_names_the_topic_of_every_region_of_the_table() -> None:
    value = (
        '{"table_id":1024,"regions":[1],"follower_regions":[],"engine":"mito","region_storage_path":"",'
        '"region_options":{},"region_wal_options":{'
        '"1":"{\\"wal.provider\\":\\"kafka\\",\\"wal.kafka.topic\\":\\"t_3\\"}",'
        '"2":"{\\"wal.provider\\":\\"kafka\\",\\"wal.kafka.topic\\":\\"t_4\\",\\"wal.kafka.initial_pruned_entry_id\\":42}"'
        '},"version":1}'
    )
    assert read_datanode_table("0/1024", value).topics == {REGION: "t_3", REGION + 1: "t_4"}


def test_wal_options_may_be_objects_beside_texts() -> None:
    """One key that makes no sense ends the whole snapshot; a newer version may write what it reads already."""
    options = [{"wal.provider": "kafka", "wal.kafka.topic": topic} for topic in ("t_3", "t_4")]
    given = {"1": options[0], "2": json.dumps(options[1]), "3": {"wal.provider": "raft_engine"}}
    value = json.dumps({"table_id": 1024, "regions": [1, 2, 3], "region_wal_options": given, "version": 1})
    assert read_datanode_table("0/1024", value).topics == {REGION: "t_3", REGION + 1: "t_4", REGION + 2: None}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"region_wal_options": {}},
        *({"region_wal_options": {"1": json.dumps({"wal.provider": p})}} for p in ("raft_engine", "noop")),
    ],
    ids=["an old table", "no options", "a local WAL", "skip_wal"],
)
def test_a_region_whose_wal_is_in_no_topic_is_known_as_such(options: dict[str, object]) -> None:
    value = json.dumps({"table_id": 1024, "regions": [1], "version": 1, **options})
    assert read_datanode_table("0/1024", value).topics == {REGION: None}


def test_a_follower_is_a_region_too() -> None:
    value = json.dumps({"table_id": 1024, "regions": [], "follower_regions": [1], "version": 1})
    assert read_datanode_table("7/1024", value).topics == {REGION: None}


@pytest.mark.parametrize("engine", ["file", "mito", "metric", "File", "file2", "", None])
def test_only_the_engine_file_is_an_external_table(engine: str | None) -> None:
    options = {"wal.provider": "kafka", "wal.kafka.topic": "t_3"}
    value = {"table_id": 1024, "regions": [1], "region_wal_options": {"1": json.dumps(options)}, "version": 1}
    found = read_datanode_table("0/1024", json.dumps({**value, "engine": engine}))
    assert found.is_external is (engine == "file")
    assert found.topics == {REGION: None if engine == "file" else "t_3"}


@pytest.mark.parametrize("skip", ["true", "false", "True", "", None])
def test_a_table_that_was_altered_to_skip_its_log_keeps_its_topic(skip: str | None) -> None:
    options = {"1": json.dumps({"wal.provider": "kafka", "wal.kafka.topic": "t_3"})}
    value = {"table_id": 1024, "regions": [1], "region_wal_options": options, "region_options": {"skip_wal": skip}}
    found = read_datanode_table("0/1024", json.dumps(value))
    assert found.unlogged == ({REGION} if skip == "true" else set())
    assert found.logged_again == ({REGION} if skip not in {"true", None} else set())
    assert found.topics == {REGION: "t_3"}


def physical(region: dict[str, object], **route: object) -> str:
    whole = {"name": "", "attrs": {}, "partition_expr": "", **region}
    return json.dumps(
        {"type": "physical", "region_routes": [{"region": whole, "follower_peers": [], **route}], "version": 0}
    )


@pytest.mark.parametrize(
    ("route", "leader", "state"),
    [
        ({"leader_peer": {"id": 12, "addr": "ip:3001"}, "leader_down_since": None}, 12, LeaderState.NORMAL),
        ({"leader_peer": {"id": 12, "addr": ""}, "leader_state": None}, 12, LeaderState.NORMAL),
        ({"leader_peer": {"id": 0, "addr": ""}, "leader_state": "Downgrading"}, 0, LeaderState.DOWNGRADING),
        ({"leader_peer": {"id": 0, "addr": ""}, "leader_status": "Downgraded"}, 0, LeaderState.DOWNGRADING),
        ({"leader_peer": {"id": 0, "addr": ""}, "leader_state": "Staging"}, 0, LeaderState.STAGING),
        ({"leader_peer": {"id": 0, "addr": ""}, "leader_state": "Levitating"}, 0, LeaderState.UNKNOWN),
        ({"leader_peer": None}, None, LeaderState.NORMAL),
        ({}, None, LeaderState.NORMAL),
    ],
)
def test_routes(route: dict[str, object], leader: int | None, state: LeaderState) -> None:
    expected = Route(leader, state, 5, may_have_staged=False)
    assert list(read_table_route(physical({"id": REGION}, **route), 5)) == [(REGION, expected)]


@pytest.mark.parametrize("version", [1, 2, 40])
def test_a_route_that_was_ever_changed_may_have_been_staged(version: int) -> None:
    """A repartition that fails changes it twice, and then it is as it was but for its version."""
    value = json.loads(physical({"id": REGION}, leader_peer={"id": 1, "addr": ""})) | {"version": version}
    ((_, route),) = read_table_route(json.dumps(value), 5)
    assert route.may_have_staged


def test_followers_of_a_route() -> None:
    peers = [{"id": 7, "addr": "ip:3001"}, {"id": "3", "addr": ""}, {"id": 7, "addr": "old:3001"}]
    ((_, route),) = read_table_route(physical({"id": REGION}, leader_peer=None, follower_peers=peers), 5)
    assert route.followers == (3, 7)


def test_a_logical_table_has_no_regions_of_its_own() -> None:
    assert not list(read_table_route('{"type":"logical","physical_table_id":1024}', 5))


def test_addresses() -> None:
    assert read_address("3", '{"peer":{"id":3,"addr":"ip:3001"}}') == (3, "ip:3001")


def test_the_region_id_of_the_metric_engines_metadata_region() -> None:
    assert region_of(1024, 1 << 24 | 1) == 4398063288321


SENSELESS: dict[str, Callable[[], object]] = {
    "no JSON": lambda: read_marker("{"),
    "no object": lambda: read_marker("[]"),
    "a negative id": lambda: read_marker('{"pruned_entry_id":-1}'),
    "a float": lambda: read_marker('{"pruned_entry_id":7.0}'),
    "too large": lambda: read_marker('{"pruned_entry_id":18446744073709551616}'),
    "true": lambda: read_region_key("t/1", '{"checkpoint":{"entry_id":true}}', 1),
    "no region id": lambda: read_region_key("t/x", "", 1),
    "a region id with a sign": lambda: read_region_key("t/-1", "", 1),
    "no topic": lambda: read_region_key("1", "", 1),
    "an unknown provider": lambda: read_datanode_table(
        "0/1", '{"regions":[],"region_wal_options":{"1":"{\\"wal.provider\\":\\"pulsar\\"}"}}'
    ),
    "kafka without a topic": lambda: read_datanode_table(
        "0/1", '{"regions":[],"region_wal_options":{"1":"{\\"wal.provider\\":\\"kafka\\"}"}}'
    ),
    "WAL options of no kind": lambda: read_datanode_table("0/1", '{"regions":[],"region_wal_options":{"1":["kafka"]}}'),
    "an object of an unknown provider": lambda: read_datanode_table(
        "0/1", '{"regions":[],"region_wal_options":{"1":{"wal.provider":"pulsar"}}}'
    ),
    "a table without regions": lambda: read_datanode_table("0/1", "{}"),
    "a route without routes": lambda: list(read_table_route('{"version":0}', 1)),
    "a route without a version": lambda: list(read_table_route('{"region_routes":[]}', 1)),
    "a route of a version below 0": lambda: list(read_table_route('{"region_routes":[],"version":-1}', 1)),
}


@pytest.mark.parametrize("what", SENSELESS)
def test_what_makes_no_sense_is_never_read_as_nothing(what: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        SENSELESS[what]()
