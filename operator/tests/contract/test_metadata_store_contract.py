"""What every MetadataStore does: the fake, and the adapter on real etcd, PostgreSQL and MySQL, with and without TLS."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

import pytest

from seawall.adapters.greptimedb.etcd import Etcd
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.adapters.greptimedb.mysql import MySQL
from seawall.adapters.greptimedb.postgresql import PostgreSQL
from seawall.adapters.http_database.client import Client
from seawall.adapters.http_database.database import HTTPMetadataStore
from seawall.domain.dataplane.connection import (
    ClientTLS,
    EtcdConnection,
    HTTPConnection,
    MySQLConnection,
    NotReached,
    PartRefused,
    PartUnavailable,
    PostgresConnection,
    User,
)
from seawall.domain.dataplane.mapped_regions import map_regions
from seawall.domain.dataplane.metadata import (
    LeaderState,
    MarkerMove,
    MetadataSnapshot,
    RegionKey,
    Route,
    TopicMarker,
)
from seawall.ports import MetadataStore
from seawall_e2e.loopback.etcd import EtcdProcess
from seawall_e2e.loopback.mysql import MysqlProcess
from seawall_e2e.loopback.postgresql import PostgresProcess
from seawall_e2e.loopback.sql_server import SqlServer
from tests.domain.plain_regions import TopicRegions, topics_of
from tests.fakes.dataplane import FakeDataPlane, FakeMetadataStore
from tests.support.contract_facade import Facade, served, serving

REGION = 4398046511105  # table 1024, number 1
OWNER = "a5e1c0de-0000-4000-8000-000000000001"
LARGE = (2**32 - 1) << 32 | 7  # beyond 2^63, and beyond what a float can hold
pytestmark = pytest.mark.xdist_group("etcd")


class Database(Protocol):
    """Writes metadata as the database would."""

    def put_topic(self, topic: str, pruned_entry_id: int | None) -> None: ...
    def put_region(self, topic: str, region_id: int, leader: int, checkpoint: int | None) -> None: ...
    def bury_region(self, topic: str, region_id: int) -> None: ...
    def put_switch(self, *, enabled: bool) -> None: ...
    def put_table(self, table_id: int, schema: str, name: str) -> None: ...
    def drop_table(self, table_id: int) -> None: ...


class GreptimeKeys:
    """A database that keeps its metadata in GreptimeDB's forms."""

    def __init__(self, server: EtcdProcess | SqlServer, prefix: str) -> None:
        self._server, self._prefix = server, prefix
        self.tables: dict[int, str] = {}

    def put_topic(self, topic: str, pruned_entry_id: int | None) -> None:
        self._put(
            f"__topic_name/kafka/{topic}", "" if pruned_entry_id is None else {"pruned_entry_id": pruned_entry_id}
        )

    def put_region(self, topic: str, region_id: int, leader: int, checkpoint: int | None) -> None:
        for key, value in self._keys(topic, region_id, leader, checkpoint).items():
            self._put(key, value)
        self._put(f"__node_address/0/{leader}", {"peer": {"id": leader, "addr": f"datanode-{leader}:4001"}})

    def bury_region(self, topic: str, region_id: int) -> None:
        for key, value in self._keys(topic, region_id, 0, None).items():
            self._put(f"__tombstone/{key}", value)
            self._server.delete(self._prefix + key)

    def put_switch(self, *, enabled: bool) -> None:
        if enabled:
            self._put("__switches/maintenance", "")
        else:
            self._server.delete(self._prefix + "__switches/maintenance")

    def put_table(self, table_id: int, schema: str, name: str) -> None:
        self.tables[table_id] = f"__table_name/greptime/{schema}/{name}"
        self._put(self.tables[table_id], {"table_id": table_id})

    def drop_table(self, table_id: int) -> None:
        key = self.tables.pop(table_id)
        self._put(f"__tombstone/{key}", {"table_id": table_id})
        self._server.delete(self._prefix + key)

    def _keys(self, topic: str, region_id: int, leader: int, checkpoint: int | None) -> dict[str, object]:
        table, number = divmod(region_id, 2**32)
        options = {str(number): json.dumps({"wal.provider": "kafka", "wal.kafka.topic": topic})}
        route = {"region": {"id": region_id, "name": ""}, "leader_peer": {"id": leader, "addr": "a"}}
        return {
            f"__topic_region/{topic}/{region_id}": {"checkpoint": {"entry_id": checkpoint}} if checkpoint else "",
            f"__dn_table/{leader}/{table}": {"table_id": table, "regions": [number], "region_wal_options": options},
            f"__table_route/{table}": {"type": "physical", "region_routes": [route], "version": 0},
        }

    def _put(self, key: str, value: object) -> None:
        self._server.put(self._prefix + key, value if isinstance(value, str) else json.dumps(value))


class World:
    """A store, the database that writes into it, and a topic that no other test has."""

    def __init__(self, store: MetadataStore, database: Database, *, numbers_writes: bool = True) -> None:
        """Where writes have no numbers, all that a view finds first has that of the view."""
        self.store, self.database, self.numbers_writes = store, database, numbers_writes
        assert store.claim("wal", OWNER, store.head().claims.get("wal"))
        self.topic = f"wal_{uuid.uuid4().hex[:8]}"

    def make_topic(self, pruned_entry_id: int | None = 0) -> MetadataSnapshot:
        """A topic with a region."""
        self.database.put_topic(self.topic, pruned_entry_id)
        self.database.put_region(self.topic, REGION, 0, None)
        return self.store.snapshot()

    def advance(self, to: int, recorded: MetadataSnapshot) -> str | None:
        """Moves the topic's marker, or says why it did not move."""
        move = MarkerMove(self.topic, to, recorded.topics[self.topic], recorded.revision)
        return self.store.advance_markers([move], "wal", OWNER).get(self.topic)

    def marker(self) -> TopicMarker:
        return self.store.snapshot().topics[self.topic]


@pytest.fixture(
    params=[
        "fake",
        "http before fake",
        pytest.param("http before etcd", marks=pytest.mark.integration),
        pytest.param("etcd", marks=pytest.mark.integration),
        pytest.param("secure etcd", marks=pytest.mark.integration),
        pytest.param("postgresql", marks=pytest.mark.integration),
        pytest.param("secure postgresql", marks=pytest.mark.integration),
        pytest.param("mysql", marks=pytest.mark.integration),
        pytest.param("secure mysql", marks=pytest.mark.integration),
    ]
)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if not request.param.startswith("http"):
        yield direct(request, request.param)
        return
    behind = direct(request, request.param.removeprefix("http before "))
    switch = FakeDataPlane()
    facade = Facade(switch, behind.store, switch)
    with serving(served(facade)) as url:
        client = Client(HTTPConnection(url, database=facade.identity))
        yield World(HTTPMetadataStore(client), behind.database)
        client.close()


def direct(request: pytest.FixtureRequest, name: str) -> World:
    """Without HTTP before it."""
    if name == "fake":
        fake = FakeMetadataStore(datanodes=0)
        return World(fake, fake)
    if "postgresql" in name:
        server: PostgresProcess = request.getfixturevalue(name.replace(" ", "_"))
        connection = replace(server.connection, prefix=uuid.uuid4().hex[:8])
        return World(
            GreptimeMetadata(PostgreSQL(connection), markers_at_once=3), GreptimeKeys(server, connection.prefix)
        )
    if "mysql" in name:
        mysql: MysqlProcess = request.getfixturevalue(name.replace(" ", "_"))
        access = replace(mysql.connection, prefix=uuid.uuid4().hex[:8])
        keys = GreptimeKeys(mysql, access.prefix)
        return World(GreptimeMetadata(MySQL(access), markers_at_once=3), keys, numbers_writes=False)
    secure = name == "secure etcd"
    etcd: EtcdProcess = request.getfixturevalue("secure_etcd" if secure else "etcd")
    prefix = f"{etcd.access.prefix if secure else ''}{uuid.uuid4().hex[:8]}"
    connection_of = connection_to(etcd, prefix) if secure else EtcdConnection((etcd.url,), prefix)
    return World(GreptimeMetadata(Etcd(connection_of, page=2), markers_at_once=3), GreptimeKeys(etcd, prefix))


def connection_to(etcd: EtcdProcess, prefix: str) -> EtcdConnection:
    access = etcd.access
    tls = ClientTLS(access.ca_pem, access.client_cert_pem, access.client_key_pem)
    return EtcdConnection((etcd.url,), prefix, tls, User(access.username, access.password))


def test_an_empty_store_is_an_empty_snapshot(world: World) -> None:
    found = world.store.snapshot()
    assert found.revision >= 1
    assert not found.topics
    assert not found.region_keys
    assert not topics_of(map_regions(found))


def test_a_snapshot_has_what_the_database_wrote(world: World) -> None:
    world.database.put_topic(world.topic, 12)
    world.database.put_region(world.topic, REGION, 2, 10)
    found = world.store.snapshot()
    assert found.topics[world.topic].pruned_entry_id == 12
    key = found.region_keys[world.topic, REGION]
    assert (key.checkpoint_entry_id, key.metadata_entry_id) == (10, None)
    assert found.wal_topics == {REGION: frozenset({world.topic})}
    at = found.routes[REGION].mod_revision
    assert found.routes == {REGION: Route(2, LeaderState.NORMAL, at, may_have_staged=False)}
    assert found.datanodes == {2: "datanode-2:4001"}
    assert topics_of(map_regions(found)) == {world.topic: TopicRegions(frozenset({REGION}))}
    assert 0 < found.topics[world.topic].mod_revision <= key.mod_revision <= found.revision
    assert world.numbers_writes == (found.topics[world.topic].mod_revision < key.mod_revision)


def test_region_ids_beyond_63_bits_survive(world: World) -> None:
    world.database.put_region(world.topic, LARGE, 0, None)
    found = world.store.snapshot()
    assert found.region_keys == {
        (world.topic, LARGE): RegionKey(None, None, found.region_keys[world.topic, LARGE].mod_revision)
    }
    assert set(found.wal_topics) == set(found.routes) == {LARGE}


def test_a_topic_without_a_marker_has_none_and_a_marker_of_0_is_0(world: World) -> None:
    world.database.put_topic(world.topic, None)
    world.database.put_topic(f"{world.topic}_0", 0)
    found = world.store.snapshot().topics
    assert found[world.topic].pruned_entry_id is None
    assert found[f"{world.topic}_0"].pruned_entry_id == 0


def test_dropped_regions_are_found_in_tombstones(world: World) -> None:
    world.make_topic()
    world.database.bury_region(world.topic, REGION)
    found = world.store.snapshot()
    assert not found.region_keys
    assert not found.wal_topics
    assert found.tombstoned_topics == {REGION: frozenset({world.topic})}
    regions = frozenset({REGION})
    assert topics_of(map_regions(found))[world.topic] == TopicRegions(regions, tombstoned=regions)


def test_a_large_snapshot_is_whole(world: World) -> None:
    topics = [f"{world.topic}_{number}" for number in range(7)]
    for number, topic in enumerate(topics):
        world.database.put_topic(topic, number)
        world.database.put_region(topic, REGION + (number << 32), number, None)
    found = world.store.snapshot()
    assert sorted(found.topics) == sorted(topic for topic, _ in found.region_keys) == topics
    assert len(found.routes) == len(found.datanodes) == 7


def test_a_marker_rises(world: World) -> None:
    assert world.advance(7, world.make_topic()) is None
    assert world.marker().pruned_entry_id == 7
    assert world.advance(9, world.store.snapshot()) is None
    assert world.marker().pruned_entry_id == 9


def test_a_missing_marker_is_set(world: World) -> None:
    world.advance(7, world.make_topic(pruned_entry_id=None))
    assert world.marker().pruned_entry_id == 7


@pytest.mark.parametrize("to", [-1, 0, 6, 7])
def test_a_marker_never_goes_down_and_never_to_0(world: World, to: int) -> None:
    recorded = world.make_topic(pruned_entry_id=7)
    with pytest.raises(ValueError, match="only rises"):
        world.advance(to, recorded)
    assert world.marker() == recorded.topics[world.topic]


def test_a_marker_that_somebody_else_moved_stays(world: World) -> None:
    recorded = world.make_topic()
    world.database.put_topic(world.topic, 5)
    assert f"the pruned marker of {world.topic} is not the one" in (world.advance(7, recorded) or "")
    assert world.marker().pruned_entry_id == 5


def test_a_region_born_since_the_snapshot_stops_the_marker(world: World) -> None:
    recorded = world.make_topic()
    world.database.put_region(world.topic, REGION + 1, 1, None)
    assert f"region of {world.topic} changed" in (world.advance(7, recorded) or "")
    assert world.marker().pruned_entry_id == 0


def test_a_region_that_changed_since_the_snapshot_stops_the_marker(world: World) -> None:
    recorded = world.make_topic()
    world.database.put_region(world.topic, REGION, 0, 5)
    assert world.advance(7, recorded) is not None
    assert world.marker().pruned_entry_id == 0


def test_regions_of_other_topics_do_not(world: World) -> None:
    recorded = world.make_topic()
    world.database.put_region(f"{world.topic}_other", REGION + (1 << 32), 1, None)
    world.advance(7, recorded)
    assert world.marker().pruned_entry_id == 7


def test_the_same_advance_twice_is_a_conflict_and_moves_nothing(world: World) -> None:
    """So a first one whose answer was lost may be tried again."""
    recorded = world.make_topic()
    world.advance(7, recorded)
    assert world.advance(7, recorded) is not None
    assert world.marker().pruned_entry_id == 7


def test_a_topic_that_vanished_has_no_marker_to_move(world: World) -> None:
    recorded = world.make_topic()
    move = MarkerMove("gone", 7, recorded.topics[world.topic], recorded.revision)
    assert list(world.store.advance_markers([move], "wal", OWNER)) == ["gone"]
    assert "gone" not in world.store.snapshot().topics


def test_of_many_markers_only_those_stay_whose_topics_changed(world: World) -> None:
    """More than one transaction holds, and the changed ones among them."""
    topics = [f"{world.topic}_{number}" for number in range(7)]
    for number, topic in enumerate(topics):
        world.database.put_topic(topic, 0)
        world.database.put_region(topic, REGION + (number << 32), 0, None)
    recorded = world.store.snapshot()
    world.database.put_topic(topics[3], 5)
    world.database.put_region(topics[5], REGION + 1, 0, None)
    moves = [MarkerMove(topic, 7, recorded.topics[topic], recorded.revision) for topic in topics]
    assert sorted(world.store.advance_markers(moves, "wal", OWNER)) == sorted([topics[3], topics[5]])
    now = world.store.snapshot().topics
    left = {topic: now[topic].pruned_entry_id for topic in topics if now[topic].pruned_entry_id != 7}
    assert left == {topics[3]: 5, topics[5]: 0}


def test_a_store_has_an_id_of_its_own_that_stays(world: World) -> None:
    before = world.store.head()
    world.make_topic()
    after, snapshot = world.store.head(), world.store.snapshot()
    assert before.store_id == after.store_id == snapshot.store_id
    assert before.revision < after.revision <= snapshot.revision
    assert before.claims == after.claims == snapshot.claims == {"wal": OWNER}


def test_maintenance_is_what_the_database_wrote(world: World) -> None:
    before = world.store.maintenance()
    world.database.put_switch(enabled=True)
    now = world.store.maintenance()
    world.database.put_switch(enabled=False)
    assert [before.is_on, now.is_on, world.store.maintenance().is_on] == [False, True, False]
    assert {before.store_id, now.store_id} == {world.store.head().store_id}


def test_tables_have_their_names_and_the_store_says_whose_it_is(world: World) -> None:
    if isinstance(world.store, HTTPMetadataStore):
        with pytest.raises(PartRefused, match="no tables"):
            world.store.table_names()
        return
    assert not world.store.table_names().names
    for table, schema, name in ((1024, "public", "cpu"), (1025, "private", "cpu"), (1026, "public", "a/b.c ü")):
        world.database.put_table(table, schema, name)
    found, head = world.store.table_names(), world.store.head()
    assert found.names == {1024: "public.cpu", 1025: "private.cpu", 1026: "public.a/b.c ü"}
    assert (found.store_id, found.claims) == (head.store_id, head.claims)
    world.database.drop_table(1025)
    assert world.store.table_names().names.keys() == {1024, 1026}


def test_a_claim_that_is_not_as_it_was_read_is_not_taken(world: World) -> None:
    assert not world.store.claim("wal", "another", None)
    assert not world.store.claim("wal", "another", "nobody")
    assert world.store.head().claims["wal"] == OWNER
    assert world.store.claim("wal", "another", OWNER)
    assert world.store.snapshot().claims["wal"] == "another"
    assert world.store.claim("other", OWNER, None), "topics of another prefix are claimed by themselves"


def test_who_has_not_claimed_the_store_moves_no_marker(world: World) -> None:
    recorded = world.make_topic()
    assert world.store.claim("wal", "another", OWNER)
    assert "the claim" in (world.advance(7, recorded) or "")
    assert world.marker().pruned_entry_id == 0


KEY_STORES = [pytest.param(name, marks=pytest.mark.integration) for name in ("etcd", "postgresql", "mysql")]


def right_before_the_first_write(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Between the look at what may succeed and the write, which compares it again."""
    acts = [act]

    def late(write: Callable[..., bool]) -> Callable[..., bool]:
        def write_late(*arguments: object) -> bool:
            if acts:
                acts.pop()()
            return write(*arguments)

        return write_late

    for keys in (Etcd, PostgreSQL, MySQL):
        monkeypatch.setattr(keys, "write", late(keys.write))


@pytest.mark.parametrize("world", KEY_STORES, indirect=True)
def test_a_region_born_right_before_the_write_stops_the_marker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = world.make_topic()
    right_before_the_first_write(monkeypatch, lambda: world.database.put_region(world.topic, REGION + 1, 1, None))
    assert f"region of {world.topic} changed" in (world.advance(7, recorded) or "")
    assert world.marker().pruned_entry_id == 0


@pytest.mark.parametrize("world", KEY_STORES, indirect=True)
def test_a_claim_taken_right_before_the_write_stops_the_marker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = world.make_topic()
    right_before_the_first_write(monkeypatch, lambda: world.store.claim("wal", "another", OWNER))
    assert "or the claim did" in (world.advance(7, recorded) or "")
    assert world.marker().pruned_entry_id == 0


def test_nothing_to_move_asks_nobody(world: World) -> None:
    assert world.store.advance_markers([], "wal", OWNER) == {}


def test_silence_is_told(silent_store: MetadataStore) -> None:
    with pytest.raises(PartUnavailable) as silence:
        silent_store.snapshot()
    assert silence.value.why in {NotReached.METADATA_STORE_UNREACHABLE, NotReached.DATABASE_UNREACHABLE}
    with pytest.raises(PartUnavailable):
        silent_store.advance_markers([MarkerMove("t", 7, TopicMarker(0, 1), 1)], "wal", OWNER)
    with pytest.raises(PartUnavailable):
        silent_store.head()
    with pytest.raises(PartUnavailable):
        silent_store.claim("wal", OWNER, None)


@pytest.fixture(params=["fake", "no etcd", "no postgresql", "no mysql", "no http"])
def silent_store(request: pytest.FixtureRequest) -> MetadataStore:
    if request.param == "fake":
        fake = FakeMetadataStore()
        fake.is_silent = True
        return fake
    if request.param == "no http":
        return HTTPMetadataStore(Client(HTTPConnection("http://127.0.0.1:1", database="http/nobody")))
    hosts = (("127.0.0.1", 1), ("localhost", 1))
    if request.param == "no mysql":
        return GreptimeMetadata(MySQL(MySQLConnection(hosts, "metadata", User("nobody", ""))))
    if request.param == "no postgresql":
        return GreptimeMetadata(PostgreSQL(PostgresConnection(hosts, "metadata", User("nobody", ""))))
    return GreptimeMetadata(Etcd(EtcdConnection(("http://127.0.0.1:1", "http://localhost:1"))))
