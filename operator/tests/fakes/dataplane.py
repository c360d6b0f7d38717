"""A database and its metadata store in memory.

They pass the contracts of DataPlane, MaintenanceSwitch and MetadataStore.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np

from seawall.api.meta import Key
from seawall.domain.dataplane.connection import (
    ClientTLS,
    DatabaseConnection,
    EtcdConnection,
    HTTPConnection,
    NotReached,
    PartRefused,
    PartUnavailable,
    User,
    url_of_contract,
)
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.identity import Node, NodeRole
from seawall.domain.dataplane.metadata import (
    LeaderState,
    MarkerMove,
    MetadataSnapshot,
    RegionKey,
    Route,
    StoredMaintenance,
    StoreHead,
    TableNames,
    TopicMarker,
)
from seawall.domain.dataplane.metadata_tables import RegionKeys, RegionTopics, Routes
from seawall.domain.dataplane.region_reports import RegionReports, microseconds
from seawall.domain.dataplane.reports import DatanodeReport, InnerReport, RegionReport, RegionRole
from seawall.domain.dataplane.wal_settings import DatanodeSettings, WALSettings
from seawall.ports import DataPlane, DataPlaneParts, MaintenanceSwitch, MetadataStore


def settings(auto_prune: str = "Disabled", prefix: str = "wal", topics: int = 3) -> WALSettings:
    """What a metasrv of 1.1 runs with, where `autoPrune` declares this."""
    seconds = 0.0 if auto_prune == "Disabled" else 1_800.0
    return WALSettings("kafka", prefix, topics, seconds, logical_delete=auto_prune == "Logical")


Said = tuple[RegionRole, int, int, int | None, int | None]
"""What a datanode says of a region: its role, the region, bytes in memory, and the flushed and the idle entry id."""
_NO_REPORTS = RegionReports.of(())


@dataclass
class FakeRegion:
    """A region: its datanode, what is durable and what is in memory."""

    datanode: int
    flushed: int
    last: int
    memtable_bytes: int = 0


@dataclass
class FakeDataPlane:
    """A database whose datanodes report whenever they are asked.

    Attributes:
        is_silent: nothing answers.
        stopped: datanodes that report no more; their last reports stay.
        busy: regions that do not flush now.
        now: its clock.
        epochs: by datanode the epoch of its process; 1 where a test says nothing.
        version: what runs.
        wal: what its metasrv runs with; None: it does not say.
        datanode_wal: by datanode, what it runs with, if it says so.
        versions: by datanode, where it runs something else.
        domain: what follows the name of a host.
        newest_ids: by topic the greatest entry id that datanodes know of.
        idle: by region the last entry of its topic when it was seen idle.
        followers: by region and datanode, how far a follower needs nothing of the log.
        former: by region and datanode, what a former leader had flushed, who goes on to say that it leads.
        unlogged: regions whose rows skip the log: a flush moves no id, and more is written meanwhile.
        unopened: regions that their datanode has not opened yet: it does not report them.
        silent_followers: nobody reports what followers have.
        answer_used: of the longest answer that is read, how much its reports take.
        database: which database its answers name; None: none, as those of GreptimeDB.
    """

    datanodes: int = 3
    regions: dict[int, FakeRegion] = field(default_factory=dict)
    newest_ids: dict[str, int] = field(default_factory=dict)
    idle: dict[int, int] = field(default_factory=dict)
    followers: dict[tuple[int, int], int] = field(default_factory=dict)
    former: dict[tuple[int, int], int] = field(default_factory=dict)
    unlogged: set[int] = field(default_factory=set)
    unopened: set[int] = field(default_factory=set)
    silent_followers: bool = False
    answer_used: float = 0.01
    is_silent: bool = False
    maintenance: bool = False
    stopped: set[int] = field(default_factory=set)
    busy: set[int] = field(default_factory=set)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    epochs: dict[int, int] = field(default_factory=dict)
    version: str = "1.1.0"
    wal: WALSettings | None = field(default_factory=settings)
    datanode_wal: dict[int, DatanodeSettings] = field(
        default_factory=lambda: {node: DatanodeSettings("kafka", 2**20) for node in range(3)}
    )
    versions: dict[int, str] = field(default_factory=dict)
    unlisted: set[int] = field(default_factory=set)
    domain: str = ""
    database: str | None = None
    _last: dict[int, DatanodeReport] = field(default_factory=dict)
    _built: dict[int, tuple[tuple[int, tuple[Said, ...]], RegionReports]] = field(default_factory=dict)

    def reports(self) -> Sequence[DatanodeReport]:
        """The newest report of every datanode."""
        self._answer(NotReached.METASRV_UNREACHABLE)
        now = self.now()
        for node in range(self.datanodes):
            if node not in self.stopped:
                epoch = self.epochs.get(node, 1)
                regions = self._columns(node, epoch, now)
                newest = dict(self.newest_ids)
                self._last[node] = DatanodeReport(
                    node, self.address(node), epoch, now, regions, newest, self.answer_used, self.database
                )
        return tuple(self._last[node] for node in sorted(self._last))

    def nodes(self) -> Sequence[Node]:
        """The datanodes and one metasrv, all of one version but for those that a test names."""
        self._answer(NotReached.FRONTEND_UNREACHABLE)
        datanodes = [
            Node(NodeRole.DATANODE, node, self.address(node), self.versions.get(node, self.version), self.database)
            for node in range(self.datanodes)
            if node not in self.unlisted
        ]
        return (*datanodes, Node(NodeRole.METASRV, 0, "metasrv:3002", self.version, self.database))

    def wal_settings(self) -> WALSettings:
        """What its metasrv runs with."""
        self._answer(NotReached.METASRV_UNREACHABLE)
        if self.wal is None:
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, "the metasrv answers 404")
        return replace(self.wal, database=self.database)

    def datanode_settings(self, reports: Sequence[DatanodeReport]) -> Mapping[int, DatanodeSettings]:
        """What those datanodes run with that a test names; all others do not say."""
        return {
            report.datanode_id: self.datanode_wal[report.datanode_id]
            for report in reports
            if report.datanode_id in self.datanode_wal and report.datanode_id not in self.stopped
        }

    def address(self, node: int) -> str:
        """Where a datanode is."""
        return f"datanode-{node}{self.domain}:4001"

    def flush_regions(self, region_ids: Sequence[int]) -> Mapping[int, FlushFailure]:
        """Makes what was written durable."""
        self._answer(NotReached.FRONTEND_UNREACHABLE)
        return {region_id: failure for region_id in region_ids if (failure := self._flush(region_id))}

    def set_maintenance(self, *, enabled: bool) -> None:
        """Turns the switch."""
        self._answer(NotReached.METASRV_UNREACHABLE)
        self.maintenance = enabled

    def in_maintenance(self) -> bool:
        """The switch."""
        self._answer(NotReached.METASRV_UNREACHABLE)
        return self.maintenance

    def _flush(self, region_id: int) -> FlushFailure | None:
        region = self.regions.get(region_id)
        if region is None:
            return FlushFailure(f"4005: no region {region_id}", final=True)
        if region_id in self.busy | self.unopened or region.datanode in self.stopped:
            return FlushFailure(f"1003: region {region_id} is busy", final=False)
        if region_id in self.unlogged:
            region.memtable_bytes = min(region.memtable_bytes, 1)
        elif region.memtable_bytes:
            region.flushed, region.memtable_bytes = region.last, 0
        return None

    def _columns(self, node: int, epoch: int, now: datetime) -> RegionReports:
        """What it reports; where that is what it was, only its time is another one."""
        said = *self._led(node), *self._beside(node)
        before, columns = self._built.get(node, (None, _NO_REPORTS))
        if before == (epoch, said):
            return replace(columns, reported_at=np.full(len(columns), microseconds(now), np.int64))
        made = RegionReports.of(
            RegionReport(region_id, node, epoch, role, now, "mito", memtable_bytes, InnerReport(flushed, idle))
            for role, region_id, memtable_bytes, flushed, idle in said
        )
        self._built[node] = (epoch, said), made
        return made

    def _led(self, node: int) -> Iterator[Said]:
        for region_id, region in self.regions.items():
            if region.datanode == node and region_id not in self.unopened:
                yield RegionRole.LEADER, region_id, region.memtable_bytes, region.flushed, self.idle.get(region_id)

    def _beside(self, node: int) -> Iterator[Said]:
        """What it says of regions that it does not lead."""
        followers = {} if self.silent_followers else self.followers
        for role, found in ((RegionRole.FOLLOWER, followers), (RegionRole.LEADER, self.former)):
            for (region_id, datanode), flushed in found.items():
                if datanode == node:
                    yield role, region_id, 0, flushed, None

    def _answer(self, why: NotReached) -> None:
        if self.is_silent:
            raise PartUnavailable(why, "it does not answer")


def metasrv_of(connection: DatabaseConnection) -> str:
    """The URL of its metasrv, or where any other database is."""
    return connection.url if isinstance(connection, HTTPConnection) else connection.metasrv


def etcd_of(connection: DatabaseConnection) -> str:
    """The first endpoint of its etcd; any other database is its own store."""
    if isinstance(connection, HTTPConnection):
        return connection.url
    assert isinstance(connection.store, EtcdConnection)
    return connection.store.endpoints[0]


FIRST_STORE = 7_000_001
_STORES = itertools.count(FIRST_STORE)


class FakeMetadataStore:
    """Metadata with revisions: every change makes the next one.

    Each one is another store, with an id of its own.

    Attributes:
        is_silent: nothing answers.
        domain: what follows the name of a datanode's host.
        database: the database whose metadata these are; its switch of maintenance is kept here.
        switch: the same without a database.
        tables: by table id its name.
    """

    def __init__(self, domain: str = "", datanodes: int = 3) -> None:
        addresses = {node: f"datanode-{node}{domain}:4001" for node in range(datanodes)}
        store_id = f"etcd/{next(_STORES)}/"
        self._now = MetadataSnapshot(1, {}, {}, {}, {}, frozenset(), {}, addresses, store_id)
        self._shown = self._now, self._now
        self.is_silent, self.domain = False, domain
        self.database: FakeDataPlane | None = None
        self.switch = False
        self.tables: dict[int, str] = {}

    @property
    def store_id(self) -> str:
        """Which store this is, whether it answers or not."""
        return self._now.store_id

    def copied(self) -> FakeMetadataStore:
        """Another installation that begins as a copy of this one."""
        made = FakeMetadataStore(self.domain)
        made._now = replace(self._now, store_id=made.store_id)
        return made

    def maintenance(self) -> StoredMaintenance:
        """Which store this is, and whether its database is in maintenance."""
        self._answer()
        is_on = self.switch if self.database is None else self.database.maintenance
        return StoredMaintenance(self._now.store_id, is_on)

    def put_switch(self, *, enabled: bool) -> None:
        """A database turns its maintenance on or off."""
        self._next()
        self.switch = enabled

    def head(self) -> StoreHead:
        """Which store this is, its newest revision, and who has claimed what."""
        self._answer()
        return StoreHead(self._now.store_id, self._now.revision, self._now.claims)

    def begin_anew(self) -> bool:
        """Nothing is remembered."""
        return False

    def table_names(self) -> TableNames:
        """The names of all tables."""
        self._answer()
        return TableNames(self._now.store_id, self._now.claims, dict(self.tables))

    def put_table(self, table_id: int, schema: str, name: str) -> None:
        """A table is made, or gets another name."""
        self._next()
        self.tables[table_id] = f"{schema}.{name}"

    def drop_table(self, table_id: int) -> None:
        """A table is gone."""
        self._next()
        del self.tables[table_id]

    def claim(self, prefix: str, owner: str, before: str | None) -> bool:
        """Writes the claim, if it is as it was read."""
        self._answer()
        if self._now.claims.get(prefix) != before:
            return False
        self.put_claim(prefix, owner)
        return True

    def put_datanode(self, node: int) -> None:
        """A datanode is met for the first time: its address is there before its first report."""
        self._next()
        self._now = replace(self._now, datanodes={**self._now.datanodes, node: f"datanode-{node}{self.domain}:4001"})

    def put_unlogged(self, *regions: int) -> None:
        """Somebody alters the tables of these regions: what is written from now on skips the log."""
        self._next()
        self._now = replace(self._now, unlogged=frozenset(regions))

    def put_claim(self, prefix: str, owner: str | None) -> None:
        """Somebody writes a claim, or removes it."""
        self._next()
        others = {name: found for name, found in self._now.claims.items() if name != prefix}
        self._now = replace(self._now, claims=others if owner is None else {**others, prefix: owner})

    def snapshot(self) -> MetadataSnapshot:
        """Everything as it is now, in columns, as the adapters give it."""
        self._answer()
        if self._shown[0] is not self._now:
            columns = replace(
                self._now,
                region_keys=RegionKeys.of(self._now.region_keys),
                wal_topics=RegionTopics.of(self._now.wal_topics),
                tombstoned_topics=RegionTopics.of(self._now.tombstoned_topics),
                routes=Routes.of(self._now.routes),
            )
            self._shown = self._now, columns
        return self._shown[1]

    def advance_markers(self, moves: Sequence[MarkerMove], prefix: str, owner: str) -> Mapping[str, str]:
        """Moves markers up, if nothing happened since they and their topics' regions were read."""
        self._answer()
        changed = {}
        for move in moves:
            held = self._now.topics.get(move.topic)
            keys = [key for (topic, _), key in self._now.region_keys.items() if topic == move.topic]
            if held is None or held.mod_revision != move.recorded.mod_revision:
                changed[move.topic] = f"the pruned marker of {move.topic} is not the one that was read"
            elif self._now.claims.get(prefix) != owner or any(key.mod_revision > move.revision for key in keys):
                changed[move.topic] = (
                    f"the pruned marker or a region of {move.topic} changed since they were read, or the claim did"
                )
            else:
                self.put_topic(move.topic, move.marker)
        return changed

    def put_topic(self, topic: str, pruned_entry_id: int | None) -> None:
        """Writes a topic's marker."""
        marker = TopicMarker(pruned_entry_id, self._next())
        self._now = replace(self._now, topics={**self._now.topics, topic: marker})

    def put_region(self, topic: str, region_id: int, leader: int, checkpoint: int | None) -> None:
        """Writes all keys of a region."""
        at = self._next()
        key, route = RegionKey(checkpoint, None, at), Route(leader, LeaderState.NORMAL, at, may_have_staged=False)
        self._now = replace(
            self._now,
            region_keys={**self._now.region_keys, (topic, region_id): key},
            wal_topics={**self._now.wal_topics, region_id: frozenset({topic})},
            routes={**self._now.routes, region_id: route},
            datanodes={**self._now.datanodes, leader: f"datanode-{leader}{self.domain}:4001"},
        )

    def put_checkpoint(self, topic: str, region_id: int, entry_id: int) -> None:
        """The database stores from where a region may replay; its route stays as it is."""
        at = self._next()
        key = replace(self._now.region_keys[topic, region_id], checkpoint_entry_id=entry_id, mod_revision=at)
        self._now = replace(self._now, region_keys={**self._now.region_keys, (topic, region_id): key})

    def put_route(self, region_id: int, leader: int | None, state: LeaderState = LeaderState.NORMAL) -> None:
        """Another one leads a region, or nobody; all else stays. Who leads follows no more."""
        route = self._now.routes[region_id]
        followers = tuple(each for each in route.followers if each != leader)
        changed = Route(leader, state, self._next(), followers)
        self._now = replace(self._now, routes={**self._now.routes, region_id: changed})

    def put_followers(self, region_id: int, *datanodes: int) -> None:
        """Writes who follows a region, if it is there."""
        at, routes = self._next(), self._now.routes
        if region_id in routes:
            route = replace(routes[region_id], followers=datanodes, mod_revision=at)
            self._now = replace(self._now, routes={**routes, region_id: route})

    def put_many(self, regions: Mapping[str, tuple[int, int]], pruned_entry_id: int) -> None:
        """Writes many topics with this marker, and of each the keys of one region: its id and its leader."""
        at = self._next()
        self._now = replace(
            self._now,
            topics={**self._now.topics, **dict.fromkeys(regions, TopicMarker(pruned_entry_id, at))},
            region_keys={
                **self._now.region_keys,
                **{(topic, region): RegionKey(None, None, at) for topic, (region, _) in regions.items()},
            },
            wal_topics={
                **self._now.wal_topics,
                **{region: frozenset({topic}) for topic, (region, _) in regions.items()},
            },
            routes={
                **self._now.routes,
                **{
                    region: Route(leader, LeaderState.NORMAL, at, may_have_staged=False)
                    for region, leader in regions.values()
                },
            },
            datanodes={leader: f"datanode-{leader}:4001" for _, leader in regions.values()},
        )

    def bury_region(self, topic: str, region_id: int) -> None:
        """Moves all keys of a region to tombstones."""
        self._next()
        self._now = replace(
            self._now,
            region_keys={key: value for key, value in self._now.region_keys.items() if key != (topic, region_id)},
            wal_topics={region: topics for region, topics in self._now.wal_topics.items() if region != region_id},
            routes={region: route for region, route in self._now.routes.items() if region != region_id},
            tombstoned_topics={**self._now.tombstoned_topics, region_id: frozenset({topic})},
        )

    def drop_softly(self, topic: str, region_id: int, until: datetime | None) -> None:
        """The table of a region is dropped, and may be undropped until then."""
        self.bury_region(topic, region_id)
        self._now = replace(self._now, kept_dropped={**self._now.kept_dropped, region_id >> 32: until})

    def drop_region(self, topic: str, region_id: int) -> None:
        """Removes all keys of a region, its tombstone too."""
        self.bury_region(topic, region_id)
        left = {region: topics for region, topics in self._now.tombstoned_topics.items() if region != region_id}
        self._now = replace(self._now, tombstoned_topics=left)

    def _next(self) -> int:
        self._now = replace(self._now, revision=self._now.revision + 1)
        return self._now.revision

    def _answer(self) -> None:
        if self.is_silent:
            raise PartUnavailable(NotReached.METADATA_STORE_UNREACHABLE, "it does not answer")


CHANGES = frozenset({"flush_regions", "claim", "advance_markers", "set_maintenance"})


class Meant:
    """A part of a database that serves the contract: another one than the one that is meant changes nothing.

    Args:
        part: what answers.
        database: which database is meant, as it is pinned.
        store: of the database that answers; whoever observes its calls may stand before it.
    """

    def __init__(self, part: object, database: str | None, store: Any) -> None:
        self._part, self._database, self._store = part, database, store

    def __getattr__(self, name: str) -> Any:
        is_other = self._database != self._store.store_id
        if name == "in_maintenance" and is_other and self._database is not None:
            raise PartRefused(NotReached.CONTRADICTION, f"the switch is not that of {self._database}")
        if name in CHANGES and is_other:
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, f"the database answers 409: {self._database} is meant")
        return getattr(self._part, name)


def meant_by(parts: DataPlaneParts, connection: DatabaseConnection) -> DataPlaneParts:
    """The same parts; of a database that serves the contract no other one than the connection's changes anything."""
    if not isinstance(connection, HTTPConnection):
        return parts
    store = parts.metadata_store
    plane, metadata = (Meant(each, connection.database, store) for each in (parts.data_plane, store))
    return DataPlaneParts(cast("DataPlane", plane), cast("MetadataStore", metadata))


@dataclass(frozen=True)
class FakeDataPlanes:
    """Databases by the URLs of their metasrvs, for every object.

    Attributes:
        parts: the database at every address that is not named.
        elsewhere: those at other addresses, which have no slash at their end.
    """

    parts: DataPlaneParts
    elsewhere: Mapping[str, DataPlaneParts] = field(default_factory=dict)

    def connect(self, key: Key, connection: DatabaseConnection) -> DataPlaneParts:  # noqa: ARG002 - the port has it
        """The database at this address."""
        return meant_by(self._at(metasrv_of(connection)), connection)

    def maintenance_of(
        self,
        key: Key,  # noqa: ARG002 - the port
        metasrv: str,
        tls: ClientTLS,  # noqa: ARG002
        user: User | None = None,  # noqa: ARG002
        database: str | None = None,
    ) -> MaintenanceSwitch:
        """Of the database at this address."""
        parts, url = self._at(metasrv), url_of_contract(metasrv)
        if url is not None:
            parts = meant_by(parts, HTTPConnection(url, database=database))
        return cast("FakeDataPlane", parts.data_plane)

    def forget(self, key: Key) -> None:
        """There is nothing to forget."""

    def _at(self, metasrv: str) -> DataPlaneParts:
        address = url_of_contract(metasrv) or metasrv
        return self.elsewhere.get(address.rstrip("/"), self.parts)
