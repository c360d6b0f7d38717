"""Values in etcd: GreptimeDB's JSON, read into frozen types and written back. Unknown members are dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from refdb.errors import DatabaseError, StatusCode
from walrecord.region import region_number


@dataclass(frozen=True, slots=True)
class Peer:
    """A datanode and where it listens."""

    id: int
    addr: str


@dataclass(frozen=True, slots=True)
class RegionRoute:
    """Who leads a region. `downgrading` means that nobody may write to it just now: it is being moved.

    `term` rises with each attempt to move it, so that what belongs to an earlier one can be told apart.
    """

    region_id: int
    leader: Peer
    downgrading: bool = False
    term: int = 0
    followers: tuple[Peer, ...] = ()

    def led_by(self, datanode: int) -> bool:
        """Whether a datanode may write to it."""
        return self.leader.id == datanode and not self.downgrading

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Reads a member of `region_routes`."""
        region, downgrading = data["region"], data.get("leader_state") == "Downgrading"
        followers, term = tuple(Peer(**peer) for peer in data["follower_peers"]), int(region["attrs"].get("term", 0))
        return cls(region["id"], Peer(**data["leader_peer"]), downgrading, term, followers)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        attributes = {"term": str(self.term)} if self.term else {}
        region = {"id": self.region_id, "name": "", "attrs": attributes, "partition_expr": ""}
        state = {"leader_state": "Downgrading"} if self.downgrading else {}
        followers = [asdict(peer) for peer in self.followers]
        return {"region": region, "leader_peer": asdict(self.leader), "follower_peers": followers, **state}


@dataclass(frozen=True, slots=True)
class TableRoute:
    """The regions of a table, in the order of its partitions."""

    regions: tuple[RegionRoute, ...]
    version: int = 0

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads a `__table_route` value; without one there are no regions."""
        data = json.loads(text or '{"region_routes":[],"version":0}')
        return cls(tuple(RegionRoute.from_json(region) for region in data["region_routes"]), data["version"])

    def to_text(self) -> str:
        """The value to write."""
        highest = max((region_number(region.region_id) for region in self.regions), default=0)
        return dumps(
            {
                "type": "physical",
                "region_routes": [region.to_json() for region in self.regions],
                "max_region_number": highest,
                "version": self.version,
            }
        )

    def of(self, region_id: int) -> RegionRoute:
        """The route of a region."""
        for region in self.regions:
            if region.region_id == region_id:
                return region
        raise DatabaseError(StatusCode.REGION_NOT_FOUND, f"no region {region_id}")

    def at(self, addresses: Mapping[int, Peer]) -> TableRoute:
        """With where datanodes listen now: a pod that was made anew has another address than before."""
        return replace(
            self,
            regions=tuple(
                replace(region, leader=addresses.get(region.leader.id, region.leader)) for region in self.regions
            ),
        )

    def with_region(self, new: RegionRoute) -> TableRoute:
        """The next version, with a region's route replaced."""
        regions = tuple(new if region.region_id == new.region_id else region for region in self.regions)
        return replace(self, regions=regions, version=self.version + 1)


@dataclass(frozen=True, slots=True)
class DatanodeTable:
    """The regions of a table that a datanode opens, by number, with the topic of each."""

    table_id: int
    topics: dict[int, str]
    version: int = 0

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads a `__dn_table` value."""
        data = json.loads(text)
        options = {int(number): json.loads(text) for number, text in data["region_wal_options"].items()}
        return cls(data["table_id"], {n: options[n]["wal.kafka.topic"] for n in data["regions"]}, data["version"])

    def to_text(self) -> str:
        """The value to write."""
        options = {
            str(number): dumps({"wal.provider": "kafka", "wal.kafka.topic": topic})
            for number, topic in self.topics.items()
        }
        return dumps(
            {
                "table_id": self.table_id,
                "regions": sorted(self.topics),
                "follower_regions": [],
                "engine": "mito",
                "region_storage_path": "",
                "region_options": {},
                "region_wal_options": options,
                "version": self.version,
            }
        )


def pruned_entry_id(text: str) -> int:
    """Reads a `__topic_name` value."""
    return int(json.loads(text)["pruned_entry_id"]) if text else 0


def topic_name_value(pruned: int) -> str:
    """The value of a `__topic_name` key."""
    return dumps({"pruned_entry_id": pruned})


def checkpoint(text: str) -> int | None:
    """Reads a `__topic_region` value: empty, `{}` or with a checkpoint."""
    data = json.loads(text) if text else {}
    return int(data["checkpoint"]["entry_id"]) if data.get("checkpoint") else None


def checkpoint_value(entry_id: int | None) -> str:
    """The value of a `__topic_region` key."""
    return dumps({"checkpoint": {"entry_id": entry_id}} if entry_id is not None else {})


def node_address_value(peer: Peer) -> str:
    """The value of a `__node_address` key."""
    return dumps({"peer": asdict(peer)})


def node_peer(text: str) -> Peer:
    """Reads a `__node_address` value."""
    return Peer(**json.loads(text)["peer"])


def dumps(data: Any) -> str:
    """JSON as GreptimeDB writes it: no spaces."""
    return json.dumps(data, separators=(",", ":"))
