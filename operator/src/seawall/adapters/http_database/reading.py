"""Answers of the contract as the values that Seawall decides by.

What contradicts itself is no answer: a node that reports twice, a region that one node reports twice, a topic with two
markers. What two nodes say of one region, and two topics of one region, is for the ledger to judge.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seawall.adapters.http_database import wire
from seawall.domain.dataplane.connection import CONTRACT_STORE, NotReached, PartRefused
from seawall.domain.dataplane.identity import Node, NodeRole
from seawall.domain.dataplane.metadata import LeaderState, MetadataSnapshot, RegionKey, Route, TopicMarker
from seawall.domain.dataplane.region_reports import RegionReports
from seawall.domain.dataplane.reports import DatanodeReport, InnerReport, RegionReport, RegionRole
from seawall.domain.dataplane.wal_settings import KAFKA, Capabilities, WALSettings

Identified = wire.Description | wire.Reports | wire.Head | wire.Metadata | wire.Maintenance
"""An answer that says which database gives it."""
_ROLES = {
    wire.State.SERVING: RegionRole.LEADER,
    wire.State.OPENING: RegionRole.STAGING,
    wire.State.MOVING: RegionRole.DOWNGRADING,
    wire.State.FOLLOWER: RegionRole.FOLLOWER,
}
_LEADERS = {
    wire.State.SERVING: LeaderState.NORMAL,
    wire.State.OPENING: LeaderState.STAGING,
    wire.State.MOVING: LeaderState.DOWNGRADING,
    wire.State.FOLLOWER: LeaderState.UNKNOWN,
}


def store_id_of(answer: Identified) -> str:
    """Which database answers, as it is pinned: no other store's id begins so."""
    return f"{CONTRACT_STORE}{answer.database}"


def read_settings(said: wire.Description) -> WALSettings:
    """What the database says of itself."""
    can, wal = said.capabilities, said.wal
    return WALSettings(
        KAFKA,
        topic_name_prefix=wal.topic_prefix,
        num_topics=wal.topic_count,
        auto_prune_seconds=None if wal.deletes_records else 0.0,
        capabilities=Capabilities(
            markers=can.markers, durable_starts=can.durable_starts, flush=can.flush, maintenance=can.maintenance
        ),
        database=store_id_of(said),
    )


def read_reports(found: wire.Reports, used: float) -> list[DatanodeReport]:
    """The reports of the nodes.

    Raises:
        PartRefused: they contradict themselves.
    """
    _require_once("reports of node", (node.id for node in found.nodes))
    database = store_id_of(found)
    return [_node(node, used, database) for node in sorted(found.nodes, key=lambda node: node.id)]


def read_nodes(said: wire.Description) -> list[Node]:
    """The processes that the database has."""
    database = store_id_of(said)
    return [Node(NodeRole.DATANODE, node.id, node.address, node.version, database) for node in said.nodes]


def _node(node: wire.NodeReport, used: float, database: str) -> DatanodeReport:
    _require_once(f"reports by node {node.id} of region", (region.id for region in node.regions))
    _require_once(f"newest entries by node {node.id} of topic", (newest.topic for newest in node.newest_entries))
    regions = RegionReports.of(_region(region, node) for region in node.regions)
    newest = {each.topic: each.entry_id for each in node.newest_entries}
    return DatanodeReport(node.id, node.address, node.epoch, node.reported_at, regions, newest, used, database)


def _region(region: wire.RegionReport, node: wire.NodeReport) -> RegionReport:
    return RegionReport(
        region_id=region.id,
        datanode_id=node.id,
        node_epoch=node.epoch,
        role=_ROLES[region.state],
        reported_at=node.reported_at,
        engine="",
        memtable_bytes=region.memory_bytes,
        data=InnerReport(region.flushed_entry_id, region.idle_entry_id),
    )


def read_metadata(found: wire.Metadata, used: float) -> MetadataSnapshot:
    """The metadata.

    Raises:
        PartRefused: they contradict themselves.
    """
    _require_once("markers of topic", (topic.topic for topic in found.topics))
    _require_once("metadata of region and topic", ((region.id, region.topic) for region in found.regions))
    _require_once("addresses of node", (node.id for node in found.nodes))
    _require_once("claims on prefix", (claim.prefix for claim in found.claims))
    return MetadataSnapshot(
        revision=found.revision,
        topics={one.topic: TopicMarker(one.marker, one.revision) for one in found.topics},
        region_keys={
            (one.topic, one.id): RegionKey(one.checkpoint_entry_id, None, one.revision) for one in found.regions
        },
        wal_topics=_topics_of(found.regions),
        tombstoned_topics=_topics_of(found.dropped),
        without_topic=frozenset(),
        routes={one.id: _route(one) for one in found.regions},
        datanodes={node.id: node.address for node in found.nodes},
        store_id=store_id_of(found),
        claims={claim.prefix: claim.owner for claim in found.claims},
        answer_used=used,
    )


def _route(region: wire.Region) -> Route:
    followers = tuple(sorted(set(region.followers)))
    changed = region.revision if region.route_revision is None else region.route_revision
    # By the contract a region is only seen idle when all that it had in memory is durable.
    return Route(region.leader, _LEADERS[region.state], changed, followers, may_have_staged=False)


def _topics_of(regions: Iterable[wire.Region | wire.DroppedRegion]) -> dict[int, frozenset[str]]:
    found: dict[int, frozenset[str]] = {}
    for region in regions:
        found[region.id] = found.get(region.id, frozenset()) | {region.topic}
    return found


def _require_once(what: str, keys: Iterable[Any]) -> None:
    met = set()
    for key in keys:
        if key in met:
            raise PartRefused(NotReached.UNEXPECTED_ANSWER, f"the database contradicts itself: two {what} {key}")
        met.add(key)
