"""The world of purges with another database than GreptimeDB: one that serves the contract, and says what it can do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from seawall.domain.dataplane.wal_settings import Capabilities, WALSettings
from tests.worlds.purge_world import CLUSTER, TOPICS, World

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

    def spec(self, **http: Any) -> dict[str, Any]:
        """The spec of the WALCluster."""
        without = {name: value for name, value in CLUSTER.items() if name != "verification"}
        return {**without, "dataPlane": {"http": {"url": "http://queue:8080", **http}}}
