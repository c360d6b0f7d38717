"""What every DataPlane and MaintenanceSwitch does: fakes, and adapters on the reference database's processes.

That of the contract speaks to a facade, over HTTP: before the fakes, and before the reference database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from seawall.adapters.data_planes import AllDataPlanes
from seawall.adapters.greptimedb.clients import key_store
from seawall.adapters.greptimedb.interfaces import GreptimeDB, GreptimeMaintenance
from seawall.adapters.greptimedb.metadata import GreptimeMetadata
from seawall.adapters.http_database.client import Client
from seawall.adapters.http_database.database import HTTPDataPlane, HTTPMaintenance, HTTPMetadataStore
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import (
    SYSTEM_TRUST,
    EtcdConnection,
    HTTPConnection,
    NotReached,
    PartRefused,
    PartUnavailable,
    contract_address,
)
from seawall.domain.dataplane.identity import NodeRole, weakest_version
from seawall.domain.dataplane.metadata import MarkerMove
from seawall.domain.dataplane.region_reports import region_reports
from seawall.domain.dataplane.reports import RegionReport, RegionRole
from seawall.domain.dataplane.wal_settings import DatanodeSettings
from seawall.ports import DataPlane, DataPlaneParts, DataPlanes, MaintenanceSwitch
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.waiting import wait_until
from tests.fakes.dataplane import FakeDataPlane, FakeDataPlanes, FakeMetadataStore, FakeRegion
from tests.support.contract_facade import Facade, Served, served, serving

pytestmark = pytest.mark.xdist_group("kafka")
NOBODY = "http://127.0.0.1:1"
WAL = Key("db", "wal")


class Database(Protocol):
    """Makes regions and writes rows."""

    def create_region(self) -> int: ...
    def insert(self, region_id: int) -> None: ...


class RefDbTables:
    """Tables of one region in the reference database."""

    def __init__(self, db: RefDbProcesses) -> None:
        self._db, self._tables = db, dict[int, str]()

    def create_region(self) -> int:
        name = f"t{len(self._tables)}"
        answer = self._db.sql(
            f"CREATE TABLE {name}(ts TIMESTAMP, n STRING, PRIMARY KEY(n), TIME INDEX (ts)) ENGINE=mito"
        )
        assert "code" not in answer, answer
        known = {region for (region,) in self._db.rows("SELECT region_id FROM information_schema.region_peers")}
        (region_id,) = known - self._tables.keys()
        self._tables[region_id] = name
        return int(region_id)

    def insert(self, region_id: int) -> None:
        answer = self._db.sql(f"INSERT INTO {self._tables[region_id]}(ts, n) VALUES (1, 'a')")  # noqa: S608 - a test
        assert answer["output"] == [{"affectedrows": 1}], answer


class FakeTables:
    """Regions of the fake."""

    def __init__(self, fake: FakeDataPlane) -> None:
        self._regions = fake.regions

    def create_region(self) -> int:
        region_id = (1024 + len(self._regions)) << 32 | 1
        self._regions[region_id] = FakeRegion(len(self._regions) % 3, flushed=0, last=0)
        return region_id

    def insert(self, region_id: int) -> None:
        region = self._regions[region_id]
        region.last, region.memtable_bytes = region.last + 1, region.memtable_bytes + 64


class World:
    """A data plane with three datanodes, and a way to fill it."""

    def __init__(self, data_plane: DataPlane, database: Database, *, is_greptimedb: bool = True) -> None:
        """One that serves the contract tells of no engines, no metasrv and no settings of single datanodes."""
        self.data_plane, self.database, self.is_greptimedb = data_plane, database, is_greptimedb

    def report(self, region_id: int) -> RegionReport | None:
        found = [each for each in region_reports(self.data_plane.reports()) if each.region_id == region_id]
        assert len(found) <= 1
        return found[0] if found else None

    def reported(self, region_id: int, *, memtable: bool) -> RegionReport:
        """Its leader's report, once it says whether there is anything in memory.

        Reports are a little late, and the first of a new region may say Follower: it has no lease yet.
        """

        def look() -> RegionReport | None:
            report = self.report(region_id)
            fits = report is not None and report.role is RegionRole.LEADER and (report.memtable_bytes > 0) is memtable
            return report if fits else None

        return wait_until(look, f"region {region_id} reports a memtable: {memtable}")


@pytest.fixture(scope="session")
def refdb_tables(refdb: RefDbProcesses) -> RefDbTables:
    return RefDbTables(refdb)


def refdb_adapter(refdb: RefDbProcesses) -> GreptimeDB:
    metasrv, frontend = f"http://{refdb.metasrv_address}/", f"http://{refdb.frontend_address}"
    return GreptimeDB(metasrv, frontend, datanode_http_port=refdb.datanode_port)


def before_refdb(refdb: RefDbProcesses) -> Facade:
    """The contract, served by a facade."""
    etcd = refdb.declared()["metadataStore"]["etcd"]
    store = GreptimeMetadata(key_store(EtcdConnection(tuple(etcd["endpoints"]), etcd["prefix"])))
    return Facade(refdb_adapter(refdb), store, GreptimeMaintenance(refdb.metasrv_url), "refdb")


def before_fake() -> tuple[Facade, FakeDataPlane]:
    fake, store = FakeDataPlane(), FakeMetadataStore()
    store.database = fake
    return Facade(fake, store, fake), fake


@pytest.fixture(
    params=[
        "fake",
        "http before fake",
        pytest.param("refdb", marks=pytest.mark.integration),
        pytest.param("http before refdb", marks=pytest.mark.integration),
    ]
)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == "fake":
        fake = FakeDataPlane()
        yield World(fake, FakeTables(fake))
    elif request.param == "refdb":
        yield World(refdb_adapter(request.getfixturevalue("refdb")), request.getfixturevalue("refdb_tables"))
    else:
        tables: Database
        if request.param == "http before fake":
            facade, fake = before_fake()
            tables = FakeTables(fake)
        else:
            facade, tables = before_refdb(request.getfixturevalue("refdb")), request.getfixturevalue("refdb_tables")
        with serving(served(facade)) as url:
            client = Client(HTTPConnection(url, database=facade.identity))
            yield World(HTTPDataPlane(client), tables, is_greptimedb=False)
            client.close()


def test_every_datanode_reports_once_and_just_now(world: World) -> None:
    reports = world.data_plane.reports()
    assert [report.datanode_id for report in reports] == [0, 1, 2]
    assert len({report.address for report in reports}) == 3
    (used,) = {report.answer_used for report in reports}
    assert 0 < used < 0.1, "it is a small part of what is read"
    assert all(abs(datetime.now(UTC) - report.reported_at) < timedelta(minutes=1) for report in reports)


def test_the_processes_are_listed_with_what_they_run(world: World) -> None:
    nodes, reports = world.data_plane.nodes(), world.data_plane.reports()
    listed = {(node.node_id, node.address) for node in nodes if node.role is NodeRole.DATANODE}
    assert listed == {(report.datanode_id, report.address) for report in reports}
    others = [node.role for node in nodes if node.role is not NodeRole.DATANODE]
    assert others == ([NodeRole.METASRV] if world.is_greptimedb else [])
    assert weakest_version(nodes, reports) == "1.1.0"


def test_the_database_says_what_it_runs_with(world: World) -> None:
    found = world.data_plane.wal_settings()
    assert (found.provider, found.auto_prune_seconds, found.logical_delete) == ("kafka", 0.0, False)
    assert not found.deletes
    assert found.topic_name_prefix is not None
    assert found.topic_name_prefix.startswith("wal")
    assert found.num_topics in {2, 3}
    assert (found.capabilities is None) is world.is_greptimedb


def test_each_datanode_says_what_it_runs_with_and_one_that_does_not_is_left_out(world: World) -> None:
    reports = world.data_plane.reports()
    expected = DatanodeSettings("kafka", 2**20, overwrite_entry_start_id=False)
    if not world.is_greptimedb:
        assert world.data_plane.datanode_settings(reports) == {}
        return
    assert world.data_plane.datanode_settings(reports) == dict.fromkeys((0, 1, 2), expected)
    absent = replace(reports[0], datanode_id=9, address="127.0.0.99:1")
    assert world.data_plane.datanode_settings([absent, reports[1]]) == {1: expected}
    assert world.data_plane.datanode_settings([]) == {}


def test_a_region_is_reported_by_its_leader_with_what_is_durable(world: World) -> None:
    region_id = world.database.create_region()
    report = world.reported(region_id, memtable=False)
    assert report.engine == ("mito" if world.is_greptimedb else "")
    assert report.metadata is None
    assert report.data.flushed_entry_id is not None
    holder = next(each for each in world.data_plane.reports() if each.datanode_id == report.datanode_id)
    assert report.node_epoch == holder.node_epoch


def test_a_flush_makes_what_was_written_durable(world: World) -> None:
    region_id = world.database.create_region()
    before = world.reported(region_id, memtable=False)
    world.database.insert(region_id)
    written = world.reported(region_id, memtable=True)
    assert written.data.flushed_entry_id == before.data.flushed_entry_id
    assert world.data_plane.flush_regions([region_id]) == {}
    flushed = world.reported(region_id, memtable=False)
    assert before.data.flushed_entry_id is not None
    assert flushed.data.flushed_entry_id is not None
    assert flushed.data.flushed_entry_id > before.data.flushed_entry_id


def test_a_flush_of_nothing_is_no_failure(world: World) -> None:
    region_id = world.database.create_region()
    assert world.data_plane.flush_regions([region_id, region_id]) == {}
    assert world.data_plane.flush_regions([]) == {}


def test_a_region_that_does_not_exist_is_a_failure_of_its_own(world: World) -> None:
    known, unknown, large = world.database.create_region(), 77 << 32 | 1, 2**64 - 1
    world.database.insert(known)
    failures = world.data_plane.flush_regions([unknown, known, large])
    assert set(failures) == {unknown, large}
    assert failures[unknown].final
    assert failures[unknown].message.startswith("4005: ")
    world.reported(known, memtable=False)


@dataclass(frozen=True)
class Switches:
    """Databases, the address of one, and one where there is none."""

    planes: DataPlanes
    address: str
    nobody: str = NOBODY
    silence: NotReached = NotReached.METASRV_UNREACHABLE
    database: str | None = None
    """Its identity, which whoever serves the contract is told."""

    def switch(self, address: str) -> MaintenanceSwitch:
        """The switch at this address."""
        return self.planes.maintenance_of(WAL, address, SYSTEM_TRUST, database=self.database)


@pytest.fixture(params=["fake", "http before fake", pytest.param("refdb", marks=pytest.mark.integration)])
def switches(request: pytest.FixtureRequest) -> Iterator[Switches]:
    if request.param == "fake":
        store = FakeMetadataStore()
        nobody = DataPlaneParts(FakeDataPlane(is_silent=True), store)
        yield Switches(FakeDataPlanes(DataPlaneParts(FakeDataPlane(), store), {NOBODY: nobody}), "http://metasrv:4000")
    elif request.param == "refdb":
        yield Switches(AllDataPlanes(), f"http://{request.getfixturevalue('refdb').metasrv_address}")
    else:
        facade, _ = before_fake()
        with serving(served(facade)) as url:
            silence = NotReached.DATABASE_UNREACHABLE
            yield Switches(AllDataPlanes(), contract_address(url), contract_address(NOBODY), silence, facade.identity)


def test_maintenance_is_a_switch(switches: Switches) -> None:
    switch = switches.switch(switches.address)
    assert switch.in_maintenance() is False
    for enabled in (True, True, False, False):
        switch.set_maintenance(enabled=enabled)
        assert switch.in_maintenance() is enabled


def test_maintenance_is_that_of_the_address_whichever_was_asked_for_before(switches: Switches) -> None:
    planes, address = switches.planes, switches.address
    switches.switch(address).set_maintenance(enabled=True)
    silent = switches.switch(switches.nobody)
    for ask in (silent.in_maintenance, lambda: silent.set_maintenance(enabled=False)):
        with pytest.raises(PartUnavailable) as silence:
            ask()
        assert silence.value.why is switches.silence
    again = switches.switch(address)
    assert again.in_maintenance() is True
    again.set_maintenance(enabled=False)
    planes.forget(WAL)
    assert switches.switch(address).in_maintenance() is False


@dataclass(frozen=True)
class Copied:
    """A database by the contract behind one URL, which is a copy of the one that is meant.

    Attributes:
        planes: where it is.
        url: its URL.
        database: the one that is meant.
        copy: its identity.
        plane, store: what it has.
    """

    planes: DataPlanes
    url: str
    database: str
    copy: str
    plane: FakeDataPlane
    store: FakeMetadataStore

    def parts(self, database: str) -> DataPlaneParts:
        """Its parts, where this one is meant."""
        return self.planes.connect(WAL, HTTPConnection(self.url, database=database))

    def changes(self, database: str) -> list[Callable[[], object]]:
        """All that may be asked for, where this one is meant."""
        parts, recorded = self.parts(database), self.store.snapshot()
        move = MarkerMove("wal_0", 7, recorded.topics["wal_0"], recorded.revision)
        switch = self.switch(database)
        return [
            lambda: parts.data_plane.flush_regions([7]),
            lambda: parts.metadata_store.claim("other", "me", None),
            lambda: parts.metadata_store.advance_markers([move], "wal", "me"),
            lambda: switch.set_maintenance(enabled=True),
        ]

    def switch(self, database: str) -> MaintenanceSwitch:
        """Its switch, where this one is meant."""
        return self.planes.maintenance_of(WAL, contract_address(self.url), SYSTEM_TRUST, database=database)

    def state(self) -> tuple[object, ...]:
        """All that changes by it."""
        marker = self.store.snapshot().topics["wal_0"].pruned_entry_id
        return self.plane.regions[7].flushed, self.store.head().claims, marker, self.plane.maintenance


@pytest.fixture(params=["fake", "http before fake"])
def copied(request: pytest.FixtureRequest) -> Iterator[Copied]:
    facade, fake = before_fake()
    store = facade.store
    assert isinstance(store, FakeMetadataStore)
    store.put_topic("wal_0", 2)
    store.put_region("wal_0", 7, leader=0, checkpoint=None)
    store.put_claim("wal", "me")
    fake.regions[7] = FakeRegion(datanode=0, flushed=3, last=9, memtable_bytes=64)
    if request.param == "fake":
        planes = FakeDataPlanes(DataPlaneParts(fake, store))
        yield Copied(planes, "http://queue:8080", FakeMetadataStore().store_id, store.store_id, fake, store)
    else:
        with serving(served(facade)) as url:
            yield Copied(AllDataPlanes(), url, "http/the-original", facade.identity, fake, store)


def test_what_is_asked_of_one_database_changes_no_other_behind_its_url(copied: Copied) -> None:
    before = copied.state()
    for change in copied.changes(copied.database):
        with pytest.raises(PartRefused, match="409") as refused:
            change()
        assert refused.value.why is NotReached.UNEXPECTED_ANSWER
        assert copied.state() == before
    with pytest.raises(PartRefused, match=r"the switch .*not"):
        copied.switch(copied.database).in_maintenance()
    for change in copied.changes(copied.copy):
        change()
    assert copied.state() == (9, {"wal": "me", "other": "me"}, 7, True)
    assert copied.switch(copied.copy).in_maintenance()


def changes_by(client: Client) -> list[Callable[[], object]]:
    return [
        lambda: HTTPDataPlane(client).flush_regions([7]),
        lambda: HTTPMetadataStore(client).claim("wal", "me", None),
        lambda: HTTPMaintenance(client).set_maintenance(enabled=True),
    ]


def test_nobody_is_asked_to_change_anything_while_it_is_not_known_who_is_meant() -> None:
    asked: list[str] = []
    facade, _ = before_fake()
    ask = served(facade)

    def recorded(method: str, path: str, body: bytes) -> Served:
        asked.append(f"{method} {path}")
        return ask(method, path, body)

    with serving(recorded) as url:
        for database in (None, "etcd/7/"):
            client = Client(HTTPConnection(url, database=database))
            for change in changes_by(client):
                with pytest.raises(PartRefused, match="is not known yet: nothing in it is changed"):
                    change()
            client.close()
    assert set(asked) == {"GET "}, "whether there is a flush"


OF_GREPTIMEDB = (NotReached.METASRV_UNREACHABLE, NotReached.FRONTEND_UNREACHABLE)
SILENT: dict[str, tuple[DataPlane, tuple[NotReached, NotReached]]] = {
    "fake": (FakeDataPlane(is_silent=True), OF_GREPTIMEDB),
    "nobody listens": (GreptimeDB(NOBODY, NOBODY), OF_GREPTIMEDB),
    "http": (HTTPDataPlane(Client(HTTPConnection(NOBODY))), (NotReached.DATABASE_UNREACHABLE,) * 2),
}


@pytest.mark.parametrize("part", SILENT)
def test_silence_says_who_is_silent(part: str) -> None:
    silent, (metasrv, frontend) = SILENT[part]
    asked: list[tuple[Callable[[], object], NotReached]] = [
        (silent.reports, metasrv),
        (silent.nodes, frontend),
        (silent.wal_settings, metasrv),
        (lambda: silent.flush_regions([1]), frontend),
    ]
    for ask, who in asked:
        with pytest.raises(PartUnavailable) as silence:
            ask()
        assert silence.value.why is who


@pytest.mark.integration
def test_a_frontend_that_is_taken_for_a_metasrv_is_told(refdb: RefDbProcesses) -> None:
    frontend, metasrv = f"http://{refdb.frontend_address}", f"http://{refdb.metasrv_address}"
    swapped = GreptimeDB(frontend, metasrv)
    with pytest.raises(
        PartRefused, match=r"the metasrv answers 404.*: correct dataPlane\.greptimedb\.metasrv"
    ) as reports:
        swapped.reports()
    assert reports.value.why is NotReached.UNEXPECTED_ANSWER
    with pytest.raises(PartRefused, match="the frontend answers 404"):
        swapped.flush_regions([1])
