"""Mode A: moves the pruned markers. It deletes nothing; Seawall deletes up to the marker.

A region that opens reads the marker, so it may rise to the greatest entry id up to which no region of the topic needs a
replay: per region the greater of what it flushed and what it reported while idle. One region whose leader is silent
stops its topic. The transaction compares that the marker is as it was read and that no region was born or changed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from refdb.meta import keys
from refdb.meta.etcd import Etcd
from refdb.meta.values import checkpoint, pruned_entry_id, topic_name_value
from refdb.metasrv.state import ClusterState

LOG = logging.getLogger("refdb.metasrv.pruner")


def prunable(state: ClusterState) -> dict[int, int]:
    """Per region, the last entry id that it does not need: from the newest report of its leader."""
    needed: dict[int, int] = {}
    for node in state.nodes():
        if node.dead or not node.reports:
            continue
        for region in node.reports[-1]["region_stats"]:
            if state.leader(region["id"]) == node.peer.id and region["role"] == "Leader":
                flushed = region["region_manifest"]["Mito"]["flushed_entry_id"]
                needed[region["id"]] = max(flushed, region["data_topic_latest_entry_id"])
    return needed


def move_marker(etcd: Etcd, topic: str, known: Mapping[int, int]) -> int | None:
    """Moves one topic's marker; None when it must stay."""
    regions = etcd.range(keys.topic_regions(topic))
    marker = etcd.get(keys.topic_name(topic))
    ids = {int(pair.key.rsplit("/", 1)[1]): checkpoint(pair.value) or 0 for pair in regions.pairs}
    if not ids or any(region_id not in known for region_id in ids) or not marker.exists:
        return None
    to = min(max(known[region_id], stored) for region_id, stored in ids.items())
    if to <= pruned_entry_id(marker.value):
        return None
    return to if etcd.txn([marker, regions], {marker.key: topic_name_value(to)}) else None


def move_markers(etcd: Etcd, state: ClusterState, topics: Sequence[str]) -> None:
    """Moves the markers of all topics."""
    known = prunable(state)  # reports first, then metadata
    moved = {topic: to for topic in topics if (to := move_marker(etcd, topic, known)) is not None}
    if moved:
        LOG.info("Moved pruned markers: %s", moved)
