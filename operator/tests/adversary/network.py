"""Several databases, each with rows of its own, and what addresses lead to: a name may lead elsewhere at any time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from seawall.api.meta import Key
from seawall.domain.dataplane.connection import ClientTLS, DatabaseConnection, DataPlaneConnection, User
from seawall.ports import DataPlaneParts, MaintenanceSwitch
from tests.fakes.dataplane import FakeDataPlane, FakeMetadataStore, FakeRegion, etcd_of, metasrv_of
from tests.fakes.kafka import FakeKafka

Row = tuple[str, int]
"""Topic id and offset of a row that was acknowledged: a topic that is made anew has none of them."""


@dataclass
class Database:
    """A database, its metadata store, the Kafka that it writes to, and its acknowledged rows by region."""

    name: str
    plane: FakeDataPlane
    store: FakeMetadataStore
    kafka: FakeKafka
    rows: dict[int, list[Row]] = field(default_factory=dict)
    buried: dict[int, FakeRegion] = field(default_factory=dict)
    """Regions that were dropped and may come back."""
    turn: int = 0
    """Which region writes first: no two databases write alike."""
    skipped: set[tuple[int, str, int]] = field(default_factory=set)
    """Region, topic id and offset of rows that were written at or below what a restart skips."""

    def regions_of(self, topic: str) -> list[int]:
        """Regions that write to a topic."""
        return [region for (name, region) in self.store._now.region_keys if name == topic]

    def bear(self, topic: str, region_id: int, datanode: int) -> None:
        """A region is born at the end of its topic's log."""
        end = self.kafka.topics[topic].log.end
        self.plane.regions[region_id] = FakeRegion(datanode, max(0, end - 1), max(0, end - 1))
        self.store.put_region(topic, region_id, leader=datanode, checkpoint=None)
        self.rows.setdefault(region_id, [])

    def write(self, topic: str, count: int) -> None:
        """Appends rows to each region of the topic in turn; without a topic nothing is acknowledged."""
        found, regions = self.kafka.topics.get(topic), self.regions_of(topic)
        for number in range(count if found is not None and regions else 0):
            region = regions[(number + self.turn) % len(regions)]
            state, log = self.plane.regions.get(region), self.kafka.topics[topic].log
            if state is None or state.datanode in self.plane.stopped or state.datanode >= self.plane.datanodes:
                continue
            if region in self.plane.unopened:
                continue
            self.rows.setdefault(region, []).append((log.topic_id, log.end))
            if log.end <= state.flushed:
                self.skipped.add((region, log.topic_id, log.end))
            state.last, state.memtable_bytes = log.end, state.memtable_bytes + 100
            log.append_of(region)

    def flush(self, topic: str, but: int = 1) -> None:
        """Flushes the regions of a topic, but for the last ones."""
        regions = [region for region in self.regions_of(topic) if region in self.plane.regions]
        self.plane.flush_regions(regions[: len(regions) - but])

    def reads_from(self, topic: str) -> int:
        """From where a restart would read a topic."""
        marker = self.store._now.topics[topic].pruned_entry_id or 0
        flushed = [self.plane.regions[each].flushed for each in self.regions_of(topic) if each in self.plane.regions]
        return max(min(flushed, default=0), marker) + 1

    def bury(self, topic: str, region_id: int) -> None:
        """A table is dropped; it may come back."""
        self.buried[region_id] = self.plane.regions.pop(region_id)
        self.store.bury_region(topic, region_id)

    def restore(self, topic: str, region_id: int) -> None:
        """A dropped table comes back, with what its regions had."""
        state = self.buried.pop(region_id)
        self.plane.regions[region_id] = state
        self.store.put_region(topic, region_id, leader=state.datanode, checkpoint=None)
        now = self.store._now
        left = {region: topics for region, topics in now.tombstoned_topics.items() if region != region_id}
        self.store._now = replace(now, tombstoned_topics=left)

    def overtake(self, other: Database, *, marks: bool) -> None:
        """It is as far as another database is, has flushed all of that, and (`marks`) moved its markers there.

        It has lived longer, too: its store's revision is higher.
        """
        self.store._now = replace(
            self.store._now, revision=max(self.store._now.revision, other.store._now.revision + 9)
        )
        for topic, known in other.kafka.topics.items():
            mine = self.kafka.topics.get(topic)
            if mine is None or mine.log.end > known.log.end:
                continue
            mine.log.append(known.log.end - mine.log.end)
            for region in self.regions_of(topic):
                state = self.plane.regions[region]
                state.flushed = state.last = known.log.end - 1
                state.memtable_bytes = 0
            if marks:
                self.store.put_topic(topic, known.log.end - 2)

    def prune_logically(self) -> None:
        """What a database with logical pruning does by itself: markers move to the lowest flushed id."""
        for topic, marker in list(self.store._now.topics.items()):
            mapped = self.regions_of(topic)
            regions = [self.plane.regions[each] for each in mapped if each in self.plane.regions]
            lowest = min((region.flushed for region in regions), default=0)
            if len(regions) == len(mapped) and lowest > (marker.pruned_entry_id or 0):
                self.store.put_topic(topic, lowest)


@dataclass
class Network:
    """What each address leads to now, for the metasrv and frontend, and for etcd. It is a DataPlanes port."""

    databases: dict[str, Database] = field(default_factory=dict)
    services: dict[str, str] = field(default_factory=dict)
    """The database behind the URL of a metasrv or frontend."""
    stores: dict[str, str] = field(default_factory=dict)
    """The database behind the URL of an etcd."""

    def lead_back(self) -> None:
        """All addresses lead where their names say."""
        for addresses in (self.services, self.stores):
            for address in addresses:
                host = address.removeprefix("http://").partition(":")[0]
                addresses[address] = host.partition(".")[2] or "prod"

    def connect(self, key: Key, connection: DatabaseConnection) -> DataPlaneParts:  # noqa: ARG002 - the port has it
        """Connections that find out at each call whom they reach."""
        metasrv, etcd = metasrv_of(connection), etcd_of(connection)
        frontend = connection.frontend if isinstance(connection, DataPlaneConnection) else metasrv

        def plane(call: str) -> FakeDataPlane:
            address = frontend if call in {"flush_regions", "nodes"} else metasrv
            return self.databases[self.services[address]].plane

        def store(_: str) -> FakeMetadataStore:
            return self.databases[self.stores[etcd]].store

        return DataPlaneParts(_Routed("database", plane), _Routed("etcd", store))

    def maintenance_of(
        self,
        key: Key,  # noqa: ARG002 - the port
        metasrv: str,
        tls: ClientTLS,  # noqa: ARG002
        user: User | None = None,  # noqa: ARG002
        database: str | None = None,  # noqa: ARG002
    ) -> MaintenanceSwitch:
        """Whoever answers at this address."""
        return _Routed("database", lambda _: self.databases[self.services[metasrv.rstrip("/")]].plane)

    def forget(self, key: Key) -> None:
        """There is nothing to forget."""


class _Routed:
    """A part of a database, whichever answers when it is called."""

    def __init__(self, part: str, find: Callable[[str], Any]) -> None:
        self.part = part
        self._find = find

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(self._find(name), name)(*args, **kwargs)

        return call
