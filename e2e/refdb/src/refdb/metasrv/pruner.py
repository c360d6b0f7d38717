"""Prunes by itself, as `[wal]` says: deletes records and moves the markers, or only moves them (mode A).

With `auto_prune_logical_delete = false`, as GreptimeDB has it from 0.17 on, records are deleted first, and then the
marker is moved: through any hold, of which it knows nothing.

A region that opens reads the marker, so it may rise to the greatest entry id up to which no region of the topic needs a
replay: per region the greater of what it flushed and what it reported while idle. One region whose leader is silent
stops its topic. The transaction compares that the marker is as it was read and that no region was born or changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from refdb.errors import Unavailable
from refdb.meta import keys
from refdb.meta.store import Store
from refdb.meta.values import checkpoint, pruned_entry_id, topic_name_value
from refdb.metasrv.state import ClusterState

LOG = logging.getLogger("refdb.metasrv.pruner")
DELETE_TIMEOUT = 15.0


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


Delete = Callable[[str, int], None]
"""Deletes the records of a topic before an offset."""


def delete_records(admin: AdminClient, topic: str, before: int) -> None:
    """Asks Kafka, and waits for it."""
    for done in admin.delete_records([TopicPartition(topic, 0, before)]).values():
        try:
            done.result(DELETE_TIMEOUT)
        except KafkaException as error:
            raise Unavailable(f"cannot delete records of {topic}: {error.args[0].str()}") from None


def prune_topic(etcd: Store, topic: str, known: Mapping[int, int], delete: Delete | None) -> int | None:
    """Deletes, if it may, and moves one topic's marker; None when it must stay."""
    regions = etcd.range(keys.topic_regions(topic))
    marker = etcd.get(keys.topic_name(topic))
    ids = {int(pair.key.rsplit("/", 1)[1]): checkpoint(pair.value) or 0 for pair in regions.pairs}
    if not ids or any(region_id not in known for region_id in ids) or not marker.exists:
        return None
    to = min(max(known[region_id], stored) for region_id, stored in ids.items())
    if to <= pruned_entry_id(marker.value):
        return None
    if delete is not None:
        delete(topic, to)
    return to if etcd.txn([marker, regions], {marker.key: topic_name_value(to)}) else None


def prune_topics(etcd: Store, state: ClusterState, topics: Sequence[str], delete: Delete | None) -> None:
    """Prunes all topics; `delete` is None where only markers are moved."""
    known = prunable(state)  # reports first, then metadata
    pruned = {topic: to for topic in topics if (to := prune_topic(etcd, topic, known, delete)) is not None}
    if pruned:
        LOG.info("%s: %s", "Moved pruned markers" if delete is None else "Deleted records", pruned)
