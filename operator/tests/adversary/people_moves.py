"""What people do at the worst moment, at objects of Seawall."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.cluster import WALCluster, WALClusterStatus
from seawall.api.v1alpha1.hold import WALHold
from seawall.api.v1alpha1.kafka_brokers import BrokersStatus, KafkaStatus
from seawall.api.v1alpha1.policy import WALPurgePolicy
from seawall.api.v1alpha1.purge import WALPurge
from tests.adversary.arena import RUNS, Arena, granter_of, tick
from tests.worlds.purge_world import NAMESPACE, REGIONS, SAFETY, TOPICS, WAL

RIVAL, KEPT = Key("other", "wal"), Key(NAMESPACE, "kept")
RUN_PAUSED = "the run is paused"
DELETES = ("delete_records", "delete_topics", "advance_markers")


def forbid(arena: Arena, why: str, *calls: str) -> None:
    """Nothing of that may happen any more."""
    arena.referee.forbidden |= dict.fromkeys(calls or DELETES, why)


# --- people, at the WALCluster


def stop_deletes(arena: Arena) -> None:
    arena.annotate(stop_deletes="incident 7")
    forbid(arena, "seawall.dev/stop-deletes is set")


def pause(arena: Arena) -> None:
    arena.annotate(paused="true")
    forbid(arena, "the WALCluster is paused")


def edit_spec(arena: Arena) -> None:
    arena.edit(topics={**arena.cluster_spec["topics"], "maxMessageBytes": "2Mi"})


def declare_old_version(arena: Arena) -> None:
    arena.point(version="1.0")
    forbid(arena, "the database is too old", "delete_records", "advance_markers")


def point_at(name: str, *parts: str) -> Callable[[Arena], None]:
    """The spec names another database, or parts of it."""

    def make(arena: Arena) -> None:
        arena.overtaken_by(name)
        services = {part: f"http://{part}.{name}:4000" for part in parts if part != "etcd"}
        store = {"metadataStore": {"etcd": {"endpoints": [f"http://etcd.{name}:2379"]}}} if "etcd" in parts else {}
        arena.point(**services, **store)

    return make


def remove_data_plane(arena: Arena) -> None:
    arena.edit(dataPlane={"walConfig": {"configMapName": "walconfig"}})


def delete_cluster(arena: Arena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.kube.remove(WAL)


def recreate_cluster(arena: Arena) -> None:
    """By people: while a finalizer stands, the old one stays."""
    delete_cluster(arena)
    if ("WALCluster", WAL) not in arena.kube._objects:
        arena.kube.apply(WAL, arena.cluster_spec, annotations=arena.annotations)


def retain(arena: Arena) -> None:
    arena.edit(topics={**arena.cluster_spec["topics"], "deletionPolicy": "Retain"})
    forbid(arena, "deletionPolicy is Retain", "delete_topics")


def make_rival(arena: Arena) -> None:
    """A second WALCluster claims the topics, and its database writes to them."""
    conflicting_owner = arena.network.databases["rival"]
    greptimedb = {
        **arena.cluster_spec.get("dataPlane", {}).get("greptimedb", {}),
        "metasrv": "http://metasrv.rival:4000",
        "frontend": "http://frontend.rival:4000",
        "metadataStore": {"etcd": {"endpoints": ["http://etcd.rival:2379"]}},
    }
    spec = {**arena.cluster_spec, "dataPlane": {"greptimedb": {"version": "1.1", **greptimedb}}}
    arena.kube.apply(RIVAL, spec)
    younger = (arena.time.true() + timedelta(seconds=1)).isoformat()
    arena.kube._objects["WALCluster", RIVAL]["metadata"]["creationTimestamp"] = younger
    found = arena.kube.get(WALCluster, RIVAL)
    assert found is not None
    met = KafkaStatus(cluster_id="fake-cluster", brokers=BrokersStatus(total=3, online=3))
    arena.kube.replace_status(found, WALClusterStatus(kafka=met))
    for topic in TOPICS:
        conflicting_owner.write(topic, REGIONS)
        arena.prod.write(topic, REGIONS)


def delete_rival(arena: Arena) -> None:
    if ("WALCluster", RIVAL) in arena.kube._objects:
        arena.kube.remove(RIVAL)
        arena.network.databases["rival"].rows.clear()  # they are given up with it


# --- people, at runs, policies and holds


def stricter_policy(arena: Arena) -> None:
    body = {"clusterRef": {"name": "wal"}, "interval": "24h", "suspend": True}
    arena.kube.apply(Key(NAMESPACE, "stricter"), {**body, "safety": {**SAFETY, "keepEntries": 10}}, kind=WALPurgePolicy)


def unreadable_policy(arena: Arena) -> None:
    arena.kube.apply(Key(NAMESPACE, "newer"), {"clusterRef": {"name": "wal"}, "newField": 1}, kind=WALPurgePolicy)


def pause_run(arena: Arena) -> None:
    """Only this one: `afterwards` ends the ban."""
    if ("WALPurge", RUNS[0]) in arena.kube._objects:
        raw = arena.kube._objects["WALPurge", RUNS[0]]
        arena.kube.apply(RUNS[0], raw["spec"], {"seawall.dev/paused": "true"}, kind=WALPurge)
        forbid(arena, RUN_PAUSED, "delete_records", "advance_markers")


def delete_run(arena: Arena) -> None:
    if ("WALPurge", RUNS[0]) in arena.kube._objects:
        arena.kube.remove(RUNS[0], WALPurge)


def recreate_run(arena: Arena) -> None:
    raw = arena.kube._objects.pop(("WALPurge", RUNS[0]), None)
    if raw is not None:
        arena.kube.apply(RUNS[0], raw["spec"], kind=WALPurge)


def place_hold(arena: Arena, key: Key = KEPT, **spec: Any) -> None:
    low = {topic: start + 2 for topic, start in arena.log_starts().items() if topic in TOPICS}
    arena.kube.apply(key, {"clusterRef": {"name": "wal"}, "topics": low, **spec}, kind=WALHold)


def grant_hold(arena: Arena) -> None:
    """Another process grants it at once."""
    place_hold(arena)
    granting = granter_of(arena)
    for _ in range(3):
        tick(granting, KEPT)


def edit_hold(arena: Arena) -> None:
    for key in _holds(arena):
        place_hold(arena, key)


def renew_hold(arena: Arena) -> None:
    for key in _holds(arena):
        arena.renew(key)


def delete_hold(arena: Arena) -> None:
    for key in _holds(arena):
        arena.kube.remove(key, WALHold)


def recreate_hold(arena: Arena) -> None:
    for key in _holds(arena):
        raw = arena.kube._objects.pop(("WALHold", key))
        arena.kube.apply(key, raw["spec"], kind=WALHold)


def _holds(arena: Arena) -> list[Key]:
    return [each.metadata.key for each in arena.kube.list(WALHold, NAMESPACE).items]
