"""What Kafka, the database, backups, clocks and other operators do at the worst moment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from tests.adversary.arena import RUNS, Arena
from tests.adversary.people_moves import grant_hold
from tests.support.api_server_backup import restore_objects, restore_shards
from tests.worlds.purge_world import REGIONS, TOPICS

TOPIC = "wal_1"


def region_of(topic: str, index: int = 0) -> int:
    """A region of the database."""
    return (1024 + int(topic.rpartition("_")[2])) << 32 | index


# --- Kafka


def delete_topic(arena: Arena) -> None:
    arena.kafka.topics.pop(TOPIC, None)
    arena.referee.damaged.add(TOPIC)


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
    """Somebody else deletes records: no hold may be granted below that, and those that stand above it stay."""
    if TOPIC in arena.kafka.topics:
        log, deleted = arena.kafka.topics[TOPIC].log, arena.referee.deleted
        log.delete_before(min(log.log_start + 3, log.end))
        deleted[log.topic_id] = max(log.log_start, deleted.get(log.topic_id, 0))


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
    """A drop is rolled back, or undone."""
    arena.referee.unlicensed.clear()
    for region in list(arena.prod.buried):
        arena.prod.restore(f"wal_{(region >> 32) - 1024}", region)
    arena.prod.write(TOPIC, REGIONS)


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


def lead_to(name: str, *parts: str) -> Callable[[Arena], None]:
    """The same addresses lead to another database."""

    def make(arena: Arena) -> None:
        arena.overtaken_by(name)
        arena.network.services |= {f"http://{part}:4000": name for part in parts if part != "etcd"}
        if "etcd" in parts:
            arena.network.stores["http://etcd:2379"] = name

    return make


def restore_etcd(arena: Arena) -> None:
    if arena.yesterday[0] is not None:
        arena.store._now = arena.yesterday[0]


# --- backups of the API server


def delete_intents(arena: Arena) -> None:
    arena.intents._shards.clear()


def delete_intents_and_grant(arena: Arena) -> None:
    """A hold is granted by who takes this for the first contact."""
    delete_intents(arena)
    arena.referee.moved()
    grant_hold(arena)


def restore_intents(arena: Arena) -> None:
    """With other versions, as a restore gives them."""
    if arena.yesterday[1] is not None:
        restore_shards(arena.intents, arena.yesterday[1])


def restore_api_server(arena: Arena) -> None:
    """All of it at once, objects with their states and intents: what was written since is forgotten."""
    objects, config_maps, annotations = arena.backup
    if objects is None:
        return
    restore_objects(arena.kube, objects, config_maps)
    arena.annotations = dict(annotations)
    restore_intents(arena)


# --- time, and others


def skew(hours: int) -> Callable[[Arena], None]:
    def make(arena: Arena) -> None:
        arena.time.ahead = timedelta(hours=hours)

    return make


def sleep_long(arena: Arena) -> None:
    """The process is frozen for more than a day; all else goes on."""
    arena.time.time += timedelta(hours=30)
    if "purge" in str(arena.annotations) or "dead" in str(arena.annotations):
        arena.referee.unlicensed[TOPIC] = "the declaration has expired"


def second_operator(arena: Arena) -> None:
    """Another process takes over while this one is frozen, and does the whole run; the database works on."""
    process = arena.process(arena.referee)
    arena.live(process, RUNS[0], lambda: arena.is_over(RUNS[0]), 20)
    arena.work()


def second_operator_begins(arena: Arena) -> None:
    process = arena.process(arena.referee)
    arena.live(process, RUNS[0], lambda: arena.is_over(RUNS[0]), 4)
