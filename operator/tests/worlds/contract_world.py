"""The world of purges with another database than GreptimeDB: one that serves the contract, and says what it can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from seawall.adapters.http_database import wire
from seawall.adapters.http_database.clients import HTTPDataPlanes
from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import DataPlaneStatus
from seawall.domain.dataplane.connection import DatabaseConnection, HTTPConnection
from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.identity import Node
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.wal_settings import Capabilities, WALSettings
from seawall.ports import DataPlaneParts, DataPlanes
from tests.fakes.dataplane import FakeDataPlane, FakeMetadataStore
from tests.support.contract_facade import Ask, Facade, Served, served, serving
from tests.worlds.purge_world import CLUSTER, TOPICS, Databases, Guard, World

URL = "http://queue:8080"
ALL = Capabilities(markers=True, durable_starts=True, flush=True, maintenance=True)
PLAIN = replace(ALL, markers=False)


def said(capabilities: Capabilities, *, deletes: bool = False) -> WALSettings:
    """What such a database says of itself."""
    return WALSettings("kafka", "wal", len(TOPICS), None if deletes else 0.0, capabilities=capabilities)


@dataclass
class ContractWorld(World):
    """`capabilities` are what the database declares."""

    capabilities: Capabilities = field(default=PLAIN)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.data_plane.wal = said(self.capabilities)
        self.data_plane.database = self.store.head().store_id

    def spec(self, **http: Any) -> dict[str, Any]:
        """The spec of the WALCluster."""
        without = {name: value for name, value in CLUSTER.items() if name != "verification"}
        return {**without, "dataPlane": {"http": {"url": URL, **http}}}


@dataclass
class ServedWorld(ContractWorld):
    """The same over HTTP, while `serving` lasts.

    Attributes:
        url: where it is.
        ask: what answers there.
    """

    url: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ask: Ask = served(self.facade())
        pinned = DataPlaneStatus(identity=self.facade().identity)
        status = self.cluster().status.model_copy(update={"data_plane": pinned})
        self.kube.replace_status(self.cluster(), status)

    def facade(self, store: FakeMetadataStore | None = None) -> Facade:
        """The contract before this database, or before its nodes and other metadata."""
        can = self.capabilities
        declared = wire.Capability(
            markers=can.markers, durable_starts=can.durable_starts, flush=can.flush, maintenance=can.maintenance
        )
        return Facade(self.data_plane, store or self.store, self.data_plane, "queue", declared)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serves it."""

        def ask(method: str, path: str, body: bytes) -> Served:
            return self.ask(method, path, body)

        with serving(ask) as self.url:
            yield

    def open_databases(self, calls: Guard) -> DataPlanes:
        """The adapter of a process."""
        return OverHTTP(self, calls)


@dataclass(frozen=True)
class OverHTTP(Databases):
    """The port DataPlanes: the adapter, whose calls are watched."""

    world: ServedWorld
    planes: HTTPDataPlanes = field(default_factory=HTTPDataPlanes)

    def connect(self, key: Key, connection: DatabaseConnection) -> DataPlaneParts:
        """The database, whatever the spec says of its address."""
        assert isinstance(connection, HTTPConnection)
        parts = self.planes.connect(key, replace(connection, url=self.world.url))
        return DataPlaneParts(self.calls.guard(parts.data_plane), self.calls.guard(parts.metadata_store))


@dataclass
class Balanced(FakeDataPlane):
    """Behind one URL: a database, and a copy of it that has flushed everything and has an identity of its own.

    Attributes:
        original: the one that wrote the logs, and whose metadata answer.
        copied: what the copy answers.
    """

    original: FakeDataPlane = field(default_factory=FakeDataPlane)
    copied: set[str] = field(default_factory=set)

    @classmethod
    def before(cls, world: ContractWorld, *copied: str) -> Balanced:
        """The URL of the spec leads here from now on."""
        original = world.data_plane
        made = cls(
            regions={number: replace(each, flushed=each.last) for number, each in original.regions.items()},
            now=original.now,
            wal=original.wal,
            database="http/copy",
            original=original,
            copied=set(copied),
        )
        world.data_planes[URL] = made
        return made

    def reports(self) -> Sequence[DatanodeReport]:
        """The newest of either."""
        return super().reports() if "reports" in self.copied else self.original.reports()

    def nodes(self) -> Sequence[Node]:
        """Those of either."""
        return super().nodes() if "nodes" in self.copied else self.original.nodes()

    def wal_settings(self) -> WALSettings:
        """What either says of itself."""
        return super().wal_settings() if "wal_settings" in self.copied else self.original.wal_settings()

    def flush_regions(self, region_ids: Sequence[int]) -> Mapping[int, FlushFailure]:
        """The original flushes."""
        return self.original.flush_regions(region_ids)
