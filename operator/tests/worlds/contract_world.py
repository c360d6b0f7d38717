"""The world of purges with another database than GreptimeDB: one that serves the contract, and says what it can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seawall.domain.dataplane.flush import FlushFailure
from seawall.domain.dataplane.identity import Node
from seawall.domain.dataplane.reports import DatanodeReport
from seawall.domain.dataplane.wal_settings import Capabilities, WALSettings
from tests.fakes.dataplane import FakeDataPlane
from tests.worlds.purge_world import CLUSTER, TOPICS, World

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
