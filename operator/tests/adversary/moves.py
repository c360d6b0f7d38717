"""The moves of the adversary: what people, databases, Kafka, backups and other operators do at the worst moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from seawall.api.meta import Key
from seawall.api.v1alpha1.wal_cluster import BrokersStatus, KafkaStatus, WALCluster, WALClusterStatus
from seawall.api.v1alpha1.wal_hold import WALHold
from seawall.api.v1alpha1.wal_purge import WALPurge
from seawall.api.v1alpha1.wal_purge_policy import WALPurgePolicy
from tests.adversary.arena import RUNS, Arena, granter_of, tick
from tests.adversary.lives import ALL, CLOCK, Move
from tests.purge_world import NAMESPACE, REGIONS, SAFETY, TOPICS, WAL

TOPIC = "wal_1"
CLUSTER, HOLD, RUN, POLICY = "kube:WALCluster", "kube:WALHold", "kube:WALPurge", "kube:WALPurgePolicy"
RIVAL, KEPT = Key("other", "wal"), Key(NAMESPACE, "kept")
DELETES = ("delete_records", "delete_topics", "advance_markers")


def region_of(topic: str, index: int = 0) -> int:
    """A region of the database."""
    return (1024 + int(topic.rpartition("_")[2])) << 32 | index


def forbid(arena: Arena, why: str, *calls: str) -> None:
    """Nothing of that may happen any more."""
    arena.judge.forbidden |= dict.fromkeys(calls or DELETES, why)


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
        services = {part: f"http://{part}.{name}:4000" for part in parts if part != "etcd"}
        store = {"metadataStore": {"etcd": {"endpoints": [f"http://etcd.{name}:2379"]}}} if "etcd" in parts else {}
        arena.point(**services, **store)

    return make


def lead_to(name: str, *parts: str) -> Callable[[Arena], None]:
    """The same addresses lead to another database."""

    def make(arena: Arena) -> None:
        arena.network.services |= {f"http://{part}:4000": name for part in parts if part != "etcd"}
        if "etcd" in parts:
            arena.network.stores["http://etcd:2379"] = name

    return make


def remove_data_plane(arena: Arena) -> None:
    arena.edit(dataPlane={"walConfig": {"configMapName": "walconfig"}})


def delete_cluster(arena: Arena) -> None:
    if ("WALCluster", WAL) in arena.kube._objects:
        arena.kube.remove(WAL)


def recreate_cluster(arena: Arena) -> None:
    arena.kube._objects.pop(("WALCluster", WAL), None)
    arena.kube.apply(WAL, arena.cluster_spec, annotations=arena.annotations)


def retain(arena: Arena) -> None:
    arena.edit(topics={**arena.cluster_spec["topics"], "deletionPolicy": "Retain"})
    forbid(arena, "deletionPolicy is Retain", "delete_topics")


def make_rival(arena: Arena) -> None:
    """A second WALCluster claims the topics, and its database writes to them."""
    rival = arena.network.databases["rival"]
    arena.time.time += timedelta(milliseconds=1)
    greptimedb = {
        **arena.cluster_spec.get("dataPlane", {}).get("greptimedb", {}),
        "metasrv": "http://metasrv.rival:4000",
        "frontend": "http://frontend.rival:4000",
        "metadataStore": {"etcd": {"endpoints": ["http://etcd.rival:2379"]}},
    }
    spec = {**arena.cluster_spec, "dataPlane": {"greptimedb": {"version": "1.1", **greptimedb}}}
    arena.kube.apply(RIVAL, spec)
    found = arena.kube.get(WALCluster, RIVAL)
    assert found is not None
    met = KafkaStatus(cluster_id="fake-cluster", brokers=BrokersStatus(total=3, online=3))
    arena.kube.replace_status(found, WALClusterStatus(kafka=met))
    for topic in TOPICS:
        rival.write(topic, REGIONS)
        arena.prod.write(topic, REGIONS)


def delete_rival(arena: Arena) -> None:
    if ("WALCluster", RIVAL) in arena.kube._objects:
        arena.kube.remove(RIVAL)
        arena.network.databases["rival"].rows.clear()  # they are given up with it


# --- people, at runs, policies and holds


def stricter_policy(arena: Arena) -> None:
    body = {"clusterRef": {"name": "wal"}, "interval": "24h", "suspend": True}
    arena.kube.apply(Key(NAMESPACE, "strict"), {**body, "safety": {**SAFETY, "keepEntries": 10}}, kind=WALPurgePolicy)


def unreadable_policy(arena: Arena) -> None:
    arena.kube.apply(Key(NAMESPACE, "newer"), {"clusterRef": {"name": "wal"}, "newField": 1}, kind=WALPurgePolicy)


def pause_run(arena: Arena) -> None:
    for key in RUNS:
        if ("WALPurge", key) in arena.kube._objects:
            raw = arena.kube._objects["WALPurge", key]
            arena.kube.apply(key, raw["spec"], {"seawall.dev/paused": "true"}, kind=WALPurge)
    forbid(arena, "the run is paused", "delete_records", "advance_markers")


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
        raw = arena.kube._objects["WALHold", key]
        arena.kube.apply(key, {**raw["spec"], "renewTime": arena.time.true().isoformat()}, kind=WALHold)


def delete_hold(arena: Arena) -> None:
    for key in _holds(arena):
        arena.kube.remove(key, WALHold)


def recreate_hold(arena: Arena) -> None:
    for key in _holds(arena):
        raw = arena.kube._objects.pop(("WALHold", key))
        arena.kube.apply(key, raw["spec"], kind=WALHold)


def _holds(arena: Arena) -> list[Key]:
    return [each.metadata.key for each in arena.kube.list(WALHold, NAMESPACE).items]


# --- Kafka


def delete_topic(arena: Arena) -> None:
    arena.kafka.topics.pop(TOPIC, None)
    arena.judge.damaged.add(TOPIC)


def recreate_topic(arena: Arena, records: int = 0) -> None:
    delete_topic(arena)
    made = arena.kafka.add_topic(TOPIC, replicas=(1, 2, 3), configs={"min.insync.replicas": "2"})
    made.log.now = arena.time.true
    made.log.append(records)


def recreate_topic_and_write(arena: Arena) -> None:
    recreate_topic(arena, 500)
    arena.prod.write(TOPIC, REGIONS)


def cut_topic(arena: Arena) -> None:
    """An unclean election."""
    log = arena.kafka.topics[TOPIC].log if TOPIC in arena.kafka.topics else None
    if log is not None and log.end - log.log_start > 8:
        log.truncate(log.end - 8)


def cut_topic_and_write(arena: Arena) -> None:
    cut_topic(arena)
    arena.prod.write(TOPIC, 12)


def delete_elsewhere(arena: Arena) -> None:
    """Somebody else deletes records."""
    if TOPIC in arena.kafka.topics:
        log = arena.kafka.topics[TOPIC].log
        log.delete_before(min(log.log_start + 3, log.end))
        arena.judge.damaged.add(TOPIC)


# --- the database


def region_is_born(arena: Arena) -> None:
    if TOPIC in arena.kafka.topics:
        arena.prod.bear(TOPIC, 77 << 32, datanode=1)
        arena.prod.write(TOPIC, 2 * REGIONS + 2)


def region_migrates(arena: Arena) -> None:
    region = region_of(TOPIC)
    state = arena.data_plane.regions.get(region)
    if state is not None:
        state.datanode = (state.datanode + 1) % 3
        arena.store.put_region(TOPIC, region, leader=state.datanode, checkpoint=None)


def region_is_dropped(arena: Arena) -> None:
    """That which holds the topic back."""
    region = region_of(TOPIC, REGIONS - 1)
    if region in arena.data_plane.regions:
        arena.prod.bury(TOPIC, region)


def region_comes_back(arena: Arena) -> None:
    for region in list(arena.prod.buried):
        arena.prod.restore(f"wal_{(region >> 32) - 1024}", region)


def older_manifest(arena: Arena) -> None:
    """A datanode starts from a manifest of before."""
    for region, state in arena.data_plane.regions.items():
        if state.datanode == 1:
            rows = [offset for _, offset in arena.prod.rows.get(region, []) if offset <= state.flushed]
            state.flushed = rows[-3] if len(rows) > 2 else 0
            state.memtable_bytes += 100
    arena.data_plane.epochs[1] = arena.data_plane.epochs.get(1, 1) + 1


def datanode_restarts(arena: Arena) -> None:
    arena.data_plane.epochs[1] = arena.data_plane.epochs.get(1, 1) + 1


def datanode_is_silent(arena: Arena) -> None:
    arena.data_plane.stopped.add(1)


def database_works(arena: Arena) -> None:
    for topic in TOPICS:
        arena.prod.write(topic, 8)
        arena.prod.flush(topic)


def restore_etcd(arena: Arena) -> None:
    if arena.yesterday[0] is not None:
        arena.store._now = arena.yesterday[0]


# --- backups of the API server


def delete_intents(arena: Arena) -> None:
    arena.intents._shards.clear()


def restore_intents(arena: Arena) -> None:
    """With other versions, as a restore gives them."""
    if arena.yesterday[1] is not None:
        arena.intents._shards = {
            key: replace(shard, version=f"restored-{shard.version}") for key, shard in arena.yesterday[1].items()
        }


# --- time, and others


def skew(hours: int) -> Callable[[Arena], None]:
    def make(arena: Arena) -> None:
        arena.time.skew = timedelta(hours=hours)

    return make


def sleep_long(arena: Arena) -> None:
    """The process is frozen for more than a day; all else goes on."""
    arena.time.time += timedelta(hours=30)
    for topic, why in list(arena.judge.unlicensed.items()):
        arena.judge.unlicensed[topic] = why


def second_operator(arena: Arena) -> None:
    """Another process takes over while this one is frozen, and does the whole run; the database works on."""
    process = arena.process(arena.judge)  # type: ignore[arg-type]
    arena.live(process, RUNS[0], lambda: arena.is_over(RUNS[0]), 20)
    arena.work()


def second_operator_begins(arena: Arena) -> None:
    process = arena.process(arena.judge)  # type: ignore[arg-type]
    arena.live(process, RUNS[0], lambda: arena.is_over(RUNS[0]), 4)


def move(make: Callable[[Arena], object], *touches: str, name: str = "") -> Move:
    """A move by the name of what makes it."""
    return Move(name or getattr(make, "__name__", ""), frozenset(touches), make)


BOTH = ("metasrv", "frontend", "etcd")
SERVICES = ("metasrv", "frontend")
SWAPS = tuple(
    move(how(to, *parts), *touches, name=f"{word} {to}: {'+'.join(parts)}")
    for how, word, touches in (
        (point_at, "spec names", (CLUSTER,)),
        (lead_to, "addresses lead to", ("database", "etcd")),
    )
    for to in ("staging", "twin")
    for parts in (BOTH, SERVICES, ("metasrv",), ("etcd",))
)
COMMON = (
    *(move(make, CLUSTER) for make in (stop_deletes, pause, edit_spec, remove_data_plane, delete_cluster)),
    move(recreate_cluster, CLUSTER),
    move(make_rival, CLUSTER, "kafka", "database", "etcd", CLOCK),
    *(move(make, "kafka") for make in (delete_topic, recreate_topic, cut_topic, delete_elsewhere)),
    move(recreate_topic_and_write, "kafka", "database"),
    move(cut_topic_and_write, "kafka", "database"),
    move(region_is_born, "kafka", "database", "etcd"),
    move(region_migrates, "database", "etcd"),
    move(region_is_dropped, "database", "etcd"),
    *(move(make, "database") for make in (older_manifest, datanode_restarts, datanode_is_silent)),
    move(database_works, "kafka", "database"),
    move(restore_etcd, "etcd"),
    *(move(make, "intents") for make in (delete_intents, restore_intents)),
    move(place_hold, HOLD, "kafka"),
    move(grant_hold, ALL),
    *(move(make, HOLD) for make in (edit_hold, renew_hold, delete_hold, recreate_hold)),
    move(skew(2), CLOCK, name="clock is 2 h ahead"),
    move(skew(-2), CLOCK, name="clock is 2 h behind"),
    move(sleep_long, ALL),
    *SWAPS,
)
OF_RUNS = (
    *(move(make, POLICY) for make in (stricter_policy, unreadable_policy)),
    *(move(make, RUN) for make in (pause_run, delete_run, recreate_run)),
    move(declare_old_version, CLUSTER),
    move(second_operator, ALL),
    move(second_operator_begins, ALL),
)
